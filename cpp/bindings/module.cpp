#include "module.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cerrno>

#include "core/simd/kernels.hpp"

namespace nb = nanobind;
using namespace sparsecrf;

namespace {

// A Python OSError, of the kind that the code says, with the name of the file.
void raise_file_error(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const FileError& error) {
        errno = error.code().default_error_condition().value();
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, nb::str(nb::cast(error.path)).ptr());
    }
}

}  // namespace

NB_MODULE(_core, m) {
#ifdef NDEBUG
    // Whatever is alive when the interpreter ends (an exception that somebody keeps is enough) is no news to a user.
    nb::set_leak_warnings(false);
#endif
    m.doc() = "Exact inference for sparse linear-chain conditional random fields.";
    nb::exception<InputError> input_error(m, "InputError", PyExc_ValueError);
    nb::exception<UnsatisfiableError>(m, "UnsatisfiableError", input_error.ptr());

    nb::register_exception_translator(raise_file_error);

    m.def("instruction_sets", &instruction_sets, "Names of the instruction sets this machine can run, slowest first.");
    m.def("instruction_set", [] { return std::string(kernels().name); }, "Name of the instruction set in use.");
    m.def("set_instruction_set", &set_instruction_set, nb::arg("name"),
          "Use this instruction set from now on. The environment variable SPARSECRF_ISA does the same at import.");
    kernels();  // an unknown SPARSECRF_ISA fails now, not in the middle of a run

    bindings::bind_strings(m);
    bindings::bind_corpus(m);
    bindings::bind_encoder(m);
    bindings::bind_features(m);
    bindings::bind_inference(m);
    bindings::bind_solvers(m);
    bindings::bind_text(m);
}
