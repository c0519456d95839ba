#include "core/inference/dense_columns.hpp"

#include "core/simd/kernels.hpp"

namespace sparsecrf {

void DenseScores::assign(const Corpus& corpus, const FeatureSet& features, std::span<const double> w) {
    stride_ = padded(corpus.n_labels);
    columns_.clear();
    rows_.clear();
    weights_.clear();
    for_each_dense(corpus, features, [&](std::int64_t j, std::int64_t k, int y) {
        if (w[k] == 0.0) return;
        if (columns_.empty() || columns_.back() != j) {
            columns_.push_back(j);
            weights_.resize(weights_.size() + static_cast<std::size_t>(stride_), 0.0);
        }
        weights_[weights_.size() - static_cast<std::size_t>(stride_ - y)] = w[k];
    });
    for (std::size_t n = 0; n < columns_.size(); ++n) rows_.push_back(weights_.data() + n * stride_);
}

void DenseScores::add(const Corpus& corpus, std::int64_t position, double* s) const {
    constexpr std::size_t kAtATime = 64;
    const float* const x = corpus.dense.data() + position * corpus.n_dense;
    for (std::size_t first = 0; first < columns_.size(); first += kAtATime) {
        double values[kAtATime];
        const std::size_t n = std::min(kAtATime, columns_.size() - first);
        for (std::size_t k = 0; k < n; ++k) values[k] = x[columns_[first + k]];
        kernels().sum_rows(values, rows_.data() + first, static_cast<int>(n), stride_, s);
    }
}

}  // namespace sparsecrf
