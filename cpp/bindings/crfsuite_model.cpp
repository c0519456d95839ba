// CRFsuite models, read lazily.
#include "core/text/crfsuite_model.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "core/inference/chain.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

// The model and the bytes that it refers to.
struct File {
    File(nb::bytes data, std::string source) : content(std::move(data)), model(text_of(content), std::move(source)) {}

    nb::bytes content;
    CrfsuiteModel model;
};

}  // namespace

void bind_crfsuite_model(nb::module_& m) {
    nb::class_<File>(m, "CrfsuiteModel",
                     "A binary CRFsuite model. Reads all of it or, through the hash tables in the file, only the part "
                     "for given attributes.")
        .def(nb::init<nb::bytes, std::string>(), "data"_a, "source"_a)
        .def_prop_ro("labels", [](const File& file) { return file.model.labels(); })
        .def_prop_ro("n_attributes", [](const File& file) { return file.model.n_attributes(); })
        .def_prop_ro(
            "has_tables", [](const File& file) { return file.model.has_tables(); },
            "Whether the file has hash tables, which `part` needs. CRFsuite writes them; other programs may "
            "not.")
        .def(
            "part",
            [](const File& file, const StringTable& names, std::string_view bias) {
                CrfsuiteModel::Slice slice = file.model.slice(names, bias);
                auto chain = std::make_shared<Chain>(slice.features, std::move(slice.w), Kernel::automatic, 1);
                return std::tuple(std::move(slice.attributes), std::move(chain));
            },
            "names"_a, "bias"_a,
            "The model restricted to these names, in file order; unknown names are skipped. Transitions "
            "become label pairs of `bias`.")
        .def(
            "whole",
            [](const File& file, std::string_view bias) {
                CrfsuiteModel::Slice slice = file.model.whole(bias);
                return std::tuple(std::move(slice.attributes), copy<std::int64_t>(slice.features->numbers()),
                                  copy<double>(slice.w));
            },
            "bias"_a,
            "Attributes, feature numbers and weights of the whole model; needs no hash tables. Transitions "
            "become label pairs of `bias`.")
        .def_static(
            "hash", [](nb::bytes name) { return CrfsuiteModel::hash(text_of(name)); }, "name"_a,
            "The hash of a name in the tables of a file.");
}

}  // namespace sparsecrf::bindings
