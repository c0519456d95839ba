// The best labels of one sequence at a time, without a corpus in between: what a server asks for. A corpus and its
// tables take longer to make than a short sentence takes to label.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/corpus.hpp"
#include "core/inference/chain.hpp"
#include "core/inference/potentials.hpp"

namespace sparsecrf {

// For models whose label pairs have the same scores at every position but perhaps the first: plain transitions. Answers
// are those of Chain::viterbi, to the bit. Not to be shared between threads.
class OneByOne {
   public:
    // The reference is kept.
    explicit OneByOne(const Chain& chain) : chain_(chain) {}
    const Chain& chain() const { return chain_; }

    // Begins a sequence.
    void begin() { length_ = 0; }
    // The next position, by its attributes in any order; the lists are changed. Returns false for what is not for this
    // class, where Chain::viterbi must answer: label n-grams, pairs that differ between positions, values that are
    // wrong.
    bool add(std::vector<Attribute>& unigram, std::vector<Attribute>& bigram);
    // Appends the best labels of the sequence, which has at least one position.
    void best(std::vector<std::int32_t>& labels);

   private:
    // The tables for positions with this bigram list, of a corpus that has one such position.
    struct Tables {
        Tables(const Chain& chain, std::vector<Attribute> pairs);
        const Transition& transition() const { return potentials.transition(0); }

        std::vector<Attribute> list;
        Corpus corpus;
        Potentials potentials;
    };
    const Tables* tables_for(const std::vector<Attribute>& bigram);

    const Chain& chain_;
    std::int64_t length_ = 0;                // T so far
    std::optional<Tables> start_, inner_;    // for the first position, and for the others: the most recent ones
    AlignedVector<double> epsilon_;          // [T, Yp] best scores of prefixes that end in each label
    AlignedVector<double> scores_, column_;  // [Yp], [Y]
    std::vector<int> order_;                 // scratch of Transition::best
    int n_different_ = 0;                    // consecutive sequences that this class could not label
};

}  // namespace sparsecrf
