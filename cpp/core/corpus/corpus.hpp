// Encoded sequences, in memory or in a mapped file (corpus_file.hpp). Immutable once built.
//
// A position has a unigram list and a bigram list. Bigram lists are split into a base list of frequent attributes,
// shared by many positions and tabulated once per list, and a rest list of rare ones, applied position by position as
// a sparse correction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/corpus/list_pool.hpp"

namespace sparsecrf {

// A label is y >= 0, or below 0 if it is unknown: then it is one of a set. Set s of `Corpus::label_sets` is written
// -1 - s; set 0, the empty list, stands for all labels.
inline constexpr std::int32_t kMissing = -1;
inline bool is_known(std::int32_t label) { return label >= 0; }
inline std::uint32_t label_set_of(std::int32_t label) { return static_cast<std::uint32_t>(-1 - label); }
inline constexpr int kMaxLabels = 32767;  // pairs (y', y) fit a signed 32-bit integer
inline constexpr std::int64_t kMaxAttributes = 0x7fffffff;
// Largest size of a value and of a weight. Scores, sums of their products, are then finite: an infinite score always
// means a constraint.
inline constexpr double kLargest = 1e100;
inline constexpr std::uint32_t kNoAttribute = 0xffffffff;  // a dense column without a weight in the model

struct Corpus {
    int n_labels = 0;                                            // Y
    std::uint32_t n_attributes = 0;                              // X
    Array<std::int64_t> offsets = std::vector<std::int64_t>{0};  // [N + 1] first position of each sequence
    Array<std::int32_t> labels;                                  // [P] label or, below 0, label set
    Array<std::uint32_t> unigram;                                // [P] list id in unigram_lists
    Array<std::uint32_t> base;                                   // [P] list id in base_lists
    Array<std::uint32_t> rest;                                   // [P] list id in rest_lists
    Array<double> sequence_weight;                               // [N], or empty: all 1
    Array<double> token_weight;                                  // [P], or empty: all 1
    ListPool unigram_lists, base_lists, rest_lists;
    ListPool label_sets;                          // of candidate labels; list 0: all labels
    std::int64_t n_dense = 0;                     // d, columns of numbers that every position has
    Array<float> dense;                           // [P, d]
    std::vector<std::uint32_t> dense_attributes;  // [d] the attribute that a column is, or kNoAttribute
    std::vector<std::int32_t> words;  // [P] numbers of words whose vectors are yet to come (WordRows), or empty

    std::int64_t n_sequences() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
    std::int64_t n_tokens() const { return offsets.back(); }
    // Whether some attribute could have a value other than 1.
    bool has_values() const {
        return n_dense > 0 || unigram_lists.has_values() || base_lists.has_values() || rest_lists.has_values();
    }
    std::int64_t length(std::int64_t i) const { return offsets[i + 1] - offsets[i]; }
    double weight(std::int64_t i) const { return sequence_weight.empty() ? 1.0 : sequence_weight[i]; }
    // Whether all labels of sequence i are known.
    bool is_labelled(std::int64_t i) const {
        return std::all_of(labels.begin() + offsets[i], labels.begin() + offsets[i + 1], is_known);
    }
    // Whether `y` is what a label (or set of labels) of this corpus says.
    bool permits(std::int32_t label, std::int32_t y) const {
        if (label >= kMissing) return label == y || label == kMissing;
        const std::span<const std::uint32_t> set = label_sets.of(label_set_of(label));
        return std::binary_search(set.begin(), set.end(), static_cast<std::uint32_t>(y));
    }
    // Whether a position may have any label: none is known, or the set has them all.
    bool is_free(std::int64_t position) const {
        const std::int32_t y = labels[position];
        return y == kMissing || (y < kMissing && label_sets.length(label_set_of(y)) == n_labels);
    }

    // Tokens that count: neither they nor their sequence have weight zero.
    std::int64_t n_weighted_tokens() const;

    // "sequence 3, position 7" for a position of the corpus.
    std::string where(std::int64_t position) const;

    // The attributes of a position, ascending; of a bigram list base and rest together.
    std::vector<Attribute> unigram_attributes(std::int64_t position) const;
    std::vector<Attribute> bigram_attributes(std::int64_t position) const;

    // These sequences, in this order; labels and attributes keep their ids.
    Corpus subset(std::span<const std::int64_t> sequences) const;

    // The same with dense columns: `values` [P, d]; attributes: [d], each in no list. Throws for what is not finite.
    Corpus with_dense(std::vector<float> values, std::vector<std::uint32_t> attributes) const;

    // A hash of the whole corpus, the same on every machine.
    std::uint64_t fingerprint() const;
};

// Takes sequences one at a time; every check of the input is here.
class CorpusBuilder {
   public:
    // share: positions with the same unigram list share it. Labelling looks at each list once and does without.
    explicit CorpusBuilder(bool share = true) : share_(share) {}

    void begin_sequence(double weight = 1.0);
    // The label that stands for one of these, which need not be ordered; a single one is itself.
    std::int32_t label_set(std::vector<std::int32_t> labels);
    // `label`: 0 <= label, kMissing, or a `label_set`. The lists are emptied and can be filled again.
    void add_position(std::vector<Attribute>& unigram, std::vector<Attribute>& bigram, std::int32_t label,
                      double weight = 1.0);
    void add_position(const PlainList& unigram, const PlainList& bigram, std::int32_t label, double weight = 1.0);
    void end_sequence();
    // Discards the positions since begin_sequence.
    void abandon_sequence();
    // The same for a sequence without positions, which still counts in the sequence numbers of errors.
    void skip_sequence();

    // Label y becomes to[y].
    void rename_labels(std::span<const std::int32_t> to);

    // Checks labels and ids against the given counts and closes the corpus.
    Corpus build(std::int64_t n_labels, std::int64_t n_attributes);

    std::int64_t n_sequences() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
    std::int64_t n_seen() const { return n_sequences() + n_skipped_; }
    std::int64_t n_tokens() const { return static_cast<std::int64_t>(labels_.size()); }

   private:
    std::string here() const;
    void check(const std::vector<Attribute>& list, const char* kind) const;
    void check(std::int32_t label, double weight) const;
    template <class List>
    void add_lists(List& unigram, List& bigram, std::int32_t label, double weight);

    bool share_;
    std::vector<std::int64_t> offsets_{0};  // these as in Corpus
    std::vector<std::int32_t> labels_;
    std::vector<double> sequence_weight_, token_weight_;
    std::vector<std::uint32_t> unigram_, bigram_;  // [P] list ids
    ListPoolBuilder unigram_lists_, bigram_lists_, label_sets_;
    std::int64_t n_skipped_ = 0;
};

}  // namespace sparsecrf
