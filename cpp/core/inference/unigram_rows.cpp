#include "core/inference/unigram_rows.hpp"

#include <algorithm>

#include "core/base/infinity.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {

void RowSum::finish() {
    if (n_ > 0) kernels().sum_rows(values_, dense_, n_, stride_, s_);
    n_ = 0;
}

void add_dense(const double* row, int n, double* s) { kernels().axpy(1.0, row, n, s); }

int nonzero_cells(const double* row, int n, int* cells) { return kernels().nonzero(row, n, cells); }

UnigramRows::UnigramRows(const FeatureSet& features, std::size_t n_rows)
    : n_labels_(features.n_labels),
      stride_(padded(features.n_labels)),
      cell_stride_(padded(features.n_cells())),
      parts_(features.parts),
      has_row_((n_rows + 63u) / 64u, 0),
      rows_(n_rows, Row{0, 0}) {}

UnigramRows::UnigramRows(const FeatureSet& features, std::span<const double> w, bool keep_zeros)
    : UnigramRows(features, features.n_attributes) {
    for (std::uint32_t x = 0; x < rows_.size(); ++x) add_row(features, w, x, x, keep_zeros);
}

UnigramRows::UnigramRows(const FeatureSet& features, std::span<const double> w,
                         std::span<const std::uint32_t> attributes)
    : UnigramRows(features, attributes.size()) {
    for (std::uint32_t row = 0; row < rows_.size(); ++row) add_row(features, w, row, attributes[row], false);
}

void UnigramRows::add_row(const FeatureSet& features, std::span<const double> w, std::uint32_t row, std::uint32_t x,
                          bool keep_zeros) {
    const std::int64_t begin = features.unigram_ptr[x], end = features.unigram_ptr[x + 1];
    const auto n = std::count_if(w.begin() + begin, w.begin() + end, [&](double v) { return keep_zeros || v != 0.0; });
    if (n == 0) return;
    has_row_[row / 64] |= std::uint64_t{1} << (row % 64);
    if (worth_a_dense_row(end - begin, cell_stride_)) {
        rows_[row] = {static_cast<std::uint32_t>(dense_rows_.size() / static_cast<std::size_t>(cell_stride_)),
                      kDenseRow};
        dense_rows_.resize(dense_rows_.size() + static_cast<std::size_t>(cell_stride_), 0.0);
        double* dense = dense_rows_.data() + dense_rows_.size() - cell_stride_;
        for (std::int64_t k = begin; k < end; ++k) dense[features.unigram_label[k]] = w[k];
        return;
    }
    rows_[row] = {static_cast<std::uint32_t>(labels_.size()), static_cast<std::uint32_t>(n)};
    for (std::int64_t k = begin; k < end; ++k) {
        if (w[k] == 0.0 && !keep_zeros) continue;
        labels_.push_back(features.unigram_label[k]);
        weights_.push_back(w[k]);
    }
}

void UnigramRows::update(const FeatureSet& features, std::span<const double> w, std::uint32_t x) {
    const Row row = rows_[x];
    if (row.n == 0) return;
    const std::int64_t begin = features.unigram_ptr[x], end = features.unigram_ptr[x + 1];
    if (row.n == kDenseRow) {
        double* dense = dense_rows_.data() + static_cast<std::size_t>(row.begin) * cell_stride_;
        for (std::int64_t k = begin; k < end; ++k) dense[features.unigram_label[k]] = w[k];
    } else {
        std::copy(w.begin() + begin, w.begin() + end, weights_.begin() + row.begin);
    }
}

void UnigramRows::score(const ListPool& lists, std::uint32_t list, double* s) const {
    add_up(
        lists.begin(list), lists.end(list), [&](std::int64_t k) { return lists.id(k); },
        [&](std::int64_t k) { return lists.value(k); }, s);
}

void UnigramRows::score(std::span<const Attribute> list, double* s) const {
    add_up(
        0, static_cast<std::int64_t>(list.size()), [&](std::int64_t k) { return list[static_cast<std::size_t>(k)].id; },
        [&](std::int64_t k) { return list[static_cast<std::size_t>(k)].value; }, s);
}

void UnigramRows::fold(const double* cells, double* s) const {
    if (parts_ != nullptr) parts_->fold(cells, s);
    std::fill(s + n_labels_, s + stride_, -kInfinity);
}

template <class Id, class Value>
void UnigramRows::add_up(std::int64_t begin, std::int64_t end, Id id, Value value_of, double* s) const {
    thread_local AlignedVector<double> scratch;
    if (parts_ != nullptr) scratch.resize(static_cast<std::size_t>(cell_stride_));
    double* const cells = parts_ == nullptr ? s : scratch.data();
    std::fill_n(cells, cell_stride_, 0.0);
    RowSum sum(cells, cell_stride_);
    for (std::int64_t k = begin; k < end; ++k) add(id(k), value_of(k), sum);
    sum.finish();
    fold(cells, s);
}

}  // namespace sparsecrf
