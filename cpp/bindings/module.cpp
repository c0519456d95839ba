#include "module.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cerrno>

#include "core/base/file_error.hpp"
#include "core/base/simulated_team.hpp"
#include "core/base/usable_memory.hpp"
#include "core/simd/kernels.hpp"

namespace nb = nanobind;
using namespace sparsecrf;

namespace {

// Raises a Python OSError with this error code and file name.
void raise_file_error(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const FileError& error) {
        errno = error.code().default_error_condition().value();
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, nb::str(nb::cast(error.path)).ptr());
    }
}

// Text quoted from a file may be cut in the middle of a character.
void raise_input_error(const std::exception_ptr& error, void* type) {
    try {
        std::rethrow_exception(error);
    } catch (const UnsatisfiableError&) {
        throw;  // left to other translators
    } catch (const InputError& found) {
        const std::string_view text = found.what();
        PyObject* const decoded =
            PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
        if (decoded == nullptr) return;
        PyErr_SetObject(static_cast<PyObject*>(type), decoded);
        Py_DECREF(decoded);
    }
}

}  // namespace

NB_MODULE(_core, m) {
    // The core's types and exceptions belong to a single interpreter, and so do NumPy's.
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        throw nb::import_error(
            "sparsecrf: expected the main interpreter, found a subinterpreter; use a thread or a process");
    }
#if defined(NDEBUG) || defined(SPARSECRF_SANITIZED)
    // Do not warn about objects that are still alive at exit; even a stored exception can keep some alive.
    nb::set_leak_warnings(false);
#endif
    bindings::sleep_instead_of_terminating();
    m.doc() = "Exact inference for sparse linear-chain conditional random fields.";
    const nb::exception<InputError> input_error(m, "InputError", PyExc_ValueError);
    input_error.attr("__doc__") =
        "Invalid input: data, options, or the content of a file. A ValueError.\n\n"
        "The message says what was expected, what was found, and where: the name of the option, or file and line, or\n"
        "sequence and token. System errors, such as a missing file, raise OSError.";
    const nb::exception<UnsatisfiableError> unsatisfiable(m, "UnsatisfiableError", input_error.ptr());
    unsatisfiable.attr("__doc__") =
        "No label sequence satisfies the constraints. An InputError.\n\n"
        "Raised if `fixed`, `allowed` and `forbidden` together exclude every labelling of a sequence. The\n"
        "message says which sequence.";

    nb::register_exception_translator(raise_input_error, input_error.ptr());
    nb::register_exception_translator(raise_file_error);

    m.def("instruction_sets", &instruction_sets,
          "The names of the instruction sets that this machine supports, slowest first.");
    m.def("instruction_set", [] { return std::string(kernels().name); }, "The name of the instruction set in use.");
    m.def("set_instruction_set", &set_instruction_set, nb::arg("name"),
          "Use this instruction set from now on. The environment variable SPARSECRF_ISA does the same at import.");
#if defined(SPARSECRF_SIMULATE_THREADS)
    m.def(
        "parallel_seconds", [] { return std::vector{SimulatedTeam::total.processor, SimulatedTeam::total.clock}; },
        "Seconds of all parallel loops so far: on one thread, and as predicted on the requested number.");
#endif
    m.def("usable_memory", &usable_memory,
          "The memory available to this process in bytes: the machine's memory, or a lower limit.");
#if defined(_LIBCPP_VERSION)
    m.attr("STANDARD_LIBRARY") = "libc++";
#elif defined(__GLIBCXX__)
    m.attr("STANDARD_LIBRARY") = "libstdc++";
#else
    m.attr("STANDARD_LIBRARY") = "other";
#endif
    kernels();  // reports an unknown SPARSECRF_ISA now, not in the middle of a run

    bindings::bind_strings(m);
    bindings::bind_corpus(m);
    bindings::bind_encoder(m);
    bindings::bind_features(m);
    bindings::bind_inference(m);
    bindings::bind_mentions(m);
    bindings::bind_packed(m);
    bindings::bind_solvers(m);
    bindings::bind_dual(m);
    bindings::bind_resource(m);
    bindings::bind_word_vectors(m);
    bindings::bind_text(m);
    bindings::bind_model(m);
    bindings::bind_crfsuite_model(m);
}
