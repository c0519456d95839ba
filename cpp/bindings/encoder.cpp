// Encodes Python sequences as a corpus, one at a time; keeps no Python objects.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "core/text/token_encoder.hpp"
#include "module.hpp"
#include "tokens.hpp"
#include "word_rows.hpp"

namespace sparsecrf::bindings {
namespace {

// None: no attribute of a token conditions label pairs. True: all do. Otherwise a predicate on the attribute. If the
// features of a model are given, they decide instead.
PairRule pair_rule(const nb::object& bigram, std::shared_ptr<const FeatureSet> features, bool has_template) {
    if (features) return PairRule::of_features(std::move(features));
    const bool all = bigram.ptr() == Py_True;
    if (all || bigram.is_none() || has_template) return PairRule::all(all);
    return PairRule::asking([bigram](std::string_view name) { return nb::cast<bool>(nb::bool_(bigram(name))); });
}

// Labels or weights, one per token.
struct Beside {
    Beside(nb::handle values, const Place& place, const char* expected) : given(!values.is_none()) {
        if (given) at = place.items(values, expected);
    }
    nb::object next(const Place& place, const char* what) {
        nb::object value = at.next();
        if (!value) throw InputError(place.text(), ": expected ", what, " for every token, found too few");
        return value;
    }
    bool has_more() { return given && at.next(); }

    bool given;
    Iteration at;
};

// The sequence being read.
struct Reading {
    Reading(TokenEncoder& owner, nb::handle labels, nb::handle weights, nb::handle token_weights)
        : encoder(owner),
          place{owner.begin(), Place::kWholeSequence},
          weight(place.number(weights, "a sequence weight to be a number")),
          label(labels, place, "an iterable of labels"),
          token_weight(token_weights, place, "an iterable of token weights") {}

    // Reads the label and the weight of the current position.
    void next_position() {
        const std::int32_t y = label.given ? label_id(label.next(place, "a label")) : kMissing;
        const double w = token_weight.given
                             ? place.number(token_weight.next(place, "a weight"), "a token weight to be a number")
                             : 1.0;
        encoder.add_position({y, w});
        ++place.position;
    }
    std::int32_t label_id(nb::handle found) const {
        if (found.is_none()) return kMissing;
        if (PyAnySet_Check(found.ptr())) return label_set(found);
        if (!PyUnicode_Check(found.ptr())) place.fail(kExpected, found);
        if (const auto id = encoder.label(place.utf8(found))) return *id;
        place.fail("a label of the model", found);
    }
    // Sort the names, because the order of a set differs between runs and new names get their ids here.
    std::int32_t label_set(nb::handle found) const {
        nb::list names(found);
        if (names.size() == 0) place.fail("a set of at least one label, or None where all are possible", found);
        for (const nb::handle name : names) {
            if (!PyUnicode_Check(name.ptr())) place.fail("labels that are text in a set", name);
        }
        names.sort();
        std::vector<std::int32_t> ids;
        for (const nb::handle name : names) ids.push_back(label_id(name));
        return encoder.label_set(std::move(ids));
    }
    // Returns the length of the sequence.
    std::int64_t end() {
        if (label.has_more())
            throw InputError(place.text(), ": expected one label per token, found more labels than tokens");
        if (token_weight.has_more())
            throw InputError(place.text(), ": expected one weight per token, found more weights than tokens");
        return encoder.end(weight);
    }

    static constexpr const char* kExpected = "a label (text, a set of text, or None where it is missing)";
    TokenEncoder& encoder;
    Place place;
    double weight;
    Beside label, token_weight;
};

}  // namespace

std::int64_t read_sequence(TokenEncoder& encoder, nb::handle tokens, nb::handle labels, nb::handle weight,
                           nb::handle token_weights) {
    Reading reading(encoder, labels, weight, token_weights);
    const Place& place = reading.place;
    // Reject a single token passed as a sequence: its names would be mistaken for tokens.
    if (nb::isinstance<nb::dict>(tokens)) place.fail("an iterable of tokens", tokens);
    Iteration all = place.items(tokens, "an iterable of tokens");
    reading.place.position = 0;
    std::size_t n_columns = 0;
    TokenText& text = encoder.tokens();
    while (const nb::object token = all.next()) {
        if (const Template* lines = encoder.lines()) {
            gather_row(token, n_columns, place, text);
            n_columns = text.entries.size() - text.begin(text.ends.size() - 1);
            if (place.position == 0) lines->check_columns(static_cast<std::int64_t>(n_columns), place.text());
        } else {
            gather(token, place, text);
        }
        reading.next_position();
    }
    return reading.end();
}

namespace {

// Reads sequences from Python objects and passes them to a TokenEncoder. Other Python threads can run while it encodes,
// if no thread adds to the tables and there is no Python predicate; it then reads several sequences before encoding
// them.
class Encoder {
   public:
    // The arguments are the same as for TokenEncoder::Options and pair_rule. grow: if false, unknown labels are an
    // error. frozen: no thread adds to the tables during the lifetime of the encoder, so the GIL may be released.
    Encoder(std::shared_ptr<StringTable> attributes, std::shared_ptr<StringTable> labels, const nb::object& bigram,
            const std::string& bias, bool start, bool grow, bool skip_empty, bool frozen,
            std::shared_ptr<const Template> lines, std::shared_ptr<const FeatureSet> features, const Words& words,
            int threads)
        : encoder_(std::move(attributes), std::move(labels),
                   {bias, start, grow, skip_empty, lines, pair_rule(bigram, std::move(features), lines != nullptr),
                    word_rows(words), checked_threads(threads)}),
          frozen_(frozen) {}

    // Returns the number of positions.
    std::int64_t add(nb::handle tokens, nb::handle labels, nb::handle weight, nb::handle token_weights) {
        const std::int64_t length = read_sequence(encoder_, tokens, labels, weight, token_weights);
        if (!can_wait() || encoder_.full()) encode_pending();
        return length;
    }

    // The same for rows of a CSR matrix. ptr: [T + 1]; column, value: [entries]; id: [columns] the attribute of each
    // column, or -1.
    std::int64_t add_matrix(Array1<std::int64_t> ptr, Array1<std::int32_t> column, Array1<double> value,
                            Array1<std::int64_t> id, nb::handle labels, nb::handle weight, nb::handle token_weights) {
        encode_pending();
        const MatrixRows rows{view(ptr), view(column), view(value), view(id)};
        Reading reading(encoder_, labels, weight, token_weights);
        reading.place.position = 0;
        for (std::size_t t = 0; t + 1 < rows.ptr.size(); ++t) {
            check_row(rows, t, reading.place);
            reading.next_position();
        }
        const std::int64_t length = reading.end();
        const Unlocked unlocked(*this);
        encoder_.encode(rows);
        return length;
    }

    std::shared_ptr<Corpus> build(bool sort_labels) {
        const Unlocked unlocked(*this);
        return std::make_shared<Corpus>(encoder_.build(sort_labels));
    }

   private:
    // Lets other Python threads run if that is safe.
    struct Unlocked {
        explicit Unlocked(const Encoder& self) {
            if (self.frozen_ && !self.encoder_.asks()) released.emplace();
        }
        std::optional<WithoutGil> released;
    };

    static void check_row(const MatrixRows& rows, std::size_t t, const Place& place) {
        const auto entries = static_cast<std::int64_t>(std::min(rows.column.size(), rows.value.size()));
        const std::int64_t first = rows.ptr[t], last = rows.ptr[t + 1];
        if (first < 0 || last < first || last > entries)
            throw InputError(place.text(), ": expected a CSR matrix, found rows that overlap its end");
        for (std::int64_t k = first; k < last; ++k) {
            const std::int32_t c = rows.column[static_cast<std::size_t>(k)];
            if (c < 0 || c >= static_cast<std::int64_t>(rows.id.size()))
                throw InputError(place.text(), ": expected a column below ", rows.id.size(), ", found ", c);
        }
    }

    // Whether sequences may be encoded later than they are read.
    bool can_wait() const { return frozen_ || (encoder_.lines() != nullptr && encoder_.last_is_plain()); }

    void encode_pending() {
        const Unlocked unlocked(*this);
        encoder_.encode();
    }

    TokenEncoder encoder_;
    bool frozen_;
};

}  // namespace

void bind_encoder(nb::module_& m) {
    nb::class_<Encoder>(m, "Encoder", "Builds a corpus from Python sequences without keeping references to them.")
        .def(nb::init<std::shared_ptr<StringTable>, std::shared_ptr<StringTable>, const nb::object&, const std::string&,
                      bool, bool, bool, bool, std::shared_ptr<const Template>, std::shared_ptr<const FeatureSet>,
                      const Words&, int>(),
             nb::kw_only(), "attributes"_a, "labels"_a, "bigram"_a.none(), "bias"_a, "start"_a, "grow"_a,
             "skip_empty"_a = false, "frozen"_a = false, "template"_a.none() = nb::none(),
             "features"_a.none() = nb::none(), "words"_a = nb::none(), "threads"_a = 1)
        .def("add", &Encoder::add, "tokens"_a.none(), "labels"_a.none() = nb::none(), "weight"_a.none() = 1.0,
             "token_weights"_a.none() = nb::none(), "Append a sequence; return its length.")
        .def("add_matrix", &Encoder::add_matrix, array("ptr"), array("column"), array("value"), array("id"),
             "labels"_a.none() = nb::none(), "weight"_a.none() = 1.0, "token_weights"_a.none() = nb::none(),
             "Append the rows of a CSR matrix. id: the attribute of each column, or -1.")
        .def("build", &Encoder::build, "sort_labels"_a = false,
             "The corpus of all sequences added since the last call. sort_labels: renumber labels by name.");
}

}  // namespace sparsecrf::bindings
