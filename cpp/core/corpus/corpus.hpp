// Encoded sequences, in memory or in a mapped file (corpus_file.hpp). Immutable once built.
//
// Each position has a unigram list and a bigram list. Bigram lists are split into a base list of frequent attributes,
// shared by many positions and tabulated once per list, and a rest list of rare attributes, applied at each position as
// a sparse correction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/corpus/list_pool.hpp"

namespace sparsecrf {

// A label is y >= 0, or negative if unknown. A negative label denotes a set of candidates: -1 - s is set s of
// `Corpus::label_sets`. Set 0, the empty list, means all labels.
inline constexpr std::int32_t kMissing = -1;
inline bool is_known(std::int32_t label) { return label >= 0; }
inline std::uint32_t label_set_of(std::int32_t label) { return static_cast<std::uint32_t>(-1 - label); }
inline constexpr int kMaxLabels = 32767;  // so that pairs (y', y) fit in a signed 32-bit integer
inline constexpr std::int64_t kMaxAttributes = 0x7fffffff;
// The largest absolute value allowed for attribute values and weights. Scores, the sums of their products, are
// therefore finite, so an infinite score always means a constraint.
inline constexpr double kLargest = 1e100;
inline constexpr std::uint32_t kNoAttribute = 0xffffffff;  // marks a dense column without weights in the model

struct Corpus {
    int n_labels = 0;                                            // Y
    std::uint32_t n_attributes = 0;                              // X
    Array<std::int64_t> offsets = std::vector<std::int64_t>{0};  // [N + 1] first position of each sequence
    Array<std::int32_t> labels;                                  // [P] label, or label set if negative
    Array<std::uint32_t> unigram;                                // [P] list id in unigram_lists
    Array<std::uint32_t> base;                                   // [P] list id in base_lists
    Array<std::uint32_t> rest;                                   // [P] list id in rest_lists
    Array<double> sequence_weight;                               // [N]; empty if all are 1
    Array<double> token_weight;                                  // [P]; empty if all are 1
    ListPool unigram_lists, base_lists, rest_lists;
    ListPool label_sets;                          // candidate labels; list 0: all labels
    std::int64_t n_dense = 0;                     // d, number of dense columns, which have a value at every position
    Array<float> dense;                           // [P, d]
    std::vector<std::uint32_t> dense_attributes;  // [d] attribute of each dense column, or kNoAttribute
    std::vector<std::int32_t> words;  // [P] ids of words whose vectors are filled in later (WordRows), or empty

    std::int64_t n_sequences() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
    std::int64_t n_tokens() const { return offsets.back(); }
    // Whether any attribute may have a value other than 1.
    bool has_values() const {
        return n_dense > 0 || unigram_lists.has_values() || base_lists.has_values() || rest_lists.has_values();
    }
    std::int64_t length(std::int64_t i) const { return offsets[i + 1] - offsets[i]; }
    double weight(std::int64_t i) const { return sequence_weight.empty() ? 1.0 : sequence_weight[i]; }
    // Whether all labels of sequence i are known.
    bool is_labelled(std::int64_t i) const {
        return std::all_of(labels.begin() + offsets[i], labels.begin() + offsets[i + 1], is_known);
    }
    // Whether `label`, a label or label set of this corpus, permits `y`.
    bool permits(std::int32_t label, std::int32_t y) const {
        if (label >= kMissing) return label == y || label == kMissing;
        const std::span<const std::uint32_t> set = label_sets.of(label_set_of(label));
        return std::binary_search(set.begin(), set.end(), static_cast<std::uint32_t>(y));
    }
    // Whether a position may have any label: it is unlabelled, or its set contains all labels.
    bool is_free(std::int64_t position) const {
        const std::int32_t y = labels[position];
        return y == kMissing || (y < kMissing && label_sets.length(label_set_of(y)) == n_labels);
    }

    // The number of tokens with a nonzero weight in a sequence with a nonzero weight.
    std::int64_t n_weighted_tokens() const;

    // The name of a position for error messages, e.g. "sequence 3, position 7".
    std::string where(std::int64_t position) const;

    // The attributes of a position, in ascending order; base and rest lists are merged.
    std::vector<Attribute> unigram_attributes(std::int64_t position) const;
    std::vector<Attribute> bigram_attributes(std::int64_t position) const;

    // Calls visit(attribute, value) for the attributes in the unigram list, the bigram lists or the dense columns of a
    // position.
    template <class Visit>
    void for_each_unigram(std::int64_t position, Visit visit) const {
        unigram_lists.for_each(unigram[position], visit);
    }
    template <class Visit>
    void for_each_bigram(std::int64_t position, Visit visit) const {
        base_lists.for_each(base[position], visit);
        rest_lists.for_each(rest[position], visit);
    }
    template <class Visit>
    void for_each_dense(std::int64_t position, Visit visit) const {
        for (std::int64_t j = 0; j < n_dense; ++j) {
            if (dense_attributes[j] != kNoAttribute) visit(dense_attributes[j], dense[position * n_dense + j]);
        }
    }

    // The given sequences in this order; labels and attributes keep their ids.
    Corpus subset(std::span<const std::int64_t> sequences) const;

    // A copy with dense columns. values: [P, d]; attributes: [d], none of which may occur in a list. Throws unless all
    // values are finite.
    Corpus with_dense(std::vector<float> values, std::vector<std::uint32_t> attributes) const;

    // A platform-independent hash of the whole corpus.
    std::uint64_t fingerprint() const;
};

// Builds a corpus one sequence at a time and checks all input.
class CorpusBuilder {
   public:
    // share: whether to intern unigram lists, so that positions with equal lists share one. Labelling reads each list
    // only once and does not need this.
    explicit CorpusBuilder(bool share = true) : share_(share) {}

    void begin_sequence(double weight = 1.0);
    // Returns a label that denotes this set of candidates, given in any order. A single candidate is returned as is.
    std::int32_t label_set(std::vector<std::int32_t> labels);
    // `label`: a label >= 0, kMissing, or a result of `label_set`. Clears the lists so that the caller can reuse them.
    void add_position(std::vector<Attribute>& unigram, std::vector<Attribute>& bigram, std::int32_t label,
                      double weight = 1.0);
    void add_position(const PlainList& unigram, const PlainList& bigram, std::int32_t label, double weight = 1.0);
    void end_sequence();
    // Discards the positions since begin_sequence.
    void abandon_sequence();
    // Skips a sequence without positions, which still counts in the sequence numbers of error messages.
    void skip_sequence();

    // Renames label y to to[y].
    void rename_labels(std::span<const std::int32_t> to);

    // Checks labels and ids against these counts and completes the corpus.
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
    std::vector<std::int64_t> offsets_{0};  // see Corpus
    std::vector<std::int32_t> labels_;
    std::vector<double> sequence_weight_, token_weight_;
    std::vector<std::uint32_t> unigram_, bigram_;  // [P] list ids
    ListPoolBuilder unigram_lists_, bigram_lists_, label_sets_;
    std::int64_t n_skipped_ = 0;
};

}  // namespace sparsecrf
