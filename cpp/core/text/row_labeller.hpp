// The best labels of rows of columns, by merged rows and one Viterbi recursion, without a corpus in between.
//
// Scores are summed in another order than Chain::viterbi sums them. Let u = 2^-53, T the length, m the number of terms of
// a position's score and D a bound on the sum of their sizes, B = T D. In either order
//     |computed epsilon_t(y) + lambda - exact|  <=  E = u B (m + 3 T) (1 + small),
// since maxima do not magnify errors, every position adds the rounding of its score, at most u m D, and at most three
// additions to numbers of size B. If the margin of the computed best labels exceeds 4 E, no rounding of either order can
// make other labels the best, nor make a tie: the labels are those of Chain::viterbi. Otherwise that is asked.
// docs/internals/inference.md has the proof.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/inference/one_by_one.hpp"
#include "core/text/merged_rows.hpp"
#include "core/text/sequence_encoder.hpp"

namespace sparsecrf {

// Not to be shared between threads.
class RowLabeller {
   public:
    // Of a model: the chain, which must outlive it, has the attributes of the table. start: as for SequenceEncoder.
    RowLabeller(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> names, const Chain& chain,
                bool start);

    // Whether a model is for this class: one without label n-grams, and where cells condition label pairs, one with few
    // labels.
    static bool fits(const Template& lines, const Chain& chain);
    // Appends the labels of a sequence of at least one row: those of Chain::viterbi.
    void label(const Rows& rows, std::vector<std::int32_t>& labels);
    std::int64_t n_again() const { return n_again_; }  // sequences for which Chain::viterbi was asked

   private:
    // The same; false: there is no sure answer, and nothing is appended.
    bool label_quickly(const Rows& rows, std::vector<std::int32_t>& labels);
    // 4 E
    double rounding(std::int64_t length) const;

    MergedRows scores_;
    OneByOne decoder_;
    std::shared_ptr<const Template> lines_;
    SequenceEncoder encoder_;  // for Chain::viterbi
    bool start_;
    double terms_;    // m
    double largest_;  // D
    std::vector<Attribute> pairs_;
    std::int64_t n_again_ = 0;
};

}  // namespace sparsecrf
