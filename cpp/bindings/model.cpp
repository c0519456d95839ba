// What a model's file holds.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <span>
#include <string>

#include "arrays.hpp"
#include "core/base/file_memory.hpp"
#include "core/model/model_file.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

// Not an array: NumPy need not be imported for a model to be opened.
using View = nb::ndarray<nb::memview, const double, nb::ndim<1>, nb::c_contig>;

ModelParts open(const std::filesystem::path& path, const std::string& source) {
    const WithoutGil unlocked;
    if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path) &&
        !std::filesystem::is_directory(path)) {
        throw InputError(source + ": expected a sparsecrf model, found something that is no file");
    }
    const FileMemory file(path, FileMemory::Kind::kMapped);
    if (file.bytes().empty()) throw InputError(source + ": expected a sparsecrf model, found an empty file");
    return read_model(file.bytes(), source);
}

ModelParts from_bytes(const nb::bytes& content, const std::string& source) {
    const WithoutGil unlocked;
    return read_model(std::as_bytes(std::span(content.c_str(), content.size())), source);
}

}  // namespace

void bind_model(nb::module_& m) {
    nb::class_<ModelParts>(m, "ModelParts", "What a model's file holds. Its template is in the metadata.")
        .def_static("open", &open, nb::arg("path"), nb::arg("source"),
                    nb::sig("def open(path: str, source: str) -> ModelParts"))
        .def_static("from_bytes", &from_bytes, nb::arg("content"), nb::arg("source"))
        .def_ro("labels", &ModelParts::labels)
        .def_ro("attributes", &ModelParts::attributes, "Those that have a weight.")
        .def_ro("features", &ModelParts::features)
        .def_prop_ro(
            "w", [](const ModelParts& parts) { return View(parts.w.data(), {parts.w.size()}); },
            nb::rv_policy::reference_internal, nb::sig("def w(self) -> memoryview[float]"),
            "The weights, one for each of the features.")
        .def_ro("start", &ModelParts::start)
        .def_ro("n_columns", &ModelParts::n_columns)
        .def_ro("mean", &ModelParts::mean, "Of dense columns, with `scale`; empty: tokens have none.")
        .def_ro("scale", &ModelParts::scale)
        .def_ro("vectors", &ModelParts::vectors, "Of words; None: there are none, or they are in a file of their own.")
        .def_ro("metadata", &ModelParts::metadata, "By name, each of them JSON.");
}

}  // namespace sparsecrf::bindings
