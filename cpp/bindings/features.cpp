#include "core/corpus/features.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <tuple>

#include "arrays.hpp"
#include "core/base/error.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

// A copy that no Python object owns, because feature sets are created and destroyed without the GIL.
std::shared_ptr<const LabelParts> shared(const LabelParts* parts) {
    return parts == nullptr ? nullptr : std::make_shared<const LabelParts>(*parts);
}

// The attribute of every feature, from the row pointers of one or more kinds.
Result<std::int32_t, 1> attribute_of_each(std::initializer_list<const std::vector<std::int64_t>*> kinds) {
    std::vector<std::int32_t> out;
    for (const std::vector<std::int64_t>* ptr : kinds) {
        for (std::size_t x = 0; x + 1 < ptr->size(); ++x) {
            out.insert(out.end(), static_cast<std::size_t>((*ptr)[x + 1] - (*ptr)[x]), static_cast<std::int32_t>(x));
        }
    }
    return copy<std::int32_t>(out);
}

// One side of every pair: y' or y of a label pair, or the cell of the class in a class pair. The part cells of previous
// classes are shifted by one, because n_labels is the start label.
Result<std::int32_t, 1> side_of_each(const FeatureSet& features, bool previous) {
    const LabelPairs pairs = features.numbering().pairs;
    std::vector<std::int32_t> out;
    for (const std::uint32_t pair : features.bigram_pair) {
        out.push_back(static_cast<std::int32_t>(previous ? pairs.previous(pair) : pairs.label(pair)));
    }
    for (const std::uint32_t pair : features.class_pair) {
        const LabelPairs classes = features.parts->class_pairs();
        const std::uint32_t c = previous ? classes.previous(pair) : classes.label(pair);
        const auto cell =
            static_cast<std::int32_t>(c == classes.start() ? pairs.start() : features.parts->class_cell(c));
        out.push_back(previous && c != classes.start() && cell >= features.n_labels ? cell + 1 : cell);
    }
    return copy<std::int32_t>(out);
}

std::vector<std::int32_t> class_cells(const LabelParts& parts) {
    std::vector<std::int32_t> out;
    for (int c = 0; c < parts.n_classes(); ++c) {
        out.push_back(static_cast<std::int32_t>(parts.class_cell(static_cast<std::uint32_t>(c))));
    }
    return out;
}

// Attributes, lengths and concatenated labels of the n-grams of a set.
using Ints = Result<std::int32_t, 1>;
std::tuple<Ints, Ints, Ints> ngrams_of(const FeatureSet& features) {
    std::vector<std::int32_t> length, labels;
    for (const std::uint32_t string : features.ngram_string) {
        const std::vector<std::int32_t> of = features.strings.labels(string);
        length.push_back(static_cast<std::int32_t>(of.size()));
        labels.insert(labels.end(), of.begin(), of.end());
    }
    return std::make_tuple(copy<std::int32_t>(features.ngram_attribute), copy<std::int32_t>(length),
                           copy<std::int32_t>(labels));
}

}  // namespace

void bind_features(nb::module_& m) {
    m.attr("LONGEST_NGRAM") = static_cast<int>(kLongestNgram);
    using Ids = Array1<std::int32_t>;
    nb::class_<NgramTable>(
        m, "NgramTable",
        "Label n-grams (attribute, labels) of at least three labels, in the order in which they are added.\n"
        "The start label, n_labels, can only be the first label.")
        .def(nb::init<std::int64_t>(), "n_labels"_a)
        .def(
            "add",
            [](NgramTable& table, Ids attribute, Ids length, Ids labels) {
                return copy<std::int64_t>(table.add_all(view(attribute), view(length), view(labels)));
            },
            array("attribute"), array("length"), array("labels"), nb::rv_policy::move,
            "The indices of these n-grams, which are added if missing. labels: the concatenated labels.")
        .def("__len__", &NgramTable::size);
    nb::class_<LabelParts>(m, "LabelParts",
                           "The parts of labels: label y has part[ptr[y]] to part[ptr[y + 1] - 1], all below n_parts.")
        .def(
            "__init__",
            [](LabelParts* self, std::int64_t n_parts, Array1<std::int64_t> ptr, Ids part, std::optional<Ids> classes) {
                new (self) LabelParts(n_parts, view(ptr), view(part),
                                      classes ? view(*classes) : std::span<const std::int32_t>());
            },
            "n_parts"_a, array("ptr"), array("part"), array("classes").none() = nb::none(),
            "classes: the cell of each label's class: one of its parts (n_labels + j) or the label "
            "itself.")
        .def_prop_ro("n_labels", &LabelParts::n_labels)
        .def_prop_ro("n_parts", &LabelParts::n_parts)
        .def_prop_ro("class_cells", &class_cells, "The cells of the label classes, ascending; empty without classes.")
        .def_prop_ro(
            "class_of",
            [](const LabelParts& parts) {
                std::vector<std::int32_t> out;
                for (int y = 0; parts.n_classes() > 0 && y < parts.n_labels(); ++y) {
                    out.push_back(static_cast<std::int32_t>(parts.class_of(static_cast<std::size_t>(y))));
                }
                return out;
            },
            "The index of each label's class in `class_cells`.")
        .def(
            "of",
            [](const LabelParts& parts, std::int64_t y) {
                if (y < 0 || y >= parts.n_labels()) {
                    throw InputError("label: expected 0 to ", parts.n_labels() - 1, ", found ", y);
                }
                std::vector<std::int32_t> out;
                for (const std::uint32_t cell : parts.cells_of(static_cast<std::size_t>(y))) {
                    out.push_back(static_cast<std::int32_t>(cell) - parts.n_labels());
                }
                return out;
            },
            "label"_a, "The parts of a label, ascending.");
    nb::class_<FeatureSet>(
        m, "FeatureSet",
        "A set of features in canonical order: unigrams (x, y), then bigrams (x, y', y), sorted.\n"
        "The previous label n_labels is the start label. If labels have parts, the label n_labels + j\n"
        "of a unigram feature is part j. If they have classes, features of class pairs follow the\n"
        "bigrams, with part j written as label n_labels + j or as previous label n_labels + 1 + j.")
        .def(
            "__init__",
            [](FeatureSet* self, std::int64_t n_labels, std::int64_t n_attributes, Ids ux, Ids uy, Ids bx, Ids bp,
               Ids by) {
                new (self) FeatureSet(n_labels, n_attributes, view(ux), view(uy), view(bx), view(bp), view(by));
            },
            "n_labels"_a, "n_attributes"_a, array("unigram_attribute"), array("unigram_label"),
            array("bigram_attribute"), array("bigram_previous"), array("bigram_label"))
        .def_static(
            "from_numbers",
            [](std::int64_t n_labels, std::int64_t n_attributes, Array1<std::int64_t> numbers, const NgramTable* ngrams,
               const LabelParts* parts) {
                return FeatureSet::from_numbers(n_labels, n_attributes, view(numbers), ngrams, shared(parts));
            },
            "n_labels"_a, "n_attributes"_a, array("numbers"), "ngrams"_a.none() = nb::none(),
            "parts"_a.none() = nb::none(),
            "The set with these feature numbers (ascending): x Y + y, then X Y + x (Y + 1) Y + y' Y + y, "
            "then indices into `ngrams`. If labels have P parts, a unigram row has Y + P cells instead of Y.")
        .def_prop_ro(
            "numbers", [](const FeatureSet& f) { return copy<std::int64_t>(f.numbers()); }, nb::rv_policy::move)
        .def_static(
            "observed",
            [](const Corpus& corpus, const LabelParts* parts, bool zeros, int threads) {
                const int n = checked_threads(threads);
                const WithoutGil unlocked;
                return FeatureSet::observed(corpus, shared(parts), zeros, n);
            },
            "corpus"_a, "parts"_a.none() = nb::none(), nb::kw_only(), "zeros"_a = false, "threads"_a = 1,
            "The features that occur on the labelled paths. zeros: also those that occur only with value 0.")
        .def_static(
            "all_virtual",
            [](const Corpus& corpus, const LabelParts* parts) {
                return FeatureSet::all_virtual(corpus, shared(parts));
            },
            "corpus"_a, "parts"_a.none() = nb::none(), nb::call_guard<WithoutGil>(),
            "Every label, part and label pair of every attribute that occurs.")
        .def_ro("n_labels", &FeatureSet::n_labels)
        .def_ro("n_attributes", &FeatureSet::n_attributes)
        .def_prop_ro("n_parts", [](const FeatureSet& f) { return f.n_cells() - f.n_labels; })
        .def_prop_ro("class_cells",
                     [](const FeatureSet& f) {
                         return f.parts == nullptr ? std::vector<std::int32_t>() : class_cells(*f.parts);
                     })
        .def_prop_ro("parts",
                     [](const FeatureSet& f) { return f.parts == nullptr ? std::nullopt : std::optional(*f.parts); })
        .def_prop_ro("n_unigram", &FeatureSet::n_unigram)
        .def_prop_ro(
            "n_bigram", [](const FeatureSet& f) { return f.n_bigram() + f.n_class(); },
            "The number of pair features, including those of class pairs.")
        .def_prop_ro("n_class", &FeatureSet::n_class, "The number of class-pair features.")
        .def_prop_ro("n_ngram", &FeatureSet::n_ngram)
        .def_prop_ro("ngrams", &ngrams_of, nb::rv_policy::move,
                     "Attributes, lengths and concatenated labels of the label n-grams.")
        .def_prop_ro(
            "conditioning",
            [](const FeatureSet& f) {
                std::vector<std::uint32_t> found;
                for (std::uint32_t x = 0; x < f.n_attributes; ++x) {
                    if (f.conditions_pairs(x)) found.push_back(x);
                }
                return found;
            },
            "The attributes that condition label pairs or longer n-grams.")
        .def_prop_ro("size", &FeatureSet::size)
        .def("__len__", &FeatureSet::size)
        .def_prop_ro(
            "unigram_attribute", [](const FeatureSet& f) { return attribute_of_each({&f.unigram_ptr}); },
            nb::rv_policy::move)
        .def_prop_ro(
            "unigram_label", [](const FeatureSet& f) { return copy<std::int32_t>(f.unigram_label); },
            nb::rv_policy::move)
        .def_prop_ro(
            "bigram_attribute", [](const FeatureSet& f) { return attribute_of_each({&f.bigram_ptr, &f.class_ptr}); },
            nb::rv_policy::move)
        .def_prop_ro(
            "bigram_previous", [](const FeatureSet& f) { return side_of_each(f, true); }, nb::rv_policy::move)
        .def_prop_ro("bigram_label", [](const FeatureSet& f) { return side_of_each(f, false); }, nb::rv_policy::move);
}

}  // namespace sparsecrf::bindings
