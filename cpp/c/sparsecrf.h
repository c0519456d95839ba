/* libsparsecrf: label sequences with a model trained by sparsecrf. Manual: docs/c-library.md.
 *
 * - Text is UTF-8. Labels are numbers from 0 to sparsecrf_n_labels() - 1.
 * - A function that can fail returns 0 (SPARSECRF_OK) on success and otherwise one of the error codes below;
 *   sparsecrf_error() then returns a message with the expected value, the actual value and the location. No C++
 *   exception leaves the library.
 * - A model is immutable, and threads may share it. A sequence may be used by one thread at a time.
 * - Arrays are owned by the caller, which passes their number of elements.
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

/* The version of this interface. A library of the same version has at least the functions in this header, with the same
 * behaviour; a different version has a different file name (libsparsecrf.so.1). */
#define SPARSECRF_ABI_VERSION 1
SPARSECRF_API int sparsecrf_abi_version(void);
/* The version of sparsecrf, e.g. "0.1.0". */
SPARSECRF_API const char* sparsecrf_version(void);

enum {
    SPARSECRF_OK = 0,
    SPARSECRF_INPUT_ERROR = 1,  /* a model, a sequence or an argument is not valid */
    SPARSECRF_FILE_ERROR = 2,   /* a file cannot be read */
    SPARSECRF_MEMORY_ERROR = 3, /* out of memory */
    SPARSECRF_BUG = 4           /* anything else: please report it */
};

/* The message of the last failed call in this thread, or "". Valid until the next call that fails. */
SPARSECRF_API const char* sparsecrf_error(void);

/* ---- Models. */
typedef struct sparsecrf_model sparsecrf_model;

/* Opens a model file. On success, release *model with sparsecrf_close. */
SPARSECRF_API int sparsecrf_open(const char* path, sparsecrf_model** model);
/* The same for the content of a file in memory, which may be freed afterwards. */
SPARSECRF_API int sparsecrf_open_memory(const void* content, size_t size, sparsecrf_model** model);
/* NULL is allowed. Sequences of the model remain usable; the memory is freed with the last of them. */
SPARSECRF_API void sparsecrf_close(sparsecrf_model* model);

SPARSECRF_API int32_t sparsecrf_n_labels(const sparsecrf_model* model);
/* The name of a label, or NULL if the number is out of range. Valid until sparsecrf_close. */
SPARSECRF_API const char* sparsecrf_label_name(const sparsecrf_model* model, int32_t label);
/* The number of a label, or -1 if the model has no label with this name. */
SPARSECRF_API int32_t sparsecrf_label_number(const sparsecrf_model* model, const char* name);
/* The minimum number of columns of a token if the model generates attributes with a template; -1 if the caller passes
 * attributes. */
SPARSECRF_API int32_t sparsecrf_n_columns(const sparsecrf_model* model);
/* The length of the vector that the caller must pass with every token; 0 if tokens have none, or if the model looks up
 * word vectors itself. */
SPARSECRF_API int32_t sparsecrf_vector_width(const sparsecrf_model* model);

/* ---- Sequences: add tokens, then query.
 *
 * For each token, call sparsecrf_add for each of its columns or attributes, then sparsecrf_end_token. After that, call
 * the query functions in any order. */
typedef struct sparsecrf_sequence sparsecrf_sequence;

SPARSECRF_API int sparsecrf_sequence_new(const sparsecrf_model* model, sparsecrf_sequence** sequence);
SPARSECRF_API void sparsecrf_sequence_free(sparsecrf_sequence* sequence); /* NULL is allowed */
/* Removes all tokens but keeps the memory for reuse. */
SPARSECRF_API void sparsecrf_clear(sparsecrf_sequence* sequence);

/* Adds a column or an attribute to the current token. `size`: length of the text in bytes, or SPARSECRF_WHOLE if it is
 * NUL-terminated. `value`: value of the attribute, usually 1; ignored for columns. Attributes that are not in the model
 * are left out. */
#define SPARSECRF_WHOLE ((size_t)-1)
SPARSECRF_API int sparsecrf_add(sparsecrf_sequence* sequence, const char* text, size_t size, double value);
/* Sets the vector of the current token, sparsecrf_vector_width() numbers. Call it before sparsecrf_end_token. */
SPARSECRF_API int sparsecrf_add_vector(sparsecrf_sequence* sequence, const double* values, size_t n);
/* Completes the current token. */
SPARSECRF_API int sparsecrf_end_token(sparsecrf_sequence* sequence);
/* Adds and completes a token of n NUL-terminated texts. values: [n], or NULL if all are 1. */
SPARSECRF_API int sparsecrf_add_token(sparsecrf_sequence* sequence, const char* const* texts, const double* values,
                                      size_t n);
/* T, the number of complete tokens. */
SPARSECRF_API size_t sparsecrf_length(const sparsecrf_sequence* sequence);

/* The best labels. labels: [T] */
SPARSECRF_API int sparsecrf_label(const sparsecrf_sequence* sequence, int32_t* labels, size_t n);
/* The marginal probability of each label at each token. p: [T, n_labels], row-major; n = T n_labels */
SPARSECRF_API int sparsecrf_marginals(const sparsecrf_sequence* sequence, double* p, size_t n);
/* The k best labellings, best first. *found: their number, at most k. labels: [k, T], n = k T;
 * p: [k] their probabilities, or NULL. */
SPARSECRF_API int sparsecrf_nbest(const sparsecrf_sequence* sequence, size_t k, int32_t* labels, size_t n, double* p,
                                  size_t* found);

/* One term of the score of a labelling: the contribution of one attribute. */
typedef struct {
    int64_t token;
    const char* attribute; /* name, not NUL-terminated; valid as long as the sequence */
    size_t attribute_size; /* in bytes */
    int32_t previous; /* previous label of a label pair; n_labels: start; -1: the weight belongs to `label` alone */
    int32_t label;
    double value, weight; /* value * weight is added to the score */
} sparsecrf_reason;
/* All nonzero terms of the score of `labels` ([T]), token by token. *found: the number of terms; the first n are
 * written to `reasons` (NULL with n = 0: only count them). Not supported for models with label n-grams of three or more
 * labels. */
SPARSECRF_API int sparsecrf_reasons(const sparsecrf_sequence* sequence, const int32_t* labels, size_t n_labels,
                                    sparsecrf_reason* reasons, size_t n, size_t* found);

/* ---- Text files, in the formats of `sparsecrf label`. */
enum {
    SPARSECRF_MARGINALS = 1,     /* write the marginal probability after each label */
    SPARSECRF_ALL_MARGINALS = 2, /* also write every label:probability, most probable first */
    SPARSECRF_SCORES = 4,        /* write a line "# rank probability score" before each labelling */
    SPARSECRF_TOKEN_SCORES = 8,  /* write the score of the token after each label */
    SPARSECRF_FORCE = 16         /* keep a label in the last column if it is in the model */
};
/* Labels complete sequences of a file: columns if the model has a template, otherwise CRFsuite's format. Release
 * *answer (*answer_size bytes and a NUL) with sparsecrf_free. `nbest`: labellings per sequence, at least 1. `source`
 * and `line` are the file name and the number of the first line for error messages; NULL and 0 mean "text" and 1.
 * Several threads may label with the same model at the same time. */
SPARSECRF_API int sparsecrf_label_text(const sparsecrf_model* model, const char* text, size_t size, unsigned flags,
                                       size_t nbest, const char* source, size_t line, char** answer,
                                       size_t* answer_size);
/* The length in bytes of the longest prefix of the text that consists of complete sequences, each followed by a blank
 * line; 0 if no sequence is complete. Use it to label a large file in pieces. */
SPARSECRF_API size_t sparsecrf_whole_sequences(const char* text, size_t size);
SPARSECRF_API void sparsecrf_free(char* answer); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
