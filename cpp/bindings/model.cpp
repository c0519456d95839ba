// Models: file content and labelling.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "arrays.hpp"
#include "core/base/file_memory.hpp"
#include "core/model/container.hpp"
#include "core/model/model.hpp"
#include "module.hpp"
#include "tokens.hpp"

namespace sparsecrf::bindings {
namespace {

// A memoryview instead of an array, so that opening a model does not import NumPy.
using View = nb::ndarray<nb::memview, const double, nb::ndim<1>, nb::c_contig>;

ModelParts open(const std::filesystem::path& path, const std::string& source) {
    const WithoutGil unlocked;
    if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path) &&
        !std::filesystem::is_directory(path)) {
        throw InputError(source + ": expected a sparsecrf model, found something other than a file");
    }
    const FileMemory file(path, FileMemory::Kind::kMapped);
    if (file.bytes().empty()) throw InputError(source + ": expected a sparsecrf model, found an empty file");
    return read_model(file.bytes(), source);
}

ModelParts from_bytes(const nb::bytes& content, const std::string& source) {
    const WithoutGil unlocked;
    return read_model(std::as_bytes(std::span(content.c_str(), content.size())), source);
}

// The metadata and arrays of a file. An array is given as its type, shape and location in the file, so that Python can
// view the content without copying it.
nb::tuple read(const nb::bytes& content, const std::string& source, const std::string& format,
               const std::vector<int>& versions, bool check_digest) {
    const std::span<const std::byte> file = std::as_bytes(std::span(content.c_str(), content.size()));
    Container found;
    {
        const WithoutGil unlocked;
        found = read_container(file, source, format, versions, check_digest ? Check::everything : Check::structure);
    }
    nb::dict arrays;
    for (const auto& [name, array] : found.arrays) {
        const auto begin = static_cast<std::size_t>(array.data.data() - file.data());
        const nb::tuple shape(nb::cast(array.shape));
        arrays[nb::str(name.data(), name.size())] =
            nb::make_tuple(array.dtype, shape, begin, begin + array.data.size());
    }
    return nb::make_tuple(found.metadata, arrays);
}

std::vector<std::int64_t> read_all(TokenEncoder& encoder, nb::handle sequences) {
    std::vector<std::int64_t> lengths;
    const nb::object none = nb::none(), weight = nb::float_(1.0);
    Iteration all = items_of(sequences);
    while (const nb::object tokens = all.next()) {
        lengths.push_back(read_sequence(encoder, tokens, none, weight, none));
        if (encoder.full()) {
            const WithoutGil unlocked;
            encoder.encode();
        }
    }
    return lengths;
}

// Other threads may run while the core works, because the tables of a model never change.
std::shared_ptr<Corpus> encode(const Model& model, nb::handle sequences) {
    return model.with_session([&](Session& session) {
        read_all(session.encoder(), sequences);
        const WithoutGil unlocked;
        return std::make_shared<Corpus>(session.encoder().build());
    });
}

nb::list label(const Model& model, nb::handle sequences, const nb::list& names, const Constraints* constraints) {
    std::vector<std::int64_t> lengths;
    const std::vector<std::int32_t> labels = model.with_session([&](Session& session) {
        lengths = read_all(session.encoder(), sequences);
        const WithoutGil unlocked;
        return session.label(constraints == nullptr ? Constraints() : *constraints);
    });
    nb::list all;
    std::size_t at = 0;
    for (const std::int64_t length : lengths) {
        const nb::object named = owned(PyList_New(static_cast<Py_ssize_t>(length)));
        for (std::int64_t t = 0; t < length; ++t, ++at) {
            PyObject* name = PyList_GetItem(names.ptr(), labels[at]);  // borrowed
            if (name == nullptr) throw nb::python_error();
            PyList_SetItem(named.ptr(), static_cast<Py_ssize_t>(t), nb::borrow(name).release().ptr());
        }
        all.append(named);
    }
    return all;
}

std::vector<std::uint8_t> flags_of(const nb::bytes& flags) { return {flags.c_str(), flags.c_str() + flags.size()}; }

nb::bytes label_text(const Model& model, const nb::bytes& piece, const std::string& source, std::int64_t n_columns,
                     std::int64_t line, std::int64_t nbest, bool headers, bool probability, bool distribution,
                     bool force, bool token_scores, bool bytes, bool ragged, const nb::bytes& forbidden,
                     const nb::bytes& forbidden_last) {
    const LabelOptions options{nbest,        headers, probability, distribution,        force,
                               token_scores, bytes,   ragged,      flags_of(forbidden), flags_of(forbidden_last)};
    const std::string out =
        without_gil([&] { return model.label_text(text_of(piece), source, n_columns, line, options); });
    return nb::bytes(out.data(), out.size());
}

nb::object label_records(const Model& model, const nb::bytes& piece, const std::string& format,
                         const std::string& field, std::int64_t line) {
    const std::optional<std::string> out =
        without_gil([&] { return model.label_records(text_of(piece), format, field, line); });
    return out ? nb::object(nb::bytes(out->data(), out->size())) : nb::none();
}

void bind_labelling(nb::module_& m) {
    nb::class_<Model>(m, "Model", "A model for labelling. Immutable and thread-safe.")
        .def(
            "__init__",
            [](Model* self, std::shared_ptr<StringTable> labels, std::shared_ptr<StringTable> attributes,
               std::shared_ptr<const FeatureSet> features, const Array1<double>& w, bool start,
               std::shared_ptr<const Template> lines, std::int64_t n_columns, std::vector<double> mean,
               std::vector<double> scale, std::shared_ptr<const WordVectors> vectors) {
                const std::span<const double> all = view(w);
                new (self) Model({.labels = std::move(labels),
                                  .attributes = std::move(attributes),
                                  .features = std::move(features),
                                  .w = {all.begin(), all.end()},
                                  .start = start,
                                  .lines = std::move(lines),
                                  .n_columns = n_columns,
                                  .mean = std::move(mean),
                                  .scale = std::move(scale),
                                  .vectors = std::move(vectors)});
            },
            "labels"_a, "attributes"_a, "features"_a, array("w"), nb::kw_only(), "start"_a, "template"_a.none(),
            "n_columns"_a, "mean"_a, "scale"_a, "vectors"_a.none())
        .def_prop_ro(
            "w",
            [](const Model& model) {
                const std::span<const double> w = model.chain().w();
                return nb::ndarray<nb::numpy, const double, nb::ndim<1>, nb::c_contig>(w.data(), {w.size()});
            },
            nb::rv_policy::reference_internal, "The weights, one per feature.")
        .def_prop_ro("n_repeated", &Model::n_repeated,
                     "The number of sequences so far that were labelled from a corpus because rounding errors in "
                     "the merged sums of row labelling could have changed their best labels.")
        .def(
            "chain",
            [](const Model& model, int threads) { return model.chain().with_threads(checked_threads(threads)); },
            "threads"_a, "A Chain that labels corpora with this many threads (0: all cores).")
        .def("encode", &encode, "sequences"_a, nb::sig("def encode(self, sequences: object) -> Corpus"),
             "Encode sequences of tokens as a corpus; unknown attributes are left out.")
        .def("label", &label, "sequences"_a, "names"_a, "constraints"_a.none() = nb::none(),
             nb::sig("def label(self, sequences: object, names: list[typing.Any], constraints: Constraints | None = "
                     "None) -> list[list[typing.Any]]"),
             "The best labels of each sequence of tokens. names: label names by id.")
        .def("label_text", &label_text, "piece"_a, "source"_a, "n_columns"_a = 0, "line"_a = 1, nb::kw_only(),
             "nbest"_a = 1, "headers"_a = false, "probability"_a = false, "distribution"_a = false, "force"_a = false,
             "token_scores"_a = false, "bytes"_a = false, "ragged"_a = false, "forbidden"_a = nb::bytes("", 0),
             "forbidden_last"_a = nb::bytes("", 0),
             "Label complete sequences of a text file; see the options of `sparsecrf label`. n_columns: "
             "columns per line, 0: as on the first line. line: number of the first line. forbidden: a byte "
             "for each pair [Y + 1, Y], nonzero if it must not occur. forbidden_last: a byte for each label, "
             "nonzero if it must not end a sequence.")
        .def("label_records", &label_records, "piece"_a, "format"_a, "field"_a, "line"_a,
             nb::sig("def label_records(self, piece: bytes, format: str, field: str, line: int) -> bytes | None"),
             "Label complete records of a file in the format documents, jsonl or conllu. field: where the "
             "labels are. None if a record is not plain and the file must be read in Python.");
}

}  // namespace

void bind_model(nb::module_& m) {
    bind_labelling(m);
    m.def(
        "read_container", &read, nb::arg("content"), nb::arg("source"), nb::arg("format"), nb::arg("versions"),
        nb::arg("check_digest") = true,
        nb::sig("def read_container(content: bytes, source: str, format: str, versions: Sequence[int], "
                "check_digest: bool = True) -> "
                "tuple[dict[str, str], dict[str, tuple[str, tuple[int, ...], int, int]]]"),
        "Metadata and arrays of a file (cpp/core/model/container.hpp), checked. For each array: dtype, shape, and the "
        "offsets where it begins and ends.");
    nb::class_<ModelParts>(m, "ModelParts", "The content of a model file. The template is in the metadata.")
        .def_static("open", &open, "path"_a, "source"_a, nb::sig("def open(path: str, source: str) -> ModelParts"))
        .def_static("from_bytes", &from_bytes, "content"_a, "source"_a)
        .def_ro("labels", &ModelParts::labels)
        .def_ro("attributes", &ModelParts::attributes, "The names of the attributes, by id.")
        .def_ro("features", &ModelParts::features)
        .def_prop_ro(
            "w", [](const ModelParts& parts) { return View(parts.w.data(), {parts.w.size()}); },
            nb::rv_policy::reference_internal, nb::sig("def w(self) -> memoryview[float]"),
            "The weights, one per feature.")
        .def_ro("start", &ModelParts::start)
        .def_ro("n_columns", &ModelParts::n_columns)
        .def_ro("mean", &ModelParts::mean,
                "The means of the dense columns, used with `scale`; empty without dense columns.")
        .def_ro("scale", &ModelParts::scale)
        .def_ro("vectors", &ModelParts::vectors,
                "The word vectors. None if the model has no word vectors, or if they are in a separate file.")
        .def_ro("metadata", &ModelParts::metadata, "By name; each value is JSON.");
}

}  // namespace sparsecrf::bindings
