#include "core/inference/pair_rows.hpp"

#include <algorithm>

namespace sparsecrf {

PairRows::PairRows(const FeatureSet& features, std::span<const double> w)
    : size_(size_of(features.n_labels)), rows_(features.n_attributes, Row{0, 0}) {
    const LabelPairs pairs(features.n_labels);
    const auto stride = static_cast<std::uint32_t>(padded(features.n_labels));
    const auto cell = [&](std::uint32_t pair) { return pairs.previous(pair) * stride + pairs.label(pair); };
    const double* weight = w.data() + features.n_unigram();
    for (std::uint32_t x = 0; x < features.n_attributes; ++x) {
        const std::span<const std::uint32_t> row = features.bigram_pairs_of(x);
        if (row.empty()) continue;
        const double* of_row = weight + features.bigram_ptr[x];
        if (worth_a_dense_row(static_cast<std::int64_t>(row.size()), size_)) {
            rows_[x] = {static_cast<std::uint32_t>(dense_rows_.size() / static_cast<std::size_t>(size_)), kDenseRow};
            dense_rows_.resize(dense_rows_.size() + static_cast<std::size_t>(size_), 0.0);
            double* dense = dense_rows_.data() + dense_rows_.size() - size_;
            for (std::size_t k = 0; k < row.size(); ++k) dense[cell(row[k])] = of_row[k];
            continue;
        }
        rows_[x] = {static_cast<std::uint32_t>(cells_.size()), static_cast<std::uint32_t>(row.size())};
        for (std::size_t k = 0; k < row.size(); ++k) {
            cells_.push_back(static_cast<std::uint16_t>(cell(row[k])));
            weights_.push_back(of_row[k]);
        }
    }
}

void PairRows::score(std::span<const Attribute> list, double* m) const {
    std::fill_n(m, size_, 0.0);
    RowSum sum(m, size_);
    for (const Attribute& attribute : list) {
        const Row row = rows_[attribute.id];
        if (row.n == kDenseRow) {
            sum.add(dense_rows_.data() + std::size_t{row.begin} * static_cast<std::size_t>(size_), attribute.value);
        } else {
            sum.add(cells_.data() + row.begin, weights_.data() + row.begin, row.n, attribute.value);
        }
    }
    sum.finish();
}

}  // namespace sparsecrf
