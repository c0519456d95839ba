#include "core/text/resources/word_vectors.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "core/text/resources/vector_text.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

// A NumPy array [n, d] that takes ownership of the numbers.
Result<float, 2> as_array(std::vector<float> values, std::size_t width) {
    auto own = std::make_unique<std::vector<float>>(std::move(values));
    const std::size_t shape[] = {width == 0 ? 0 : own->size() / width, width};
    float* const data = own->data();
    nb::capsule owner(own.release(), [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
    return Result<float, 2>(data, 2, shape, owner);
}

void bind_vector_text(nb::module_& m) {
    nb::class_<VectorText>(m, "VectorText", "Reads word vectors in the text format of word2vec and GloVe.")
        .def(nb::init<std::string, std::int64_t, const StringTable*>(), "source"_a, "n_bytes"_a = 0,
             "wanted"_a.none() = nb::none(),
             "source: names the file in errors; n_bytes: size of the file; wanted: keep only the vectors of "
             "these words and of their lowercase forms.")
        .def(
            "add",
            [](VectorText& text, const nb::bytes& piece) {
                const std::string_view lines = text_of(piece);
                const WithoutGil unlocked;
                text.add(lines);
            },
            "piece"_a, "Parse complete lines, which continue those added before.")
        .def_prop_ro("width", &VectorText::width, "The length of a vector; 0 until one has been read.")
        .def_prop_ro("n_lines", &VectorText::n_lines, "The number of vectors read, kept or not.")
        .def(
            "take",
            [](VectorText& text) {
                auto values = as_array(text.take_values(), static_cast<std::size_t>(text.width()));
                return std::tuple(text.take_words(), std::move(values));
            },
            "The kept words, without duplicates (the first one counts), and their vectors. Call it once.");
}

}  // namespace

void bind_word_vectors(nb::module_& m) {
    bind_vector_text(m);
    nb::class_<WordVectors>(m, "WordVectors", "Looks up word vectors, which become dense columns of a corpus.")
        .def(
            "__init__",
            [](WordVectors* self, std::shared_ptr<StringTable> words, const Array1<float>& values,
               std::vector<double> mean, std::vector<double> scale, std::int64_t window, std::int64_t column) {
                new (self)
                    WordVectors(std::move(words), view(values), std::move(mean), std::move(scale), window, column);
            },
            // The numbers are not copied; the object keeps the array alive.
            nb::keep_alive<1, 3>(), "words"_a, array("values"), "mean"_a, "scale"_a, "window"_a = 0, "column"_a = 0,
            "values: float32[words * d], concatenated vectors; mean, scale: [d + 1], a value x becomes (x - "
            "mean) scale, and an additional column holds the last scale for words without a vector; window: "
            "number of words before and after whose vectors are added as columns; column: the word column "
            "in rows of columns.")
        .def_prop_ro("n_dense", &WordVectors::n_dense, "The number of dense columns.")
        .def_prop_ro("words", &WordVectors::words)
        .def_prop_ro(
            "values",
            [](const WordVectors& vectors) {
                const std::span<const float> all = vectors.values();
                return nb::ndarray<nb::memview, const float, nb::ndim<1>, nb::c_contig>(all.data(), {all.size()});
            },
            nb::rv_policy::reference_internal, nb::sig("def values(self) -> memoryview[float]"),
            "[words * d] concatenated vectors.")
        .def_prop_ro("width", &WordVectors::width, "d")
        .def_prop_ro("window", &WordVectors::window)
        .def_prop_ro("column", &WordVectors::column)
        .def("row", nb::overload_cast<std::string_view>(&WordVectors::row, nb::const_), "word"_a,
             "The row of the vector of a word or of its lowercase form; -1 if neither has a vector.")
        .def(
            "rows",
            [](const WordVectors& vectors, const StringTable& words) {
                auto rows = make<std::int32_t>(words.size());
                for (std::uint32_t k = 0; k < words.size(); ++k) rows.data()[k] = vectors.row(words[k]);
                return rows;
            },
            "words"_a, nb::rv_policy::move, "The result of `row` for each of these words.")
        .def(
            "added",
            [](const WordVectors& vectors, const Corpus& corpus, const Array1<std::int32_t>& rows,
               const StringTable& attributes) {
                return std::make_shared<Corpus>(vectors.added_to(corpus, view(rows), attributes));
            },
            "corpus"_a, array("rows"), "attributes"_a,
            "A copy of the corpus with dense columns, given the vector row of each position (int32[P], -1: "
            "none).");
}

}  // namespace sparsecrf::bindings
