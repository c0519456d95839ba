// Encodes tokens as a corpus in two steps: sequences are first copied as text, then looked up. The second step does not
// access the source of the tokens, so other Python threads can run meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/corpus/string_table.hpp"
#include "core/inference/one_by_one.hpp"
#include "core/text/labelling/row_labeller.hpp"
#include "core/text/sequence_encoder.hpp"

namespace sparsecrf {

// The attributes of positions as text or, for a template, the cells of their rows.
struct TokenText {
    struct Entry {
        std::size_t begin, end;  // range in `text`
        double value;
    };
    std::string text;
    std::vector<Entry> entries;
    std::vector<std::size_t> ends;  // [positions] end of the entries of each position

    // Keeps only the first n_positions positions.
    void resize(std::size_t n_positions) {
        ends.resize(n_positions);
        entries.resize(n_positions == 0 ? 0 : ends.back());
        text.resize(entries.empty() ? 0 : entries.back().end);
    }
    std::size_t begin(std::size_t position) const { return position == 0 ? 0 : ends[position - 1]; }
    std::string_view name(std::size_t k) const {
        return std::string_view(text).substr(entries[k].begin, entries[k].end - entries[k].begin);
    }
};

// Decides which attributes of tokens condition label pairs, in addition to the bias.
class PairRule {
   public:
    using Predicate = std::function<bool(std::string_view)>;

    static PairRule all(bool all) { return {all, nullptr, {}}; }  // all attributes, or none
    // The attributes with a bigram feature in a model's feature set.
    static PairRule of_features(std::shared_ptr<const FeatureSet> features) { return {false, std::move(features), {}}; }
    // The attributes that the predicate selects; it is called once per attribute.
    static PairRule asking(Predicate predicate) { return {false, nullptr, std::move(predicate)}; }

    bool asks() const { return static_cast<bool>(predicate_); }
    bool of_model() const { return features_ != nullptr; }
    const FeatureSet* features() const { return features_.get(); }  // features of a model, or null
    // Whether attribute `id` of the table conditions label pairs.
    bool operator()(std::uint32_t id, const StringTable& names) {
        if (features_) return features_->conditions_pairs(id);
        return predicate_ ? ask(id, names) : all_;
    }

   private:
    enum Answer : char { kNotAsked, kYes, kNo };
    PairRule(bool all, std::shared_ptr<const FeatureSet> features, Predicate predicate)
        : all_(all), features_(std::move(features)), predicate_(std::move(predicate)) {}
    bool ask(std::uint32_t id, const StringTable& names);

    bool all_;
    std::shared_ptr<const FeatureSet> features_;
    Predicate predicate_;
    std::vector<Answer> answers_;  // results of the predicate, by attribute
};

// Rows of a CSR matrix, one per position.
struct MatrixRows {
    std::span<const std::int64_t> ptr;     // [T + 1]
    std::span<const std::int32_t> column;  // [entries]
    std::span<const double> value;         // [entries]
    std::span<const std::int64_t> id;      // [columns] attribute of each column, -1 if none
};

class TokenEncoder {
   public:
    struct Options {
        std::string bias;  // an attribute that conditions label pairs at every position, or empty; not with `lines`
        bool start;        // whether attributes of the first position condition the pair (start, label)
        bool grow;         // assign ids to unknown attributes and labels; otherwise leave out unknown attributes
        bool skip_empty;   // skip a sequence without tokens instead of throwing
        std::shared_ptr<const Template> lines;  // generates the attributes and determines which condition pairs; null:
                                                // no template
        PairRule pairs;       // used without `lines`; for a model also with `lines`, to skip those without features
        WordRows words = {};  // words of positions, whose vectors become dense columns
        int threads = 1;      // for rows with `lines`; 0 means all cores
    };
    TokenEncoder(std::shared_ptr<StringTable> attributes, std::shared_ptr<StringTable> labels, Options options);

    // ---- Reading: call begin; for each position, add its entries to tokens() and call add_position; then call end.
    // begin discards a sequence that was not ended and returns the number of the sequence.
    std::int64_t begin();
    TokenText& tokens() { return tokens_; }
    void add_position(SequenceEncoder::Label label) { labels_of_.push_back(label); }
    // Ends the sequence, which is then pending. Returns its length.
    std::int64_t end(double weight);
    // The id of a label, or nullopt if it is unknown.
    std::optional<std::int32_t> label(std::string_view name) const;
    // The label that denotes this set.
    std::int32_t label_set(std::vector<std::int32_t> ids) { return sequences_.builder().label_set(std::move(ids)); }

    // Whether enough positions are pending to justify releasing the GIL or waking threads. Releasing the GIL takes
    // longer than encoding a short sentence.
    bool full() const { return labels_of_.size() >= kMostPending; }
    // Whether `encode` cannot fail on the last sequence. Errors name the sequence being read, so a sequence that could
    // fail must not stay pending.
    bool last_is_plain() const;

    // ---- Encoding: accesses only the tables and, if there is one, calls the predicate.
    void encode();
    // Encodes the only pending sequence, whose attributes are in a matrix instead of tokens().
    void encode(const MatrixRows& rows);
    // Appends the best labels of all sequences ended since the last corpus and discards the sequences. Returns false,
    // without changes, if this needs a corpus. The overloads are for models without and with a template.
    bool label(OneByOne& decoder, std::vector<std::int32_t>& labels);
    bool label(RowLabeller& labeller, std::vector<std::int32_t>& labels);
    // The corpus of all sequences ended since the last call. sort_labels: renumber labels by name, so that ids do not
    // depend on the order of the data.
    Corpus build(bool sort_labels = false);

    const Template* lines() const { return options_.lines.get(); }
    bool asks() const { return options_.pairs.asks(); }

   private:
    static constexpr std::size_t kMostPending = 4096;  // positions

    // A sequence that has been read but not encoded.
    struct Pending {
        std::size_t end;  // end of its positions among all pending ones
        double weight;
    };
    void encode_rows();
    void encode_attributes();
    // Prepares the rows of all pending sequences, for `lines`.
    void read_rows();
    bool label(std::size_t sequence, OneByOne& decoder);
    void look_up(std::size_t position);
    void read_words(std::size_t first, std::size_t end);
    void add_known(std::uint32_t id, double value) { sequences_.add(id, value, options_.pairs(id, *attribute_table_)); }
    std::size_t first_of(std::size_t sequence) const { return sequence == 0 ? 0 : pending_[sequence - 1].end; }
    void sort_label_ids();

    std::shared_ptr<StringTable> attribute_table_, label_table_;
    Options options_;
    SequenceEncoder sequences_;
    // Sequences that have been read, and the one being read.
    std::vector<Pending> pending_;
    TokenText tokens_;                               // not used for matrices
    std::vector<SequenceEncoder::Label> labels_of_;  // [positions]
    std::vector<TextHash> hashes_;                   // used for the position being encoded
    std::vector<Rows> rows_;                         // [pending]; any further elements keep their memory for reuse
};

}  // namespace sparsecrf
