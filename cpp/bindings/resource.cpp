#include "core/text/resources/resource.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <vector>

#include "core/text/columns.hpp"
#include "core/text/resources/word_clusters.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

// Calls f(words) for each line of a piece; with `columns`, for each sequence of a column file, whose words are in the
// first column.
template <class Function>
void each_sentence(std::string_view piece, bool columns, Function f) {
    std::vector<std::string_view> words, cells;
    while (!piece.empty()) {
        cells.clear();
        split_columns(take_line(piece), cells);
        if (!columns) {
            if (!cells.empty()) f(cells);
        } else if (!cells.empty()) {
            words.push_back(cells[0]);
        }
        if (columns && !words.empty() && (cells.empty() || piece.empty())) {
            f(words);
            words.clear();
        }
    }
}

void bind_clusters(nb::module_& m) {
    nb::class_<WordClusters>(m, "WordClusters", "Clusters words of raw text, which is read twice.")
        .def(nb::init<>())
        .def(
            "add",
            [](WordClusters& clusters, nb::bytes piece, const std::string& source, std::int64_t line, bool columns) {
                const std::string_view text = text_of(piece);
                check_text(text, source, line);
                const WithoutGil unlocked;
                each_sentence(line == 1 ? without_mark(text) : text, columns,
                              [&](const auto& words) { clusters.add(words); });
            },
            "piece"_a, "source"_a, "line"_a = 1, "columns"_a = false,
            "Count the words of lines or, after `begin`, their pairs. columns: the text is a column file "
            "with the word first.")
        .def("begin", &WordClusters::begin, "n_classes"_a, "min_count"_a)
        .def("finish", &WordClusters::finish)
        .def(
            "exchange", [](WordClusters& clusters, int threads) { return clusters.exchange(checked_threads(threads)); },
            "threads"_a, nb::call_guard<WithoutGil>(), "Make one round of moves; return their number.")
        .def(
            "merge", [](WordClusters& clusters, int threads) { return clusters.merge(checked_threads(threads)); },
            "threads"_a, nb::call_guard<WithoutGil>(), "The path of each class.")
        .def_prop_ro("n_tokens", &WordClusters::n_tokens)
        .def_prop_ro("objective", &WordClusters::objective)
        .def_prop_ro(
            "words",
            [](const WordClusters& clusters) {
                clusters.check_finished();
                std::vector<std::tuple<std::string_view, std::int64_t, std::int64_t>> words;
                for (std::int64_t w = 0; w < clusters.n_words(); ++w) {
                    words.emplace_back(clusters.word(w), clusters.count(w), clusters.class_of(w));
                }
                return words;
            },
            "Word, count and class, by decreasing count.");
}

}  // namespace

void bind_resource(nb::module_& m) {
    bind_clusters(m);
    nb::class_<Resource>(m, "Resource", "A lexicon, clusters or word classes for the %d macros of templates.")
        .def(
            "__init__",
            [](Resource* self, std::string name, std::string_view kind, nb::bytes content, const std::string& source) {
                new (self) Resource(std::move(name), Resource::kind_named(kind, "kind"), std::string(text_of(content)),
                                    source);
            },
            "name"_a, "kind"_a, "content"_a, "source"_a)
        .def_prop_ro("name", &Resource::name)
        .def_prop_ro(
            "kind", [](const Resource& resource) { return Resource::kKinds[static_cast<int>(resource.kind())]; },
            "lexicon, clusters or classes")
        .def_prop_ro(
            "content",
            [](const Resource& resource) { return nb::bytes(resource.content().data(), resource.content().size()); },
            "The bytes of the file.")
        .def_prop_ro(
            "classes",
            [](const Resource& resource) {
                std::vector<std::string_view> names;
                for (std::uint32_t k = 0; k < resource.classes().size(); ++k) names.push_back(resource.classes()[k]);
                return names;
            },
            "The class names in file order; a single empty name for a lexicon without classes.")
        .def("__len__", &Resource::size);
}

}  // namespace sparsecrf::bindings
