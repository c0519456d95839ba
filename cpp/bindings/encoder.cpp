// Python sequences to a corpus, one at a time; no Python object is kept.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "core/corpus/corpus.hpp"
#include "core/corpus/string_table.hpp"
#include "core/inference/chain.hpp"
#include "core/text/text_encoder.hpp"
#include "module.hpp"
#include "tokens.hpp"

namespace sparsecrf::bindings {
namespace {

// Sequences are first read from Python objects, then encoded; other Python threads run during the second part if no one
// can change its tables and it asks no Python predicate. Then several are read before it, since giving the interpreter
// away and getting it back costs more than a short sentence.
class Encoder {
   public:
    // grow: unknown attributes and labels get an id; otherwise attributes are left out and labels are an error.
    // bigram: None (no attribute of a token conditions label pairs), True (all do), or a predicate on the attribute,
    // called once for each. features: those of a model; then attributes that have a weight of label pairs do. bias: an attribute that conditions label pairs at every position, or empty.
    // start: whether bigram attributes of the first position condition the pair (start, label).
    // skip_empty: a sequence without tokens is left out instead of being an error.
    // frozen: nothing is ever added to the tables, by whomever.
    // lines: a template that makes the attributes, tokens being rows of columns; it also says which condition pairs.
    Encoder(std::shared_ptr<StringTable> attributes, std::shared_ptr<StringTable> labels, nb::object bigram,
            const std::string& bias, bool start, bool grow, bool skip_empty, bool frozen,
            std::shared_ptr<const Template> lines, std::shared_ptr<const FeatureSet> features)
        : attributes_(std::move(attributes)),
          labels_(std::move(labels)),
          bigram_(std::move(bigram)),
          all_pairs_(bigram_.ptr() == Py_True),
          asks_(!bigram_.is_none() && !all_pairs_ && !features && !lines),
          features_(std::move(features)),
          start_(start),
          grow_(grow),
          skip_empty_(skip_empty),
          frozen_(frozen),
          lines_(std::move(lines)),
          names_(attributes_, grow),
          expander_(names_, start) {
        if (bias.empty() || lines_) return;
        if (grow_) attributes_->intern(bias);
        if (const auto id = attributes_->find(bias)) bias_.push_back({*id, 1.0});
    }

    // Returns the number of positions.
    std::int64_t add(nb::handle tokens, nb::handle labels, nb::handle weight, nb::handle token_weights) {
        const Reading reading(*this);
        begin(labels, weight, token_weights);
        // A token in the place of a sequence: its names would pass for tokens.
        if (nb::isinstance<nb::dict>(tokens)) place_.fail("an iterable of tokens", tokens);
        const nb::iterator all = place_.iterate(tokens, "an iterable of tokens");
        place_.position = 0;
        std::size_t n_columns = 0;
        for (const nb::handle token : all) {
            if (lines_) {
                gather_row(token, n_columns, place_, gathered_);
                n_columns = gathered_.entries.size() - gathered_.begin(gathered_.ends.size() - 1);
                if (place_.position == 0) lines_->check_columns(static_cast<std::int64_t>(n_columns), place_.text());
            } else {
                gather(token, place_, gathered_);
            }
            read_beside();
        }
        const std::int64_t length = end();
        if (!frozen_ || y_.size() >= kMostPending) encode_pending();
        return length;
    }

    // The same for rows of a CSR matrix: ptr [T + 1], column and value [entries], id [columns] of the attribute that a
    // column stands for, -1: none.
    std::int64_t add_matrix(Array1<std::int64_t> ptr, Array1<std::int32_t> column, Array1<double> value,
                            Array1<std::int64_t> id, nb::handle labels, nb::handle weight, nb::handle token_weights) {
        encode_pending();
        const Reading reading(*this);
        begin(labels, weight, token_weights);
        place_.position = 0;
        const auto entries = static_cast<std::int64_t>(std::min(column.size(), value.size()));
        for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
            const std::int64_t first = ptr.data()[t], last = ptr.data()[t + 1];
            if (first < 0 || last < first || last > entries)
                throw InputError(message(place_.text(), ": expected a CSR matrix, found rows that overlap its end"));
            for (std::int64_t k = first; k < last; ++k) {
                const std::int32_t c = column.data()[k];
                if (c < 0 || c >= static_cast<std::int64_t>(id.size()))
                    throw InputError(message(place_.text(), ": expected a column below ", id.size(), ", found ", c));
            }
            read_beside();
        }
        const std::int64_t length = end();
        const Unlocked unlocked(*this);
        encode(pending_.back(), 0, [&](std::size_t t) {
            b_ = bias_;
            for (std::int64_t k = ptr.data()[t]; k < ptr.data()[t + 1]; ++k) {
                const std::int64_t x = id.data()[column.data()[k]];
                if (x >= 0 && value.data()[k] != 0.0) add_known(static_cast<std::uint32_t>(x), value.data()[k]);
            }
        });
        pending_.clear();
        return length;
    }

    // sort_labels: their ids become those of their order by name, so that the order of the data does not show.
    std::shared_ptr<Corpus> build(bool sort_labels) {
        if (!frozen_) encode_pending();
        if (sort_labels) sort();
        const Unlocked unlocked(*this);
        return std::make_shared<Corpus>(built());
    }

    // The best labels of all sequences added, by id, one after the other. Other threads run all the time.
    Result<std::int32_t, 1> viterbi(const Chain& chain) {
        std::vector<std::int32_t> labels;
        {
            const Unlocked unlocked(*this);
            const Corpus corpus = built();
            std::vector<double> scores(static_cast<std::size_t>(corpus.n_sequences()));
            labels.resize(static_cast<std::size_t>(corpus.n_tokens()));
            chain.viterbi(corpus, Constraints(), labels, scores);
        }
        return copy<std::int32_t>(labels);
    }

   private:
    static constexpr std::size_t kMostPending = 4096;  // positions

    // A sequence that has been read and not yet encoded.
    struct Pending {
        std::size_t end;  // of its positions among all that are pending
        double weight;
    };

    // What comes with the tokens, one for each.
    struct Beside {
        bool given = false;
        nb::iterator at{};
    };
    Beside beside(nb::handle values, const char* expected) const {
        if (values.is_none()) return {};
        return {true, place_.iterate(values, expected)};
    }
    nb::object next(Beside& values, const char* what) const {
        if (values.at == nb::iterator::sentinel())
            throw InputError(message(place_.text(), ": expected ", what, " for every token, found no more"));
        const nb::object value = nb::borrow(*values.at);
        ++values.at;
        return value;
    }

    // Other Python threads run meanwhile, if that can do no harm.
    struct Unlocked {
        explicit Unlocked(const Encoder& encoder) {
            if (encoder.frozen_ && !encoder.asks_) released.emplace();
        }
        std::optional<nb::gil_scoped_release> released;
    };

    // Lets go of what comes with the tokens, also if they could not be read.
    struct Reading {
        explicit Reading(Encoder& owner) : encoder(owner) {}
        ~Reading() { encoder.label_ = encoder.token_weight_ = {}; }
        Reading(const Reading&) = delete;
        Reading& operator=(const Reading&) = delete;
        Encoder& encoder;
    };

    // Reading of a sequence begins. What is left of one that could not be read is forgotten.
    void begin(nb::handle labels, nb::handle weight, nb::handle token_weights) {
        const std::size_t n = pending_.empty() ? 0 : pending_.back().end;
        gathered_.resize(std::min(n, gathered_.ends.size()));
        y_.resize(n);
        w_.resize(n);
        place_ = {builder_.n_seen() + static_cast<std::int64_t>(pending_.size()), Place::kWholeSequence};
        weight_ = place_.number(weight, "a sequence weight to be a number");
        label_ = beside(labels, "an iterable of labels");
        token_weight_ = beside(token_weights, "an iterable of token weights");
    }

    // Label and weight of the position that has been read.
    void read_beside() {
        y_.push_back(label_.given ? label_id(next(label_, "a label")) : kMissing);
        w_.push_back(token_weight_.given
                         ? place_.number(next(token_weight_, "a weight"), "a token weight to be a number")
                         : 1.0);
        ++place_.position;
    }

    // The sequence has been read. Returns its length.
    std::int64_t end() {
        if (label_.given && label_.at != nb::iterator::sentinel())
            throw InputError(
                message(place_.text(), ": expected no token beyond the last label, found more labels than tokens"));
        if (token_weight_.given && token_weight_.at != nb::iterator::sentinel())
            throw InputError(message(place_.text(), ": expected one weight a token, found more"));
        const std::size_t before = pending_.empty() ? 0 : pending_.back().end;
        pending_.push_back({y_.size(), weight_});
        return static_cast<std::int64_t>(y_.size() - before);
    }

    Corpus built() {
        look_up_pending();
        return builder_.build(labels_->size(), attributes_->size());
    }

    void encode_pending() {
        const Unlocked unlocked(*this);
        look_up_pending();
    }

    void look_up_pending() {
        std::size_t first = 0;
        Rows rows;
        try {
            for (const Pending& sequence : pending_) {
                if (lines_) rows = rows_of(first, sequence.end);
                encode(sequence, first, [&](std::size_t t) {
                    if (lines_) {
                        expander_.expand(*lines_, rows, static_cast<std::int64_t>(t - first), u_, b_);
                    } else {
                        look_up(t);
                    }
                });
                first = sequence.end;
            }
        } catch (...) {
            pending_.clear();
            throw;
        }
        pending_.clear();
    }

    // The cells of positions first to end - 1.
    Rows rows_of(std::size_t first, std::size_t end) const {
        Rows rows;
        rows.length = static_cast<std::int64_t>(end - first);
        if (rows.length == 0) return rows;
        rows.n_columns = static_cast<std::int64_t>(gathered_.ends[first] - gathered_.begin(first));
        for (std::size_t k = gathered_.begin(first); k < gathered_.ends[end - 1]; ++k) {
            rows.cells.push_back(gathered_.name(k));
            rows.hashes.emplace_back(rows.cells.back());
        }
        return rows;
    }

    // A sequence that has been read; fill(t) puts the attributes of position t into u_ and b_.
    template <class Fill>
    void encode(const Pending& sequence, std::size_t first, const Fill& fill) {
        u_.clear();
        b_.clear();
        builder_.begin_sequence(sequence.weight);
        try {
            for (std::size_t t = first; t < sequence.end; ++t) {
                fill(t);
                if (t == first && !start_) b_.clear();
                builder_.add_position(u_, b_, y_[t], w_[t]);
            }
            if (sequence.end == first && skip_empty_) {
                builder_.skip_sequence();
            } else {
                builder_.end_sequence();
            }
        } catch (...) {
            builder_.abandon_sequence();
            throw;
        }
    }

    // All hashes of a position before its first look-up: the memory that look-ups need is on its way when they come.
    void look_up(std::size_t t) {
        const std::size_t first = gathered_.begin(t), end = gathered_.ends[t];
        hashes_.clear();
        for (std::size_t k = first; k < end; ++k) {
            hashes_.emplace_back(gathered_.name(k));
            names_.prefetch(hashes_.back());
        }
        b_ = bias_;
        for (std::size_t k = first; k < end; ++k) {
            const std::string_view name = gathered_.name(k);
            const std::int64_t id = names_.id({&name, 1}, hashes_[k - first]);
            if (id != Names::kUnknown) add_known(static_cast<std::uint32_t>(id), gathered_.entries[k].value);
        }
    }

    void add_known(std::uint32_t id, double value) {
        u_.push_back({id, value});
        const bool is_bias = !bias_.empty() && bias_.front().id == id;  // it is in b_ already
        if (!is_bias && conditions_pairs(id)) b_.push_back({id, value});
    }

    bool conditions_pairs(std::uint32_t id) {
        if (features_) return !features_->bigram_pairs_of(id).empty();
        if (!asks_) return all_pairs_;
        if (id >= pairs_.size()) pairs_.resize(std::max<std::size_t>(id + 1, attributes_->size()), kUnknown);
        if (pairs_[id] == kUnknown) pairs_[id] = nb::cast<bool>(nb::bool_(bigram_((*attributes_)[id]))) ? kYes : kNo;
        return pairs_[id] == kYes;
    }

    std::int32_t label_id(nb::handle label) {
        if (label.is_none()) return kMissing;
        if (!PyUnicode_Check(label.ptr())) place_.fail("a label (text, or None where it is missing)", label);
        const std::string_view name = place_.utf8(label);
        if (grow_) return static_cast<std::int32_t>(labels_->intern(name));
        if (const auto id = labels_->find(name)) return static_cast<std::int32_t>(*id);
        place_.fail("a label of the model", label);
    }

    void sort() {
        std::vector<std::uint32_t> order(labels_->size());  // [Y] old ids by name
        std::iota(order.begin(), order.end(), 0u);
        std::sort(order.begin(), order.end(), [&](auto a, auto b) { return (*labels_)[a] < (*labels_)[b]; });
        std::vector<std::int32_t> to(order.size());
        StringTable sorted;
        for (const std::uint32_t y : order) to[y] = static_cast<std::int32_t>(sorted.intern((*labels_)[y]));
        builder_.rename_labels(to);
        *labels_ = std::move(sorted);
    }

    enum Answer : char { kUnknown, kYes, kNo };
    std::shared_ptr<StringTable> attributes_, labels_;
    nb::object bigram_;
    bool all_pairs_, asks_;  // every attribute conditions pairs; bigram_ says which
    std::shared_ptr<const FeatureSet> features_;
    bool start_, grow_, skip_empty_, frozen_;
    std::shared_ptr<const Template> lines_;
    Names names_;  // of attributes_
    Expander expander_;
    std::vector<Attribute> bias_;
    std::vector<Answer> pairs_;  // the predicate's answers by attribute
    CorpusBuilder builder_;
    // Sequences that have been read.
    std::vector<Pending> pending_;
    Gathered gathered_;            // their tokens; not of matrices
    std::vector<std::int32_t> y_;  // [positions]
    std::vector<double> w_;        // [positions]
    // The one that is being read.
    Place place_;
    double weight_ = 1.0;
    Beside label_, token_weight_;
    // A position that is being encoded.
    std::vector<Attribute> u_, b_;
    std::vector<TextHash> hashes_;
};

}  // namespace

void bind_encoder(nb::module_& m) {
    nb::class_<Encoder>(m, "Encoder", "Builds a corpus from Python sequences, keeping none of them.")
        .def(nb::init<std::shared_ptr<StringTable>, std::shared_ptr<StringTable>, nb::object, const std::string&, bool,
                      bool, bool, bool, std::shared_ptr<const Template>, std::shared_ptr<const FeatureSet>>(),
             nb::kw_only(), nb::arg("attributes"), nb::arg("labels"), nb::arg("bigram").none(), nb::arg("bias"),
             nb::arg("start"), nb::arg("grow"), nb::arg("skip_empty") = false, nb::arg("frozen") = false,
             nb::arg("template").none() = nb::none(), nb::arg("features").none() = nb::none())
        .def("add", &Encoder::add, nb::arg("tokens").none(), nb::arg("labels").none() = nb::none(),
             nb::arg("weight").none() = 1.0, nb::arg("token_weights").none() = nb::none(),
             "Append a sequence; returns its length.")
        .def("add_matrix", &Encoder::add_matrix, nb::arg("ptr").noconvert(), nb::arg("column").noconvert(),
             nb::arg("value").noconvert(), nb::arg("id").noconvert(), nb::arg("labels").none() = nb::none(),
             nb::arg("weight").none() = 1.0, nb::arg("token_weights").none() = nb::none(),
             "Append the rows of a CSR matrix; id: the attribute of each column, -1: none.")
        .def("viterbi", &Encoder::viterbi, nb::arg("chain"),
             "The best labels of all sequences added, by id; the encoder is empty again.")
        .def("build", &Encoder::build, nb::arg("sort_labels") = false,
             "The corpus of all sequences added; the encoder is empty again. sort_labels: new ids by name.");
}

}  // namespace sparsecrf::bindings
