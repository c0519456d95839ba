// The best labels of one sequence at a time, without a corpus in between: what a server asks for. A corpus and its
// tables take longer to make than a short sentence takes to label.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/corpus.hpp"
#include "core/inference/chain.hpp"
#include "core/inference/pair_rows.hpp"
#include "core/inference/potentials.hpp"

namespace sparsecrf {

// For models whose label pairs have the same scores at every position but perhaps the first (plain transitions), or with
// `own_pairs` for others. Answers are those of Chain::viterbi, to the bit if `add` summed the scores. Not to be shared
// between threads.
class OneByOne {
   public:
    // The reference is kept. own_pairs: every position has a matrix of its own; only if PairRows::fits.
    explicit OneByOne(const Chain& chain, bool own_pairs = false);
    const Chain& chain() const { return chain_; }

    // Begins a sequence.
    void begin() { length_ = 0; }
    // The next position, by its attributes in any order; the lists are changed. Returns false for what is not for this
    // class, where Chain::viterbi must answer: label n-grams, pairs that differ between positions, values that are
    // wrong.
    bool add(std::vector<Attribute>& unigram, std::vector<Attribute>& bigram);
    // The same in two steps, for whoever sums scores in another way: first scores() [Yp], padding -infinity, then this,
    // which returns false if pairs differ between positions, unless they may.
    double* scores() { return scores_.data(); }
    bool add_scored(std::vector<Attribute>& bigram);
    // How many numbers each position takes.
    std::int64_t size() const { return stride() + (pairs_ ? pairs_->size() : 0); }
    // Appends the best labels of the sequence, which has at least one position, and returns the margin: the difference
    // between the scores of the best and the second best labels, infinity if there are no others.
    double best(std::vector<std::int32_t>& labels);

   private:
    // The tables for positions with this bigram list, of a corpus that has one such position.
    struct Tables {
        Tables(const Chain& chain, std::vector<Attribute> pairs);
        const Transition& transition() const { return potentials.transition(0); }

        std::vector<Attribute> list;
        Corpus corpus;
        Potentials potentials;
        AlignedVector<double> columns;  // [Y, Yp] lambda(y', y) by y, padding -infinity; empty: too large
    };
    bool add_plain(std::vector<Attribute>& bigram, double* epsilon);
    void add_own(const std::vector<Attribute>& bigram, double* epsilon);
    // lambda(., y) at position t, [Yp]
    const double* column(std::int64_t t, std::int64_t y);
    int stride() const { return static_cast<int>(scores_.size()); }  // Yp
    const Tables* tables_for(const std::vector<Attribute>& bigram);

    const Chain& chain_;
    std::optional<PairRows> pairs_;          // if every position has a matrix of its own
    std::int64_t length_ = 0;                // T so far
    std::optional<Tables> start_, inner_;    // for the first position, and for the others: the most recent ones
    AlignedVector<double> epsilon_;          // [T, Yp] best scores of prefixes that end in each label
    AlignedVector<double> matrices_;         // [T, (Y + 1) Yp] scores of label pairs, if there is one for each position
    AlignedVector<double> scores_, column_;  // [Yp]
    AlignedVector<double> zeros_;            // [Yp]
    std::vector<int> order_;                 // scratch of Transition::best
    int n_different_ = 0;                    // consecutive sequences that this class could not label
};

}  // namespace sparsecrf
