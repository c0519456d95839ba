// The functions of sparsecrf.h: check, convert, call. No exception escapes from them.
#include "sparsecrf.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/file_error.hpp"
#include "core/model/model.hpp"

namespace {

using sparsecrf::InputError;
using sparsecrf::message;

struct Failure {
    std::string text;
    const char* shown = "";
};
thread_local Failure failure;  // the last failure of this thread

int failed(int code, const char* what) noexcept {
    try {
        failure.text = what;
        failure.shown = failure.text.c_str();
    } catch (...) {
        failure.shown = "out of memory while storing an error message";
    }
    return code;
}

// Runs the work; turns exceptions into an error code and a message.
template <class Work>
int guarded(Work work) noexcept {
    try {
        work();
        return SPARSECRF_OK;
    } catch (const InputError& error) {
        return failed(SPARSECRF_INPUT_ERROR, error.what());
    } catch (const std::system_error& error) {
        return failed(SPARSECRF_FILE_ERROR, error.what());
    } catch (const std::bad_alloc&) {
        return failed(SPARSECRF_MEMORY_ERROR, "out of memory");
    } catch (const std::length_error&) {
        return failed(SPARSECRF_MEMORY_ERROR, "out of memory");
    } catch (const std::exception& error) {
        return failed(SPARSECRF_BUG, error.what());
    } catch (...) {
        return failed(SPARSECRF_BUG, "unknown C++ exception");
    }
}

template <class T>
T& given(T* pointer, const char* name) {
    if (pointer == nullptr) throw InputError(name, ": expected a pointer, found NULL");
    return *pointer;
}

// The caller's array, if it has the required number of elements.
template <class T>
std::span<T> array(T* first, std::size_t n, std::size_t expected, const char* name) {
    if (n != expected) throw InputError(name, ": expected ", expected, " elements, found ", n);
    if (n > 0) given(first, name);
    return {first, n};
}

std::string_view text_of(const char* text, std::size_t size) {
    given(text, "text");
    return {text, size == SPARSECRF_WHOLE ? std::strlen(text) : size};
}

// Converts a path to the native encoding; the argument is UTF-8, even on Windows.
std::filesystem::path path_of(const char* path) {
#if defined(_WIN32)
    return std::filesystem::path(reinterpret_cast<const char8_t*>(path));
#else
    return path;
#endif
}

}  // namespace

struct sparsecrf_model {
    explicit sparsecrf_model(std::shared_ptr<const sparsecrf::Model> from) : model(std::move(from)) {
        const sparsecrf::StringTable& table = *model->parts().labels;
        for (std::uint32_t y = 0; y < table.size(); ++y) {
            names.emplace_back(table[y]);
            if (names.back().find('\0') != std::string::npos) {  // C would truncate the name there
                throw InputError("label ", y, ": expected a name without NUL, found a NUL in it");
            }
        }
    }
    std::shared_ptr<const sparsecrf::Model> model;
    std::vector<std::string> names;  // [Y] label names
};

struct sparsecrf_sequence {
    sparsecrf::Sequence sequence;
};

extern "C" {

int sparsecrf_abi_version(void) { return SPARSECRF_ABI_VERSION; }

const char* sparsecrf_version(void) { return SPARSECRF_VERSION; }

const char* sparsecrf_error(void) { return failure.shown; }

// ---- Models.
int sparsecrf_open(const char* path, sparsecrf_model** model) {
    return guarded([&] {
        given(path, "path"), given(model, "model");
        try {
            *model = new sparsecrf_model(sparsecrf::Model::open(path_of(path), path));
        } catch (const sparsecrf::FileError& error) {
            throw std::system_error(error.code(), message(path, ": cannot read the model file"));
        }
    });
}

int sparsecrf_open_memory(const void* content, std::size_t size, sparsecrf_model** model) {
    return guarded([&] {
        given(model, "model");
        if (size > 0 && content == nullptr) throw InputError("content: expected a pointer, found NULL");
        std::vector<std::uint64_t> copy((size + 7) / 8);  // an aligned copy
        if (size > 0) std::memcpy(copy.data(), content, size);
        const auto bytes = std::as_bytes(std::span(copy)).first(size);
        *model = new sparsecrf_model(std::make_shared<const sparsecrf::Model>(bytes, "model in memory"));
    });
}

void sparsecrf_close(sparsecrf_model* model) { delete model; }

std::int32_t sparsecrf_n_labels(const sparsecrf_model* model) {
    return model == nullptr ? 0 : static_cast<std::int32_t>(model->names.size());
}

const char* sparsecrf_label_name(const sparsecrf_model* model, std::int32_t label) {
    if (label < 0 || label >= sparsecrf_n_labels(model)) return nullptr;
    return model->names[static_cast<std::size_t>(label)].c_str();
}

std::int32_t sparsecrf_label_number(const sparsecrf_model* model, const char* name) {
    if (model == nullptr || name == nullptr) return -1;
    const auto found = model->model->parts().labels->find(name);
    return found ? static_cast<std::int32_t>(*found) : -1;
}

std::int32_t sparsecrf_n_columns(const sparsecrf_model* model) {
    const sparsecrf::Template* lines = model == nullptr ? nullptr : model->model->parts().lines.get();
    return lines == nullptr ? -1 : static_cast<std::int32_t>(lines->n_columns());
}

std::int32_t sparsecrf_vector_width(const sparsecrf_model* model) {
    return model == nullptr ? 0 : static_cast<std::int32_t>(model->model->vector_width());
}

// ---- Sequences.
int sparsecrf_sequence_new(const sparsecrf_model* model, sparsecrf_sequence** sequence) {
    return guarded([&] {
        given(sequence, "sequence");
        *sequence = new sparsecrf_sequence{sparsecrf::Sequence(given(model, "model").model)};
    });
}

void sparsecrf_sequence_free(sparsecrf_sequence* sequence) { delete sequence; }

void sparsecrf_clear(sparsecrf_sequence* sequence) {
    if (sequence != nullptr) sequence->sequence.clear();
}

int sparsecrf_add(sparsecrf_sequence* sequence, const char* text, std::size_t size, double value) {
    return guarded([&] { given(sequence, "sequence").sequence.add(text_of(text, size), value); });
}

int sparsecrf_add_vector(sparsecrf_sequence* sequence, const double* values, std::size_t n) {
    return guarded([&] {
        if (n > 0) given(values, "values");
        given(sequence, "sequence").sequence.add_vector({values, n});
    });
}

int sparsecrf_end_token(sparsecrf_sequence* sequence) {
    return guarded([&] { given(sequence, "sequence").sequence.end_token(); });
}

int sparsecrf_add_token(sparsecrf_sequence* sequence, const char* const* texts, const double* values, std::size_t n) {
    return guarded([&] {
        sparsecrf::Sequence& to = given(sequence, "sequence").sequence;
        if (n > 0) given(texts, "texts");
        try {
            for (std::size_t k = 0; k < n; ++k) {
                to.add(text_of(texts[k], SPARSECRF_WHOLE), values == nullptr ? 1.0 : values[k]);
            }
        } catch (...) {
            to.forget_token();
            throw;
        }
        to.end_token();
    });
}

std::size_t sparsecrf_length(const sparsecrf_sequence* sequence) {
    return sequence == nullptr ? 0 : static_cast<std::size_t>(sequence->sequence.length());
}

int sparsecrf_label(const sparsecrf_sequence* sequence, std::int32_t* labels, std::size_t n) {
    return guarded([&] {
        const sparsecrf::Sequence& of = given(sequence, "sequence").sequence;
        of.label(array(labels, n, sparsecrf_length(sequence), "labels"));
    });
}

int sparsecrf_marginals(const sparsecrf_sequence* sequence, double* p, std::size_t n) {
    return guarded([&] {
        const sparsecrf::Sequence& of = given(sequence, "sequence").sequence;
        of.marginals(array(p, n, sparsecrf_length(sequence) * of.model().parts().labels->size(), "p"));
    });
}

int sparsecrf_nbest(const sparsecrf_sequence* sequence, std::size_t k, std::int32_t* labels, std::size_t n, double* p,
                    std::size_t* found) {
    return guarded([&] {
        const sparsecrf::Sequence& of = given(sequence, "sequence").sequence;
        const std::size_t length = sparsecrf_length(sequence);
        constexpr std::size_t kMost = 1'000'000;
        if (k < 1 || k > kMost) throw InputError("k: expected 1 to ", kMost, ", found ", k);
        array(labels, n, k * length, "labels");
        const std::vector<sparsecrf::Labelling> all = of.nbest(static_cast<std::int64_t>(k));
        const double log_z = p == nullptr ? 0.0 : of.log_partition();
        for (std::size_t j = 0; j < all.size(); ++j) {
            std::copy(all[j].labels.begin(), all[j].labels.end(), labels + j * length);
            if (p != nullptr) p[j] = std::exp(std::min(0.0, all[j].score - log_z));
        }
        given(found, "found") = all.size();
    });
}

int sparsecrf_reasons(const sparsecrf_sequence* sequence, const std::int32_t* labels, std::size_t n_labels,
                      sparsecrf_reason* reasons, std::size_t n, std::size_t* found) {
    return guarded([&] {
        const sparsecrf::Sequence& of = given(sequence, "sequence").sequence;
        const auto terms = of.contributions(array(labels, n_labels, sparsecrf_length(sequence), "labels"));
        if (n > 0) given(reasons, "reasons");
        const sparsecrf::StringTable& names = *of.model().parts().attributes;
        for (std::size_t k = 0; k < std::min(n, terms.size()); ++k) {
            const std::string_view name = names[terms[k].attribute];
            reasons[k] = {terms[k].position, name.data(),    name.size(),    terms[k].previous,
                          terms[k].label,    terms[k].value, terms[k].weight};
        }
        given(found, "found") = terms.size();
    });
}

// ---- Text files.
int sparsecrf_label_text(const sparsecrf_model* model, const char* text, std::size_t size, unsigned flags,
                         std::size_t nbest, const char* source, std::size_t line, char** answer,
                         std::size_t* answer_size) {
    return guarded([&] {
        given(answer, "answer"), given(answer_size, "answer_size");
        const sparsecrf::Model& with = *given(model, "model").model;
        constexpr std::size_t kMost = 10'000;
        if (nbest < 1 || nbest > kMost) throw InputError("nbest: expected 1 to ", kMost, ", found ", nbest);
        if (flags >= 2 * SPARSECRF_FORCE) throw InputError("flags: expected at most 31, found ", flags);
        sparsecrf::LabelOptions options;
        options.nbest = static_cast<std::int64_t>(nbest);
        options.headers = nbest > 1 || (flags & SPARSECRF_SCORES) != 0;
        options.probability = (flags & (SPARSECRF_MARGINALS | SPARSECRF_ALL_MARGINALS)) != 0;
        options.distribution = (flags & SPARSECRF_ALL_MARGINALS) != 0;
        options.token_scores = (flags & SPARSECRF_TOKEN_SCORES) != 0;
        options.force = (flags & SPARSECRF_FORCE) != 0;
        options.bytes = with.parts().encoding == "bytes";
        const std::string made = with.label_text(size == 0 ? std::string_view() : text_of(text, size),
                                                 source == nullptr ? "text" : source, 0, line == 0 ? 1 : line, options);
        char* copy = static_cast<char*>(std::malloc(made.size() + 1));
        if (copy == nullptr) throw std::bad_alloc();
        std::memcpy(copy, made.c_str(), made.size() + 1);
        *answer = copy;
        *answer_size = made.size();
    });
}

std::size_t sparsecrf_whole_sequences(const char* text, std::size_t size) {
    if (text == nullptr) return 0;
    return sparsecrf::whole_sequences({text, size == SPARSECRF_WHOLE ? std::strlen(text) : size});
}

void sparsecrf_free(char* answer) { std::free(answer); }

}  // extern "C"
