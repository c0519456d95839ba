/* Labels a file like `sparsecrf label`: adds a column with the label to every line.
 *
 *     cc label.c $(pkg-config --cflags --libs sparsecrf) -pthread -o label
 *     ./label MODEL [INPUT]          without INPUT: standard input
 *
 * The file is read in pieces that end between two sentences, so it may be larger than memory. Each core labels one piece
 * at a time, all with the same model, and the pieces are written in order.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <sparsecrf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 17, MOST_THREADS = 16 };

/* Whole sentences of the file, and their labels or an error message. */
typedef struct {
    const sparsecrf_model *model;
    const char *source;
    char *text;
    size_t size, line; /* number of its first line */
    char *answer, *error;
    size_t answer_size;
    pthread_t thread;
} Piece;

/* The part of the file that has not been processed. */
typedef struct {
    FILE *file;
    char *rest; /* already read, but not yet part of a piece */
    size_t filled, capacity, line;
} Reader;

static void fail(const char *where, const char *what) {
    fprintf(stderr, "%s: %s\n", where, what);
    exit(1);
}

static void *checked(void *memory) {
    if (memory == NULL) fail("label", "expected enough memory, found too little");
    return memory;
}

static size_t count_lines(const char *text, size_t size) {
    size_t lines = 0;
    for (const char *end = text + size; (text = memchr(text, '\n', (size_t)(end - text))) != NULL; ++text) ++lines;
    return lines;
}

/* Fills `piece` with the next sentences. Returns 0 if there are no more. */
static int next_piece(Reader *from, Piece *piece) {
    size_t whole = 0, n = 1;
    while (whole == 0 && n > 0) {
        if (from->filled + PIECE > from->capacity) {
            from->rest = checked(realloc(from->rest, from->capacity = 2 * (from->filled + PIECE)));
        }
        n = fread(from->rest + from->filled, 1, PIECE, from->file);
        from->filled += n;
        whole = n == 0 ? from->filled : sparsecrf_whole_sequences(from->rest, from->filled);
    }
    if (ferror(from->file)) fail(piece->source, strerror(errno));
    piece->text = memcpy(checked(malloc(whole + 1)), from->rest, whole);
    piece->size = whole;
    piece->line = from->line;
    from->line += count_lines(piece->text, whole);
    memmove(from->rest, from->rest + whole, from->filled -= whole);
    return whole > 0;
}

static void *label_piece(void *of) {
    Piece *piece = of;
    if (sparsecrf_label_text(piece->model, piece->text, piece->size, 0, 1, piece->source, piece->line, &piece->answer,
                             &piece->answer_size) != SPARSECRF_OK) {
        piece->answer = NULL;
        piece->error = strdup(sparsecrf_error()); /* this thread's error */
    }
    return NULL;
}

/* Prints the answer. Returns 0 if labelling failed. */
static int finish(Piece *piece) {
    pthread_join(piece->thread, NULL);
    free(piece->text);
    if (piece->answer == NULL) {
        fprintf(stderr, "%s\n", (char *)checked(piece->error));
        free(piece->error);
        return 0;
    }
    if (fwrite(piece->answer, 1, piece->answer_size, stdout) != piece->answer_size) {
        fail("standard output", strerror(errno));
    }
    sparsecrf_free(piece->answer);
    return 1;
}

static int label_file(const sparsecrf_model *model, FILE *file, const char *source) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int threads = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (int)cores;
    Piece pieces[MOST_THREADS];
    Reader from = {file, NULL, 0, 0, 1};
    int good = 1;
    long begun = 0, done = 0; /* piece k is pieces[k % threads] */
    for (int more = 1; good && (more || done < begun);) {
        if (more && begun - done < threads) {
            Piece *piece = &pieces[begun % threads];
            *piece = (Piece){.model = model, .source = source};
            more = next_piece(&from, piece);
            if (!more) free(piece->text);
            if (more && pthread_create(&piece->thread, NULL, label_piece, piece)) fail("label", "no thread");
            begun += more;
        } else {
            good = finish(&pieces[done++ % threads]);
        }
    }
    while (done < begun) { /* after an error, wait for the pieces that have begun */
        Piece *piece = &pieces[done++ % threads];
        pthread_join(piece->thread, NULL);
        free(piece->text);
        free(piece->error);
        sparsecrf_free(piece->answer);
    }
    free(from.rest);
    return good;
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "label: expected MODEL [INPUT], found %d arguments\n", argc - 1);
        return 2;
    }
    if (sparsecrf_abi_version() != SPARSECRF_ABI_VERSION) fail("label", "expected libsparsecrf of the header's ABI");
    sparsecrf_model *model;
    if (sparsecrf_open(argv[1], &model) != SPARSECRF_OK) {
        fprintf(stderr, "%s\n", sparsecrf_error());
        return 1;
    }
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : stdin;
    if (file == NULL) fail(argv[2], strerror(errno));
    const int good = label_file(model, file, argc == 3 ? argv[2] : "standard input");
    if (file != stdin) fclose(file);
    sparsecrf_close(model);
    return !good || fflush(stdout) != 0;
}
