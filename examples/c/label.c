/* Labels a file as `sparsecrf label` does: every line with the label as one more column.
 *
 *     cc label.c $(pkg-config --cflags --libs sparsecrf) -o label
 *     ./label MODEL [INPUT]          without INPUT: standard input
 *
 * The file is read in pieces that end between two sentences, so that it may be larger than memory.
 */
#include <errno.h>
#include <sparsecrf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

/* Labels the whole sentences of a piece and prints them. Returns 0 if all went well. */
static int label_piece(const sparsecrf_model *model, const char *piece, size_t size, const char *source, size_t line) {
    char *answer;
    size_t answer_size;
    if (sparsecrf_label_text(model, piece, size, 0, 1, source, line, &answer, &answer_size) != SPARSECRF_OK) {
        fprintf(stderr, "%s\n", sparsecrf_error());
        return 1;
    }
    const int written = fwrite(answer, 1, answer_size, stdout) == answer_size;
    sparsecrf_free(answer);
    if (!written) perror("standard output");
    return !written;
}

static size_t count_lines(const char *text, size_t size) {
    size_t lines = 0;
    for (const char *end = text + size; (text = memchr(text, '\n', (size_t)(end - text))) != NULL; ++text) ++lines;
    return lines;
}

static int label_file(const sparsecrf_model *model, FILE *file, const char *source) {
    size_t capacity = 2 * PIECE, filled = 0, line = 1;
    char *buffer = malloc(capacity);
    int failed = buffer == NULL;
    while (!failed) {
        if (filled + PIECE > capacity) { /* a sentence that is longer than a piece */
            char *larger = realloc(buffer, capacity *= 2);
            if (larger == NULL) break;
            buffer = larger;
        }
        const size_t n = fread(buffer + filled, 1, PIECE, file);
        filled += n;
        const size_t whole = n == 0 ? filled : sparsecrf_whole_sequences(buffer, filled);
        if (whole > 0) failed = label_piece(model, buffer, whole, source, line);
        if (n == 0) break;
        line += count_lines(buffer, whole);
        memmove(buffer, buffer + whole, filled -= whole);
    }
    if (ferror(file)) {
        fprintf(stderr, "%s: %s\n", source, strerror(errno));
        failed = 1;
    }
    free(buffer);
    return failed;
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "label: expected MODEL [INPUT], found %d arguments\n", argc - 1);
        return 2;
    }
    if (sparsecrf_abi_version() != SPARSECRF_ABI_VERSION) {
        fprintf(stderr, "label: expected libsparsecrf of ABI %d, found %d\n", SPARSECRF_ABI_VERSION,
                sparsecrf_abi_version());
        return 1;
    }
    sparsecrf_model *model;
    if (sparsecrf_open(argv[1], &model) != SPARSECRF_OK) {
        fprintf(stderr, "%s\n", sparsecrf_error());
        return 1;
    }
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : stdin;
    int failed = file == NULL;
    if (failed) {
        perror(argv[2]);
    } else {
        failed = label_file(model, file, argc == 3 ? argv[2] : "standard input");
        if (file != stdin) fclose(file);
    }
    sparsecrf_close(model);
    return failed || fflush(stdout) != 0;
}
