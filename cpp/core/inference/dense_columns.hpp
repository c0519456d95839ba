// Scores and expectations of dense columns: numeric values at every position, e.g. word vectors.
//
// Column j of a corpus is an attribute that occurs at every position, so sums over its features are matrix products.
// With the columns X [P, d], the weights W [d, Y] and the marginals p_t,
//
//   s_t(y) += sum_j X(t, j) W(j, y)     E(j, y) = sum_t w X(t, j) p_t(y)     h(j, y) = sum_t w X(t, j)^2 p (1 - p)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"

namespace sparsecrf {

// The weights W, laid out for one corpus.
class DenseScores {
   public:
    void assign(const Corpus& corpus, const FeatureSet& features, std::span<const double> w);
    // s [Yp] += X(position, .) W
    void add(const Corpus& corpus, std::int64_t position, double* s) const;

   private:
    int stride_ = 0;                   // Yp
    AlignedVector<double> weights_;    // [columns with weights, Yp]
    std::vector<const double*> rows_;  // rows of weights_
    std::vector<std::int64_t> columns_;
};

// Calls visit(column, feature, label) for the features of dense columns that are in the set.
template <class Visit>
void for_each_dense(const Corpus& corpus, const FeatureSet& features, Visit visit) {
    for (std::int64_t j = 0; j < corpus.n_dense; ++j) {
        const std::uint32_t x = corpus.dense_attributes[j];
        if (x == kNoAttribute) continue;
        for (std::int64_t k = features.unigram_ptr[x]; k < features.unigram_ptr[x + 1]; ++k) {
            visit(j, k, features.unigram_label[k]);
        }
    }
}

}  // namespace sparsecrf
