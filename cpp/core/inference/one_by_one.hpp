// Finds the best labels of one sequence at a time without building a corpus, for servers. For a short sentence,
// building a corpus and its tables takes longer than labelling.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/corpus.hpp"
#include "core/inference/chain.hpp"
#include "core/inference/potentials.hpp"
#include "core/inference/transitions/pair_rows.hpp"

namespace sparsecrf {

// Supports models whose label pairs have the same scores at every position, except perhaps the first (plain
// transitions), and other models with `own_pairs`. Results are the same as from Chain::viterbi, bit for bit if `add`
// sums the scores. Not thread-safe.
class OneByOne {
   public:
    // Keeps a reference to the chain. own_pairs: every position has its own matrix; requires PairRows::fits.
    explicit OneByOne(const Chain& chain, bool own_pairs = false);
    const Chain& chain() const { return chain_; }

    // Starts a sequence.
    void begin();
    // Adds the next position, given its attributes in any order; modifies the lists. Returns false if the caller must
    // use Chain::viterbi instead, because of label n-grams, pairs that differ between positions, or invalid values.
    bool add(std::vector<Attribute>& unigram, std::vector<Attribute>& bigram);
    // The same for attributes without values if the caller computes the scores. scores: [Yp], padded with -infinity.
    // The first n_common attributes form a list that recurs at many positions. Without own_pairs, the attributes must
    // be the same at all positions except the first.
    void add_scored(const double* scores, std::span<const std::uint32_t> bigram, std::size_t n_common);
    // Whether the matrices of the sequence take too much memory, so that the caller must use Chain::viterbi.
    bool is_full() const { return pairs_ && pairs_->is_full(); }
    // The number of doubles per position.
    std::int64_t size() const { return stride(); }
    // Appends the best labels of the sequence, which must not be empty. Returns the margin: the difference between the
    // scores of the best and the second-best labelling, or infinity if only one labelling exists.
    double best(std::vector<std::int32_t>& labels);

   private:
    // Tables for positions with this bigram list, built from a corpus with a single position.
    struct Tables {
        Tables(const Chain& chain, std::vector<Attribute> pairs);
        const Transition& transition() const { return potentials.transition(0); }

        std::vector<Attribute> list;
        Corpus corpus;
        Potentials potentials;
        AlignedVector<double> columns;  // [Y, Yp] lambda(y', y) by y, padded with -infinity; empty if too large
    };
    // epsilon of the next position, [Yp]
    double* next();
    void add_scores(const double* scores, double* epsilon);
    void add_with(const Tables& tables, const double* scores);
    void add_own(const double* scores, std::span<const std::uint32_t> bigram, std::size_t n_common);
    // lambda(., y) at position t, [Yp]
    const double* column(std::int64_t t, std::int64_t y);
    int stride() const { return static_cast<int>(scores_.size()); }  // Yp
    const Tables* tables_for(const std::vector<Attribute>& bigram);

    const Chain& chain_;
    std::optional<PairRows> pairs_;        // set if every position has its own matrix
    std::int64_t length_ = 0;              // T so far
    std::optional<Tables> start_, inner_;  // most recent tables for the first position and for later ones
    AlignedVector<double> epsilon_;        // [T, Yp] best score of the prefixes that end in each label
    // For a position with its own matrix: the number of a shared matrix, and the attributes that change this matrix.
    struct Own {
        std::uint32_t matrix;
        std::size_t end;  // end of its range in rest_
    };
    std::vector<Own> own_;  // [T]
    std::vector<std::uint32_t> rest_;
    AlignedVector<double> scores_, column_;  // [Yp]
    AlignedVector<double> zeros_;            // [Yp]
    std::vector<Attribute> list_;            // scratch
    std::vector<int> order_;                 // scratch for Viterbi steps
    int n_different_ = 0;                    // consecutive sequences that this class could not label
};

}  // namespace sparsecrf
