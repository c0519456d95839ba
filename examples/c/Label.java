// Labels a column file like `sparsecrf label`, with libsparsecrf called from Java through JNA (Debian: libjna-java).
//
//     java -cp jna.jar Label.java LIBRARY MODEL INPUT        LIBRARY: the full path of libsparsecrf.so.1
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

public class Label {
    // The functions of sparsecrf.h that this program uses. size_t is a long on 64-bit systems.
    public interface Sparsecrf extends Library {
        int sparsecrf_abi_version();
        String sparsecrf_error();
        int sparsecrf_open(String path, PointerByReference model);
        void sparsecrf_close(Pointer model);
        String sparsecrf_label_name(Pointer model, int label);
        int sparsecrf_sequence_new(Pointer model, PointerByReference sequence);
        void sparsecrf_sequence_free(Pointer sequence);
        void sparsecrf_clear(Pointer sequence);
        int sparsecrf_add(Pointer sequence, byte[] text, long size, double value);
        int sparsecrf_end_token(Pointer sequence);
        int sparsecrf_label(Pointer sequence, int[] labels, long n);
    }

    // A model, and one sequence that is reused for every sentence.
    static final class Tagger implements AutoCloseable {
        private final Sparsecrf library;
        private final Pointer model, sequence;

        Tagger(Sparsecrf library, String path) {
            this.library = library;
            final PointerByReference place = new PointerByReference();
            check(library.sparsecrf_open(path, place));
            model = place.getValue();
            check(library.sparsecrf_sequence_new(model, place));
            sequence = place.getValue();
        }

        // The best labels of tokens, each an array of columns (or of attributes).
        List<String> label(List<String[]> tokens) {
            library.sparsecrf_clear(sequence);
            for (String[] columns : tokens) {
                for (String column : columns) {
                    final byte[] text = column.getBytes(StandardCharsets.UTF_8);
                    check(library.sparsecrf_add(sequence, text, text.length, 1.0));
                }
                check(library.sparsecrf_end_token(sequence));
            }
            final int[] found = new int[tokens.size()];
            check(library.sparsecrf_label(sequence, found, found.length));
            final List<String> names = new ArrayList<>();
            for (int y : found) names.add(library.sparsecrf_label_name(model, y));
            return names;
        }

        private void check(int status) {
            if (status != 0) throw new IllegalArgumentException(library.sparsecrf_error());
        }

        @Override
        public void close() {
            library.sparsecrf_sequence_free(sequence);
            library.sparsecrf_close(model);
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.setProperty("jna.encoding", "UTF-8");
        final Sparsecrf library = Native.load(arguments[0], Sparsecrf.class);
        if (library.sparsecrf_abi_version() != 1) throw new IllegalStateException("expected libsparsecrf of ABI 1");
        final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        try (Tagger tagger = new Tagger(library, arguments[1])) {
            final List<String[]> rows = new ArrayList<>();
            final List<String> lines = new ArrayList<>(Files.readAllLines(Path.of(arguments[2])));
            lines.add("");
            for (String line : lines) {
                if (!line.isBlank()) {
                    rows.add(line.strip().split("[ \t]+"));
                } else if (!rows.isEmpty()) {
                    final List<String> labels = tagger.label(rows);
                    for (int t = 0; t < labels.size(); ++t) {
                        out.println(String.join(" ", rows.get(t)) + " " + labels.get(t));
                    }
                    out.println();
                    rows.clear();
                }
            }
        }
        out.flush();
    }
}
