// From marginals of pairs of classes of labels to expectations of their features: those of base lists summed by list,
// then shared out over its attributes, those of rest lists attribute by attribute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/in_turns.hpp"
#include "core/corpus/features.hpp"
#include "core/training/block_rows.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// Numbers in a row of BlockRows::classes.
std::size_t class_row_size(const LabelParts& parts);

// Made for a feature set, used for any number of passes: begin, add every block, finish. Keeps a reference to the
// corpus.
class ClassExpectations {
   public:
    ClassExpectations(const Corpus& corpus, const FeatureSet& features);

    // curvature: sums of squares are taken too.
    void begin(bool curvature);
    // Sums a block in its turn; the features of rest lists are added to g and, with curvature, to h: [K].
    void add(const Block& block, const BlockRows& rows, const FeatureSet& features, std::span<double> g,
             std::span<double> h, Turn& turn);
    // Adds those of base lists.
    void finish(const FeatureSet& features, std::span<double> g, std::span<double> h) const;

   private:
    // sum_r w p_r(c', c) and the same of p^2 over the rows of a list, `start`: of p_r(start, c).
    void add_list(std::size_t slot, std::span<const std::uint32_t> all, const BlockRows& rows, bool start);
    void add_rest(const Block& block, const BlockRows& rows, const FeatureSet& features, std::span<double> g,
                  std::span<double> h) const;

    const Corpus& corpus_;
    const LabelPairs pairs_;  // of classes
    const std::size_t row_;   // numbers in a row of BlockRows::classes
    bool curvature_ = false;
    std::vector<std::int32_t> slot_of_;  // [base lists] where their sums stand; -1: no feature of classes
    std::vector<std::uint32_t> lists_;   // of the slots
    std::vector<double> sum_, square_;   // [slots, (C + 1) C]
};

}  // namespace sparsecrf
