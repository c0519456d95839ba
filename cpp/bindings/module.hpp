#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/thread_pool.hpp"
#include "core/inference/transitions/transition.hpp"
#include "gil.hpp"

namespace sparsecrf::bindings {

namespace nb = nanobind;
using namespace nb::literals;

void bind_corpus(nb::module_& m);
void bind_crfsuite_model(nb::module_& m);
void bind_dual(nb::module_& m);
void bind_model(nb::module_& m);
void bind_packed(nb::module_& m);
void bind_strings(nb::module_& m);
void bind_encoder(nb::module_& m);
void bind_features(nb::module_& m);
void bind_inference(nb::module_& m);
void bind_mentions(nb::module_& m);
void bind_resource(nb::module_& m);
void bind_solvers(nb::module_& m);
void bind_text(nb::module_& m);
void bind_word_vectors(nb::module_& m);

inline std::string_view text_of(const nb::bytes& content) { return {content.c_str(), content.size()}; }

inline Kernel kernel_named(const std::string& name) {
    if (name == "auto") return Kernel::automatic;
    if (name == "sparse") return Kernel::sparse;
    if (name == "dense") return Kernel::dense;
    if (name == "log") return Kernel::log;
    throw InputError("kernel: expected 'auto', 'sparse', 'dense' or 'log', found '", name, "'");
}

inline int checked_threads(int threads) {
    if (threads < 0) throw InputError("threads: expected 0 (all cores) or more, found ", threads);
    return resolve_threads(threads);
}

}  // namespace sparsecrf::bindings
