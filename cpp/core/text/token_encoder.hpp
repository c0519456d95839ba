// From tokens to a corpus, in two steps. Sequences are first copied as text, then looked up: the second step needs
// nothing of whoever the tokens came from, and other Python threads can run during it.
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
#include "core/text/row_labeller.hpp"
#include "core/text/sequence_encoder.hpp"

namespace sparsecrf {

// The attributes of positions (or, for a template, the cells of their rows) as text.
struct TokenText {
    struct Entry {
        std::size_t begin, end;  // in `text`
        double value;
    };
    std::string text;
    std::vector<Entry> entries;
    std::vector<std::size_t> ends;  // [positions] the end of each one's entries

    // Keeps the first positions only.
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

// Which attributes of tokens condition label pairs, beside the bias.
class PairRule {
   public:
    using Predicate = std::function<bool(std::string_view)>;

    static PairRule all(bool all) { return {all, nullptr, {}}; }  // all of them, or none
    // Those with a bigram feature in the set of a model.
    static PairRule of_features(std::shared_ptr<const FeatureSet> features) { return {false, std::move(features), {}}; }
    // Those chosen by the predicate, which is called once for each attribute.
    static PairRule asking(Predicate predicate) { return {false, nullptr, std::move(predicate)}; }

    bool asks() const { return static_cast<bool>(predicate_); }
    bool of_model() const { return features_ != nullptr; }
    const FeatureSet* features() const { return features_.get(); }  // of a model, or null
    // Of attribute `id` of the table.
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

// Rows of a CSR matrix, one a position.
struct MatrixRows {
    std::span<const std::int64_t> ptr;     // [T + 1]
    std::span<const std::int32_t> column;  // [entries]
    std::span<const double> value;         // [entries]
    std::span<const std::int64_t> id;      // [columns] the attribute that a column stands for, -1: none
};

class TokenEncoder {
   public:
    struct Options {
        std::string bias;  // an attribute that conditions label pairs at every position, or empty; not with `lines`
        bool start;        // whether attributes of the first position condition the pair (start, label)
        bool grow;         // unknown attributes and labels get an id; otherwise attributes are left out
        bool skip_empty;   // a sequence without tokens is left out instead of being an error
        std::shared_ptr<const Template> lines;  // makes the attributes and says which condition pairs; null: none
        PairRule pairs;                         // without `lines`; of a model with them, too: which of them can matter
        WordRows words = {};                    // of positions, whose vectors are dense columns
        int threads = 1;                        // that work on rows for `lines`; 0: as many as there are cores
    };
    TokenEncoder(std::shared_ptr<StringTable> attributes, std::shared_ptr<StringTable> labels, Options options);

    // ---- Reading: begin; for each position its entries into tokens(), then add_position; end.
    // What is left of a sequence that was not ended is forgotten. Returns the number of the sequence.
    std::int64_t begin();
    TokenText& tokens() { return tokens_; }
    void add_position(SequenceEncoder::Label label) { labels_of_.push_back(label); }
    // Returns the length of the sequence, which is now pending.
    std::int64_t end(double weight);
    // The id of a label; none if it is unknown.
    std::optional<std::int32_t> label(std::string_view name) const;
    // What stands for one of these labels.
    std::int32_t label_set(std::vector<std::int32_t> ids) { return sequences_.builder().label_set(std::move(ids)); }

    // Whether enough positions are pending for encoding to be worth giving the GIL away, which costs more than a short
    // sentence, or worth waking threads.
    bool full() const { return labels_of_.size() >= kMostPending; }
    // Whether nothing can be wrong with the last sequence that `encode` would find: an error names the sequence that is
    // being read, so none may be left for later.
    bool last_is_plain() const;

    // ---- Encoding: nothing is read but the tables, and the predicate if there is one.
    void encode();
    // The pending sequence, the only one, whose attributes are not in tokens() but in a matrix.
    void encode(const MatrixRows& rows);
    // Appends the best labels of all sequences ended since the last corpus, which are then forgotten. Returns false
    // where that needs a corpus: nothing has changed then. Without a template, and with one:
    bool label(OneByOne& decoder, std::vector<std::int32_t>& labels);
    bool label(RowLabeller& labeller, std::vector<std::int32_t>& labels);
    // The corpus of all sequences ended since the last one. sort_labels: the ids of labels become those of their order
    // by name, so that the order of the data does not show.
    Corpus build(bool sort_labels = false);

    const Template* lines() const { return options_.lines.get(); }
    bool asks() const { return options_.pairs.asks(); }

   private:
    static constexpr std::size_t kMostPending = 4096;  // positions

    // A sequence that has been read and not yet encoded.
    struct Pending {
        std::size_t end;  // of its positions among all that are pending
        double weight;
    };
    void encode_rows();
    void encode_attributes();
    // The rows of all that is pending, for `lines`.
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
    // Sequences that have been read, and the one that is being read.
    std::vector<Pending> pending_;
    TokenText tokens_;                               // not of matrices
    std::vector<SequenceEncoder::Label> labels_of_;  // [positions]
    std::vector<TextHash> hashes_;                   // of the position that is being encoded
    std::vector<Rows> rows_;                         // [pending] and more, whose memory is kept
};

}  // namespace sparsecrf
