// Weights of label pairs by attribute, for positions with individual pair scores: the matrix of each position is summed
// from its attributes, whereas Transition lays out one matrix for many positions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/lanes.hpp"
#include "core/corpus/features.hpp"
#include "core/inference/unigram_rows.hpp"

namespace sparsecrf {

class PairRows {
   public:
    // Whether this class supports a feature set: few labels, and no class pairs.
    static bool fits(const FeatureSet& features) {
        return features.n_class() == 0 && size_of(features.n_labels) <= kMostCells;
    }
    PairRows(const FeatureSet& features, std::span<const double> w);

    int size() const { return size_; }  // (Y + 1) Yp
    // m(y', y) = sum_{x in list} v lambda[x, y', y].  m: [Y + 1, Yp], last row for the start label, padded with 0
    void score(std::span<const Attribute> list, double* m) const;

   private:
    static constexpr int kMostCells = 1 << 15;
    static int size_of(int n_labels) { return (n_labels + 1) * padded(n_labels); }

    // As in UnigramRows.
    struct Row {
        std::uint32_t begin, n;
    };
    static constexpr std::uint32_t kDenseRow = 0xffffffffu;
    int size_;
    std::vector<Row> rows_;             // [X]
    std::vector<std::uint16_t> cells_;  // cells of sparse rows
    std::vector<double> weights_;       // [cells_]
    AlignedVector<double> dense_rows_;  // [dense rows, (Y + 1) Yp]
};

}  // namespace sparsecrf
