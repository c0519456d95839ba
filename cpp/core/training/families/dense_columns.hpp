// Features of a dense column and a label (inference/dense_columns.hpp).
#pragma once

#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/training/families/family.hpp"

namespace sparsecrf {

class DenseFamily final : public Family {
   public:
    explicit DenseFamily(SetTables& tables);
    static bool present(const Corpus& corpus, const FeatureSet&) { return corpus.n_dense > 0; }
    static void count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                      std::span<double> counts);

    void begin(const GradientPass& pass) override;
    void add(int thread, std::size_t block, BlockRows& rows, Turn& turn) override;
    void finish() override;

   private:
    // Scratch of a thread for one block.
    struct Scratch {
        AlignedVector<double> x, variance;        // w X [rows, d], or w X^2; p (1 - p) [rows, Yp]
        std::vector<const double*> x_rows, rows;  // row pointers
    };
    const int stride_;                      // Yp
    AlignedVector<double> sums_, squares_;  // E and h, [d, Yp]
    std::vector<Scratch> scratch_;          // [threads]
};

}  // namespace sparsecrf
