// From marginals to expectations of the features of dense columns (inference/dense_columns.hpp).
#pragma once

#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/in_turns.hpp"
#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"
#include "core/training/block_rows.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

class DenseExpectations {
   public:
    DenseExpectations(const Corpus& corpus, const Plan& plan, int threads);

    // Before a pass; `curvature`: h is wanted.
    void begin(bool curvature);
    void add(int thread, const Block& block, const BlockRows& rows, Turn& turn);
    // Adds the sums to g and, if it is not empty, to h.  g, h: [K]
    void finish(const FeatureSet& features, std::span<double> g, std::span<double> h) const;

   private:
    // Of a thread, for a block.
    struct Scratch {
        AlignedVector<double> x, variance;        // w X [rows, d], or w X^2; p (1 - p) [rows, Yp]
        std::vector<const double*> x_rows, rows;  // of them
    };
    const Corpus& corpus_;
    const Plan& plan_;
    const int threads_, stride_;  // Yp
    bool curvature_ = false;
    AlignedVector<double> sums_, squares_;  // E and h, [d, Yp]
    std::vector<Scratch> scratch_;          // [threads]
};

// C of the features of dense columns, added to what counts holds; weights: [N] of the sequences.
void count_dense(const Corpus& corpus, std::span<const double> weights, const FeatureSet& features,
                 std::span<double> counts);

}  // namespace sparsecrf
