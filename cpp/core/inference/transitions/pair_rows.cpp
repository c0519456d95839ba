#include "core/inference/transitions/pair_rows.hpp"

#include <algorithm>

#include "core/base/infinity.hpp"

namespace sparsecrf {

PairRows::PairRows(const FeatureSet& features, std::span<const double> w)
    : Y_(features.n_labels),
      Yp_(padded(Y_)),
      size_(size_of(Y_)),
      stride_(static_cast<std::size_t>(size_ + Yp_ + Y_ * Yp_)),
      rows_(features.n_attributes, Row{0, 0}) {
    const LabelPairs pairs(features.n_labels);
    const double* weight = w.data() + features.n_unigram();
    for (std::uint32_t x = 0; x < features.n_attributes; ++x) {
        rows_[x].begin = static_cast<std::uint32_t>(cells_.size());
        const double* of_row = weight + features.bigram_ptr[x];
        for (const std::uint32_t pair : features.bigram_pairs_of(x)) {
            const double value = *of_row++;
            if (value == 0.0) continue;
            const std::uint32_t previous = pairs.previous(pair);
            const std::uint32_t at = previous * static_cast<std::uint32_t>(Yp_) + pairs.label(pair);
            cells_.push_back({static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(previous), value});
        }
        rows_[x].end = static_cast<std::uint32_t>(cells_.size());
    }
}

void PairRows::begin() {
    if (matrices_.size() <= kMostNumbers) return;
    lists_ = {};
    matrices_.clear();
    std::fill(recent_.begin(), recent_.end(), Recent());
}

std::uint32_t PairRows::matrix(std::span<const std::uint32_t> list) {
    if (list.size() > std::size(Recent().ids)) return look_up(list);
    std::uint64_t hash = list.size();
    for (const std::uint32_t x : list) hash = (hash ^ x) * 0x9e3779b97f4a7c15ull;
    Recent& recent = recent_[hash >> (64 - kRecentBits)];
    if (recent.n != list.size() || !std::equal(list.begin(), list.end(), recent.ids)) {
        recent.matrix = look_up(list);
        recent.n = list.size();
        std::copy(list.begin(), list.end(), recent.ids);
    }
    return recent.matrix;
}

std::uint32_t PairRows::look_up(std::span<const std::uint32_t> list) {
    const std::uint32_t known = lists_.size();
    const std::uint32_t number = lists_.intern({reinterpret_cast<const char*>(list.data()), list.size_bytes()});
    if (number < known) return number;
    matrices_.resize(matrices_.size() + stride_, -kInfinity);
    double* const m = matrices_.data() + number * stride_;
    for (int i = 0; i <= Y_; ++i) std::fill_n(m + i * Yp_, Y_, 0.0);
    add(number, list);
    double* const high = m + size_;
    double* const columns = high + Yp_;
    for (int i = 0; i < Y_; ++i) {
        high[i] = *std::max_element(m + i * Yp_, m + i * Yp_ + Y_);
        for (int y = 0; y < Y_; ++y) columns[y * Yp_ + i] = m[i * Yp_ + y];
    }
    return number;
}

void PairRows::add(std::uint32_t matrix, std::span<const std::uint32_t> attributes) {
    double* const m = matrices_.data() + matrix * stride_;
    double* const high = m + size_;
    changed_.clear();
    for (const std::uint32_t x : attributes) {
        for (std::uint32_t k = rows_[x].begin; k < rows_[x].end; ++k) {
            double& cell = m[cells_[k].at];
            changed_.push_back({&cell, cell});
            cell += cells_[k].weight;
            double& of_row = high[cells_[k].previous];
            if (cells_[k].previous == Y_ || !(cell > of_row)) continue;
            changed_.push_back({&of_row, of_row});
            of_row = cell;
        }
    }
}

void PairRows::undo() {
    for (; !changed_.empty(); changed_.pop_back()) *changed_.back().cell = changed_.back().before;
}

void PairRows::add_to_column(std::span<const std::uint32_t> attributes, std::int64_t y, double* column) const {
    for (const std::uint32_t x : attributes) {
        for (std::uint32_t k = rows_[x].begin; k < rows_[x].end; ++k) {
            const int previous = cells_[k].previous;
            if (cells_[k].at - previous * Yp_ == y && previous < Y_) column[previous] += cells_[k].weight;
        }
    }
}

}  // namespace sparsecrf
