// Finds the best labels of a sequence of rows with MergedRows and one Viterbi pass, without building a corpus.
//
// Scores are summed in a different order than in Chain::viterbi. Let u = 2^-53, T the length, m the number of terms in
// a position's score, D a bound on the sum of their absolute values, and B = T D. In either order
//     |computed epsilon_t(y) + lambda - exact|  <=  E = u B (m + 3 T) (1 + small),
// since maxima do not magnify errors, and every position adds the rounding error of its score, at most u m D, and at
// most three additions to numbers of size B. If the margin of the computed best labels exceeds 4 E, rounding in either
// order cannot make other labels the best or create a tie, so Chain::viterbi would find the same labels. Otherwise
// Chain::viterbi is called. docs/internals/inference.md has the proof.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/inference/one_by_one.hpp"
#include "core/text/labelling/known_rows.hpp"
#include "core/text/labelling/merged_rows.hpp"
#include "core/text/sequence_encoder.hpp"

namespace sparsecrf {

// Not thread-safe.
class RowLabeller {
   public:
    // The chain must use the attributes of the table and outlive this object. start: as for SequenceEncoder.
    // n_repeated: counts the sequences that need Chain::viterbi; it must also outlive this object.
    RowLabeller(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> names, const Chain& chain,
                bool start, std::atomic<std::int64_t>& n_repeated);

    // Whether this class supports a model: no label n-grams and, if cells condition label pairs, only few labels.
    static bool fits(const Template& lines, const Chain& chain);
    // Appends the labels that Chain::viterbi would find. The sequence must not be empty.
    void label(const Rows& rows, std::vector<std::int32_t>& labels);
    // Pass this cache to readers of the rows; labelling changes it.
    KnownRows& known() { return known_; }

   private:
    void label_rows(const Rows& rows, std::vector<std::int32_t>& labels);
    // The same, but returns false and appends nothing if the result may differ from that of Chain::viterbi.
    bool label_quickly(const Rows& rows, std::vector<std::int32_t>& labels);
    // 4 E
    double rounding(std::int64_t length) const;

    KnownRows known_;
    MergedRows scores_;
    OneByOne decoder_;
    std::shared_ptr<const Template> lines_;
    SequenceEncoder encoder_;  // used for Chain::viterbi
    bool start_;
    double terms_;    // m
    double largest_;  // D
    std::vector<std::uint32_t> pairs_;
    std::atomic<std::int64_t>& n_repeated_;
};

}  // namespace sparsecrf
