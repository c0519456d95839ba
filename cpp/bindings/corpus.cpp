#include "core/corpus/corpus.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>

#include "arrays.hpp"
#include "core/corpus/corpus_file.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

template <class T>
using Optional = std::optional<Array1<T>>;

// One of the two attribute lists of every position, as a CSR matrix.
struct Csr {
    Array1<std::int64_t> ptr;
    Array1<std::int32_t> id;
    Optional<double> value;
    const char* kind;

    void check(std::int64_t n_positions) const {
        if (static_cast<std::int64_t>(ptr.size()) != n_positions + 1) {
            throw InputError(kind, "_ptr: expected ", n_positions + 1, " entries for ", n_positions,
                             " positions, found ", ptr.size());
        }
        const std::int64_t* p = ptr.data();
        if (p[0] != 0) throw InputError(kind, "_ptr: expected the first entry to be 0, found ", p[0]);
        if (p[n_positions] != static_cast<std::int64_t>(id.size())) {
            throw InputError(kind, "_ptr: expected the last entry to be ", id.size(), ", the length of ", kind,
                             "_id, found ", p[n_positions]);
        }
        expect_length(value, id.size(), message(kind, "_value"));
    }
    void fill(std::int64_t position, std::int64_t i, std::int64_t t, std::vector<Attribute>& out) const {
        const std::int64_t begin = ptr.data()[position], end = ptr.data()[position + 1];
        if (begin > end || begin < 0 || end > static_cast<std::int64_t>(id.size())) {
            throw InputError("sequence ", i, ", position ", t, ": expected ", kind, "_ptr not to decrease, found ",
                             begin, " then ", end);
        }
        for (std::int64_t k = begin; k < end; ++k) {
            if (id.data()[k] < 0) {
                throw InputError("sequence ", i, ", position ", t, ": expected a ", kind, " attribute >= 0, found ",
                                 id.data()[k]);
            }
            out.push_back({static_cast<std::uint32_t>(id.data()[k]), value ? value->data()[k] : 1.0});
        }
    }
};

// Adds the label sets of a CSR matrix to the builder. Returns the label that denotes each set; row 0 means missing.
std::vector<std::int32_t> label_sets(CorpusBuilder& builder, const Optional<std::int64_t>& ptr,
                                     const Optional<std::int32_t>& id) {
    std::vector<std::int32_t> made;
    if (!ptr || !id) return made;
    for (std::size_t s = 0; s + 1 < ptr->size(); ++s) {
        const std::int64_t begin = ptr->data()[s], end = ptr->data()[s + 1];
        if (begin < 0 || end < begin || end > static_cast<std::int64_t>(id->size())) {
            throw InputError("label_set_ptr: expected numbers that increase to ", id->size(),
                             ", the length of label_set_id, found ", begin, " then ", end);
        }
        made.push_back(s == 0 ? kMissing : builder.label_set({id->data() + begin, id->data() + end}));
    }
    return made;
}

std::shared_ptr<Corpus> from_arrays(std::int64_t n_labels, std::int64_t n_attributes, Array1<std::int64_t> lengths,
                                    Array1<std::int64_t> unigram_ptr, Array1<std::int32_t> unigram_id,
                                    Array1<std::int64_t> bigram_ptr, Array1<std::int32_t> bigram_id,
                                    Optional<double> unigram_value, Optional<double> bigram_value,
                                    Optional<std::int32_t> labels, Optional<double> sequence_weight,
                                    Optional<double> token_weight, Optional<std::int64_t> label_set_ptr,
                                    Optional<std::int32_t> label_set_id) {
    check_aligned(lengths, unigram_ptr, unigram_id, bigram_ptr, bigram_id, unigram_value, bigram_value, labels,
                  sequence_weight, token_weight, label_set_ptr, label_set_id);
    const WithoutGil unlocked;
    std::int64_t n_positions = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (lengths.data()[i] < 1) {
            throw InputError("sequence ", i, ": expected a length of at least 1, found ", lengths.data()[i]);
        }
        if (lengths.data()[i] > std::int64_t{1} << 40) {
            throw InputError("sequence ", i, ": expected a length of at most 2^40, found ", lengths.data()[i]);
        }
        n_positions += lengths.data()[i];
    }
    const Csr unigram{unigram_ptr, unigram_id, unigram_value, "unigram"};
    const Csr bigram{bigram_ptr, bigram_id, bigram_value, "bigram"};
    unigram.check(n_positions);
    bigram.check(n_positions);
    expect_length(labels, static_cast<std::size_t>(n_positions), "labels");
    expect_length(sequence_weight, lengths.size(), "sequence_weight");
    expect_length(token_weight, static_cast<std::size_t>(n_positions), "token_weight");

    CorpusBuilder builder;
    const std::vector<std::int32_t> sets = label_sets(builder, label_set_ptr, label_set_id);
    const auto label = [&](std::int64_t at) {
        const std::int32_t y = labels ? labels->data()[at] : kMissing;
        return y < kMissing && label_set_of(y) < sets.size() ? sets[label_set_of(y)] : y;
    };
    std::vector<Attribute> u, b;
    std::int64_t position = 0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(lengths.size()); ++i) {
        builder.begin_sequence(sequence_weight ? sequence_weight->data()[i] : 1.0);
        for (std::int64_t t = 0; t < lengths.data()[i]; ++t, ++position) {
            unigram.fill(position, i, t, u);
            bigram.fill(position, i, t, b);
            builder.add_position(u, b, label(position), token_weight ? token_weight->data()[position] : 1.0);
        }
        builder.end_sequence();
    }
    return std::make_shared<Corpus>(builder.build(n_labels, n_attributes));
}

// Stores the attribute list of every position, of(t), as the three arrays of a CSR matrix.
template <class ListOf>
void put_csr(nb::dict& out, const std::string& kind, std::int64_t n_positions, ListOf of) {
    std::vector<std::int64_t> ptr{0};
    std::vector<std::int32_t> id;
    std::vector<double> value;
    for (std::int64_t t = 0; t < n_positions; ++t) {
        for (const Attribute& a : of(t)) {
            id.push_back(static_cast<std::int32_t>(a.id));
            value.push_back(a.value);
        }
        ptr.push_back(static_cast<std::int64_t>(id.size()));
    }
    out[(kind + "_ptr").c_str()] = nb::cast(copy<std::int64_t>(ptr));
    out[(kind + "_id").c_str()] = nb::cast(copy<std::int32_t>(id));
    out[(kind + "_value").c_str()] = nb::cast(copy<double>(value));
}

nb::dict to_arrays(const Corpus& c) {
    nb::dict out;
    out["n_labels"] = c.n_labels;
    out["n_attributes"] = c.n_attributes;
    auto lengths = make<std::int64_t>(c.n_sequences());
    for (std::int64_t i = 0; i < c.n_sequences(); ++i) lengths.data()[i] = c.length(i);
    out["lengths"] = nb::cast(lengths);
    put_csr(out, "unigram", c.n_tokens(), [&](std::int64_t t) { return c.unigram_attributes(t); });
    put_csr(out, "bigram", c.n_tokens(), [&](std::int64_t t) { return c.bigram_attributes(t); });
    out["labels"] = nb::cast(copy<std::int32_t>(c.labels));
    out["sequence_weight"] = c.sequence_weight.empty() ? nb::none() : nb::cast(copy<double>(c.sequence_weight));
    out["token_weight"] = c.token_weight.empty() ? nb::none() : nb::cast(copy<double>(c.token_weight));
    if (c.label_sets.size() > 1) {
        out["label_set_ptr"] = nb::cast(copy<std::int64_t>(c.label_sets.ptr()));
        out["label_set_id"] = nb::cast(copy<std::int32_t>(c.label_sets.ids()));
    }
    return out;
}

Corpus with_dense(const Corpus& c, const Array2<float>& values, const Array1<std::int64_t>& attributes) {
    if (static_cast<std::int64_t>(values.shape(0)) != c.n_tokens() || values.shape(1) != attributes.size()) {
        throw InputError("dense: expected ", c.n_tokens(), " rows of ", attributes.size(), " numbers, found shape (",
                         values.shape(0), ", ", values.shape(1), ")");
    }
    std::vector<std::uint32_t> ids;
    for (const std::int64_t x : view(attributes)) {
        ids.push_back(x < 0 || x > kMaxAttributes ? kNoAttribute : static_cast<std::uint32_t>(x));
    }
    const std::span<const float> numbers = view(values);
    return c.with_dense({numbers.begin(), numbers.end()}, std::move(ids));
}

// The arrays of `to_arrays`, plus dense columns.
nb::dict state_of(const Corpus& c) {
    nb::dict out = to_arrays(c);
    if (c.n_dense == 0) return out;
    auto values = make<float>(c.n_tokens(), c.n_dense);
    std::copy(c.dense.begin(), c.dense.end(), values.data());
    out["dense"] = nb::cast(values);
    auto ids = make<std::int64_t>(c.dense_attributes.size());
    for (std::size_t j = 0; j < c.dense_attributes.size(); ++j) {
        ids.data()[j] = c.dense_attributes[j] == kNoAttribute ? -1 : std::int64_t{c.dense_attributes[j]};
    }
    out["dense_attributes"] = nb::cast(ids);
    return out;
}

std::int64_t n_bytes(const Corpus& c) {
    std::int64_t sum = 8 * c.n_sequences() + (16 + 4 * c.n_dense) * c.n_tokens();
    for (const ListPool* lists : {&c.unigram_lists, &c.base_lists, &c.rest_lists}) {
        sum += 8 * static_cast<std::int64_t>(lists->size()) + (lists->has_values() ? 12 : 4) * lists->n_entries();
    }
    return sum;
}

// Called by pickle on an empty object. Arrays from a message may be misaligned.
void from_state(Corpus& self, const nb::dict& state) {
    const nb::object require = nb::module_::import_("numpy").attr("require");
    const auto array = [&](const char* name) -> nb::object {
        const nb::object found = state[name];
        return found.is_none() ? found : require(found, nb::none(), "A");
    };
    const auto ints = [&](const char* name) { return nb::cast<Array1<std::int64_t>>(array(name)); };
    const auto ids = [&](const char* name) { return nb::cast<Array1<std::int32_t>>(array(name)); };
    const auto numbers = [&](const char* name) { return nb::cast<Optional<double>>(array(name)); };
    const std::shared_ptr<Corpus> made = from_arrays(
        nb::cast<std::int64_t>(state["n_labels"]), nb::cast<std::int64_t>(state["n_attributes"]), ints("lengths"),
        ints("unigram_ptr"), ids("unigram_id"), ints("bigram_ptr"), ids("bigram_id"), numbers("unigram_value"),
        numbers("bigram_value"), ids("labels"), numbers("sequence_weight"), numbers("token_weight"),
        state.contains("label_set_ptr") ? Optional<std::int64_t>(ints("label_set_ptr")) : std::nullopt,
        state.contains("label_set_id") ? Optional<std::int32_t>(ids("label_set_id")) : std::nullopt);
    if (state.contains("dense")) {
        const auto values = nb::cast<Array2<float>>(array("dense"));
        *made = with_dense(*made, values, ints("dense_attributes"));
    }
    new (&self) Corpus(std::move(*made));
}

}  // namespace

void bind_corpus(nb::module_& m) {
    nb::class_<Corpus>(m, "Corpus", "Encoded sequences; immutable.")
        .def_static("from_arrays", &from_arrays, nb::kw_only(), "n_labels"_a, "n_attributes"_a, array("lengths"),
                    array("unigram_ptr"), array("unigram_id"), array("bigram_ptr"), array("bigram_id"),
                    array("unigram_value") = nb::none(), array("bigram_value") = nb::none(),
                    array("labels") = nb::none(), array("sequence_weight") = nb::none(),
                    array("token_weight") = nb::none(), array("label_set_ptr") = nb::none(),
                    array("label_set_id") = nb::none(),
                    "Build from CSR arrays: lengths int64[N], *_ptr int64[P+1], *_id int32, *_value float64,\n"
                    "labels int32[P] (-1: missing), sequence_weight float64[N], token_weight float64[P].\n"
                    "A label -1 - s, s > 0, denotes set s of candidate labels: label_set_ptr int64[S+1],\n"
                    "label_set_id int32; set 0 is empty.")
        .def("to_arrays", &to_arrays, nb::sig("def to_arrays(self) -> dict[str, typing.Any]"),
             "The arguments of `from_arrays`; lists are sorted, and repeated attributes are summed.")
        .def("__getstate__", &state_of, nb::sig("def __getstate__(self) -> dict[str, typing.Any]"))
        .def("__setstate__", &from_state, nb::sig("def __setstate__(self, state: dict[str, typing.Any], /) -> None"))
        .def(
            "subset",
            [](const Corpus& c, Array1<std::int64_t> sequences) {
                return std::make_shared<Corpus>(c.subset(view(sequences)));
            },
            nb::call_guard<WithoutGil>(), array("sequences"),
            "The sequences with these indices (int64), in this order; labels and attributes keep their ids.")
        .def(
            "with_dense",
            [](const Corpus& c, Array2<float> values, Array1<std::int64_t> attributes) {
                return std::make_shared<Corpus>(with_dense(c, values, attributes));
            },
            nb::call_guard<WithoutGil>(), array("values"), array("attributes"),
            "A copy with dense columns: values float32[P, d], and the attribute of each column (int64[d], "
            "-1: none).")
        .def_ro("n_dense", &Corpus::n_dense, "The number of dense columns.")
        .def_prop_ro(
            "all_labels_count",
            [](const Corpus& c) {
                return c.token_weight.empty() && std::all_of(c.labels.begin(), c.labels.end(), is_known);
            },
            "Whether all labels are known and there are no token weights.")
        .def_prop_ro(
            "n_free",
            [](const Corpus& c) {
                std::int64_t n = 0;
                for (std::int64_t t = 0; t < c.n_tokens(); ++t) n += c.is_free(t);
                return n;
            },
            "The number of tokens whose label is missing or whose label set contains all labels.")
        .def_prop_ro("has_values", &Corpus::has_values, "Whether any attribute may have a value other than 1.")
        .def_prop_ro(
            "words", [](const Corpus& c) { return copy<std::int32_t>(c.words); }, nb::rv_policy::move,
            "The word number of each position, if the encoder was given `words`; otherwise empty.")
        .def_prop_ro(
            "dense_attributes",
            [](const Corpus& c) {
                std::vector<std::int64_t> known;
                for (const std::uint32_t x : c.dense_attributes) {
                    if (x != kNoAttribute) known.push_back(x);
                }
                return copy<std::int64_t>(known);
            },
            nb::rv_policy::move, "The attribute of each dense column.")
        .def(
            "save", [](const Corpus& c, const std::filesystem::path& path) { return save_corpus(c, path); },
            nb::call_guard<WithoutGil>(), "path"_a, nb::sig("def save(self, path: str | os.PathLike[str]) -> int"),
            "Write the corpus atomically to a file for `open` on this machine; return its digest.")
        .def_static(
            "open",
            [](const std::filesystem::path& path, std::optional<std::int64_t> n_labels,
               std::optional<std::int64_t> n_attributes, std::optional<std::uint64_t> digest, bool copy) {
                const WithoutGil unlocked;
                const auto kind = copy ? FileMemory::Kind::kCopy : FileMemory::Kind::kMapped;
                return std::make_shared<Corpus>(open_corpus(path, {n_labels, n_attributes, digest, kind}));
            },
            "path"_a, nb::kw_only(), "n_labels"_a = nb::none(), "n_attributes"_a = nb::none(), "digest"_a = nb::none(),
            "copy"_a = false,
            nb::sig("def open(path: str | os.PathLike[str], *, n_labels: int | None = None, "
                    "n_attributes: int | None = None, digest: int | None = None, copy: bool = False) -> Corpus"),
            "Open a memory-mapped corpus file: pages are read on demand. The file must not be truncated\n"
            "while it is mapped; with `copy` it is read into memory at once and may change afterwards.\n"
            "The counts may be larger than when the corpus was saved, because a vocabulary can grow.\n"
            "digest: the value returned by `save`.")
        .def_prop_ro("fingerprint", &Corpus::fingerprint, nb::call_guard<WithoutGil>(),
                     "A 64-bit hash of the whole corpus.")
        .def_prop_ro("n_sequences", &Corpus::n_sequences)
        .def_prop_ro("n_tokens", &Corpus::n_tokens)
        .def_prop_ro("n_weighted_tokens", &Corpus::n_weighted_tokens, "The number of tokens with a nonzero weight.")
        .def_prop_ro("n_bytes", &n_bytes, "Approximate memory use in bytes.")
        .def_ro("n_labels", &Corpus::n_labels)
        .def_ro("n_attributes", &Corpus::n_attributes)
        .def_prop_ro(
            "n_unigram_lists", [](const Corpus& c) { return c.unigram_lists.size(); },
            "The number of distinct unigram lists, including the empty one.")
        .def_prop_ro(
            "n_base_lists", [](const Corpus& c) { return c.base_lists.size(); },
            "The number of distinct base parts of bigram lists, including the empty one.")
        .def_prop_ro(
            "n_rest_lists", [](const Corpus& c) { return c.rest_lists.size(); },
            "The number of distinct rest parts of bigram lists, including the empty one.")
        .def_prop_ro(
            "offsets", [](const Corpus& c) { return copy<std::int64_t>(c.offsets); }, nb::rv_policy::move)
        .def_prop_ro(
            "labels",
            [](const Corpus& c) {
                auto out = make<std::int32_t>(c.labels.size());
                std::transform(c.labels.begin(), c.labels.end(), out.data(),
                               [](std::int32_t y) { return std::max(y, kMissing); });
                return out;
            },
            nb::rv_policy::move, "int32[P]; -1 if the label is missing or a set of candidates.");
}

}  // namespace sparsecrf::bindings
