/* libsparsecrf: label sequences with a model that sparsecrf trained. The manual: docs/c-library.md.
 *
 * - Text is UTF-8. Labels are numbers from 0 to sparsecrf_n_labels() - 1.
 * - A function that can fail returns 0 (SPARSECRF_OK) if it did what it says, else one of the numbers below, and then
 *   sparsecrf_error() says what was expected, what was found, and where. No C++ exception leaves the library.
 * - A model does not change: threads may share it. A sequence is for one thread at a time.
 * - Arrays belong to the caller, who gives their number of elements.
 */
#ifndef SPARSECRF_H
#define SPARSECRF_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(SPARSECRF_BUILDING)
#define SPARSECRF_API __declspec(dllexport)
#elif defined(_WIN32)
#define SPARSECRF_API __declspec(dllimport)
#elif defined(__GNUC__)
#define SPARSECRF_API __attribute__((visibility("default")))
#else
#define SPARSECRF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A library of the same version has at least the functions of this header, with the same
 * meaning; another version has another file name (libsparsecrf.so.1). */
#define SPARSECRF_ABI_VERSION 1
SPARSECRF_API int sparsecrf_abi_version(void);
/* The version of sparsecrf, such as "0.1.0". */
SPARSECRF_API const char* sparsecrf_version(void);

enum {
    SPARSECRF_OK = 0,
    SPARSECRF_INPUT_ERROR = 1,  /* a model, a sequence or an argument is not what it has to be */
    SPARSECRF_FILE_ERROR = 2,   /* a file cannot be read */
    SPARSECRF_MEMORY_ERROR = 3, /* there is not enough memory */
    SPARSECRF_BUG = 4           /* everything else: please report it */
};

/* What went wrong in the last call of this thread that failed; "" if none has. Valid until the next call that fails. */
SPARSECRF_API const char* sparsecrf_error(void);

/* ---- Models. */
typedef struct sparsecrf_model sparsecrf_model;

/* Opens a model file. On success *model is to be given to sparsecrf_close. */
SPARSECRF_API int sparsecrf_open(const char* path, sparsecrf_model** model);
/* The same for the content of a file in memory, which is not needed afterwards. */
SPARSECRF_API int sparsecrf_open_memory(const void* content, size_t size, sparsecrf_model** model);
/* NULL is allowed. Sequences of the model can still be used: the last of them frees its memory. */
SPARSECRF_API void sparsecrf_close(sparsecrf_model* model);

SPARSECRF_API int32_t sparsecrf_n_labels(const sparsecrf_model* model);
/* The name of a label; NULL if there is no such label. Valid until sparsecrf_close. */
SPARSECRF_API const char* sparsecrf_label_name(const sparsecrf_model* model, int32_t label);
/* The number of a label; -1 if the model does not know it. */
SPARSECRF_API int32_t sparsecrf_label_number(const sparsecrf_model* model, const char* name);
/* How many columns a token must have at least, if the model makes attributes from columns by a template; -1 if tokens
 * have attributes of their own. */
SPARSECRF_API int32_t sparsecrf_n_columns(const sparsecrf_model* model);
/* How many numbers the vector has that every token must come with; 0 if tokens have none, or if the model looks up the
 * vectors of words itself. */
SPARSECRF_API int32_t sparsecrf_vector_width(const sparsecrf_model* model);

/* ---- Sequences: tokens in, answers out.
 *
 * For each token: sparsecrf_add for each of its columns or attributes, then sparsecrf_end_token. After that all
 * questions can be asked, in any order. */
typedef struct sparsecrf_sequence sparsecrf_sequence;

SPARSECRF_API int sparsecrf_sequence_new(const sparsecrf_model* model, sparsecrf_sequence** sequence);
SPARSECRF_API void sparsecrf_sequence_free(sparsecrf_sequence* sequence); /* NULL is allowed */
/* Forgets the tokens; memory is kept for the next ones. */
SPARSECRF_API void sparsecrf_clear(sparsecrf_sequence* sequence);

/* Adds a column or an attribute to the token that is being made. `size`: bytes of the text, or SPARSECRF_WHOLE if it
 * ends with a NUL. `value`: of the attribute, 1 unless it is known to be another; ignored for columns. Attributes that
 * the model does not know are left out. */
#define SPARSECRF_WHOLE ((size_t)-1)
SPARSECRF_API int sparsecrf_add(sparsecrf_sequence* sequence, const char* text, size_t size, double value);
/* The vector of this token, sparsecrf_vector_width() numbers, before it is complete. */
SPARSECRF_API int sparsecrf_add_vector(sparsecrf_sequence* sequence, const double* values, size_t n);
/* The token is complete. */
SPARSECRF_API int sparsecrf_end_token(sparsecrf_sequence* sequence);
/* Both for a token of n texts that end with a NUL. values: [n], or NULL: all 1. */
SPARSECRF_API int sparsecrf_add_token(sparsecrf_sequence* sequence, const char* const* texts, const double* values,
                                      size_t n);
/* T, the number of complete tokens. */
SPARSECRF_API size_t sparsecrf_length(const sparsecrf_sequence* sequence);

/* The best labels. labels: [T] */
SPARSECRF_API int sparsecrf_label(const sparsecrf_sequence* sequence, int32_t* labels, size_t n);
/* The probability of each label at each token. p: [T, n_labels], a row for each token; n = T n_labels */
SPARSECRF_API int sparsecrf_marginals(const sparsecrf_sequence* sequence, double* p, size_t n);
/* The k best labellings, best first. *found: how many there are, at most k. labels: [k, T], n = k T;
 * p: [k] their probabilities, or NULL. */
SPARSECRF_API int sparsecrf_nbest(const sparsecrf_sequence* sequence, size_t k, int32_t* labels, size_t n, double* p,
                                  size_t* found);

/* Why a labelling has its score: what each attribute adds to it. */
typedef struct {
    int64_t token;
    const char* attribute; /* its name, without a NUL at its end; valid as long as the sequence */
    size_t attribute_size; /* in bytes */
    int32_t previous;      /* -1: the weight is of the label alone; else of the label after this one; n_labels: start */
    int32_t label;
    double value, weight; /* value * weight is what is added */
} sparsecrf_reason;
/* All terms of the score of `labels` ([T]) that are not zero, token by token. *found: how many there are; the first n
 * of them are written to reasons (NULL with n = 0: they are counted only). Not for models with n-grams of three labels or
 * more. */
SPARSECRF_API int sparsecrf_reasons(const sparsecrf_sequence* sequence, const int32_t* labels, size_t n_labels,
                                    sparsecrf_reason* reasons, size_t n, size_t* found);

/* ---- Text files, as `sparsecrf label` reads and writes them. */
enum {
    SPARSECRF_MARGINALS = 1,     /* after each label its probability */
    SPARSECRF_ALL_MARGINALS = 2, /* and every label:probability, likeliest first */
    SPARSECRF_SCORES = 4,        /* before each labelling a line: # rank, its probability, its score */
    SPARSECRF_TOKEN_SCORES = 8,  /* after each label what its token adds to the score */
    SPARSECRF_FORCE = 16         /* labels in the last column that the model knows are kept */
};
/* Labels whole sequences of a file: columns if the model has a template, else CRFsuite's format. *answer (of
 * *answer_size bytes, and a NUL) is to be given to sparsecrf_free. `nbest`: labellings of each sequence, 1 or more.
 * `source` and `line` stand in errors for the file and the first line of the text; NULL and 0: "text" and 1. Threads may
 * label with the same model at the same time. */
SPARSECRF_API int sparsecrf_label_text(const sparsecrf_model* model, const char* text, size_t size, unsigned flags,
                                       size_t nbest, const char* source, size_t line, char** answer,
                                       size_t* answer_size);
/* How many bytes of the text, from its beginning, are whole sequences, each with the blank line after it: a large file
 * can be labelled in pieces. 0: not one is. */
SPARSECRF_API size_t sparsecrf_whole_sequences(const char* text, size_t size);
SPARSECRF_API void sparsecrf_free(char* answer); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
