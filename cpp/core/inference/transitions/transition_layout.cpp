// Lays out the arrays of a matrix from its scores.
#include <algorithm>
#include <cmath>

#include "core/base/infinity.hpp"
#include "core/inference/transitions/cost_model.hpp"
#include "core/inference/transitions/transition.hpp"

namespace sparsecrf {

void Transition::set_classes(const ClassScores* classes) {
    classes_ = classes == nullptr ? nullptr : classes->parts;
    plain_.clear();
    if (classes_ == nullptr) return;
    const auto n = static_cast<std::size_t>(classes_->class_pairs().n_inner());
    class_score_.assign(classes->score.begin(), classes->score.begin() + static_cast<std::ptrdiff_t>(n));
    thread_local AlignedVector<double> scores, weights;
    scores.assign(class_score_.begin(), class_score_.end());
    scores.resize(static_cast<std::size_t>(padded(static_cast<int>(n))), 0.0);
    weights.resize(scores.size());
    kernels().exp_shifted(scores.data(), 0.0, static_cast<int>(scores.size()), weights.data());
    class_weight_.assign(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(n));
    for (const double x : classes->score) {
        low_ = std::min(low_, x);
        high_ = std::max(high_, x);
    }
    plain_.resize(scores_.pair.size());
    for_each_pair(scores_.pair, n_labels_,
                  [&](std::size_t k, std::size_t i, std::size_t y) { plain_[k] = plain_weight(i, y); });
}

// Computes M of the entries, by row.  weights: E of the entries
void Transition::set_differences(const double* weights) {
    rows_with_entries_.clear();
    difference_.resize(scores_.pair.size());
    for_each_pair(scores_.pair, n_labels_, [&](std::size_t k, std::size_t i, std::size_t) {
        const auto label = static_cast<std::uint32_t>(i), entry = static_cast<std::uint32_t>(k);
        if (rows_with_entries_.empty() || rows_with_entries_.back().label != label) {
            rows_with_entries_.push_back({label, entry, entry, 0.0});
        }
        Row& row = rows_with_entries_.back();
        row.end = entry + 1;
        difference_[k] = weights[k] - plain_[k];
        row.largest = std::max(row.largest, std::abs(difference_[k]));
    });
}

void Transition::assign(int n_labels, const PairScores& scores, Kernel kernel, std::size_t n_matrices,
                        const ClassScores* classes) {
    const bool was_dense = !et_.empty() && classes_ == nullptr, was_sparse = !row_ptr_.empty();
    state_ = State::assigned;
    n_labels_ = n_labels;
    stride_ = padded(n_labels);
    low_ = high_ = 0.0;
    finite_ = true;
    for (const double x : scores.score) {
        if (x == -kInfinity) {
            finite_ = false;
            continue;
        }
        low_ = std::min(low_, x);
        high_ = std::max(high_, x);
    }
    start_score_.assign(stride_, -kInfinity);
    start_weight_.assign(stride_, 0.0);
    for (int y = 0; y < n_labels; ++y) {
        start_score_[y] =
            classes == nullptr ? 0.0 : classes->of(static_cast<std::uint32_t>(n_labels), static_cast<std::uint32_t>(y));
    }
    const LabelPairs numbers(n_labels);
    const std::size_t first = numbers.count_inner(scores.pair);
    for (std::size_t k = first; k < scores.pair.size(); ++k) {
        start_score_[numbers.start_label(scores.pair[k])] = scores.score[k];
    }
    kernels().exp_shifted(start_score_.data(), 0.0, stride_, start_weight_.data());

    const bool same =
        scores_.pair.size() == first && std::equal(scores_.pair.begin(), scores_.pair.end(), scores.pair.begin());
    if (!same) scores_.pair.assign(scores.pair.begin(), scores.pair.begin() + static_cast<std::ptrdiff_t>(first));
    scores_.score.assign(scores.score.begin(), scores.score.begin() + static_cast<std::ptrdiff_t>(first));
    set_classes(classes);

    thread_local AlignedVector<double> lambda, weights;
    lambda.assign(scores_.score.begin(), scores_.score.end());
    lambda.resize(static_cast<std::size_t>(padded(static_cast<int>(first))), 0.0);
    weights.resize(lambda.size());
    kernels().exp_shifted(lambda.data(), 0.0, static_cast<int>(lambda.size()), weights.data());

    if (classes_ != nullptr) set_differences(weights.data());
    const std::size_t of_classes = classes_ == nullptr ? 0 : class_weight_.size();
    dense_ = kernel == Kernel::dense ||
             (kernel == Kernel::automatic && !sparse_is_cheaper(first + of_classes, n_labels, n_matrices));
    if (dense_) {
        if (!same || !was_dense || classes_ != nullptr) lay_dense();
        fill_dense(weights.data());
    } else {
        if (!same || !was_sparse) lay_sparse();
        fill_sparse(weights.data());
    }
}

// Pairs without a score have E = 1 and lambda = 0, or the values of their classes.
void Transition::lay_dense() {
    const auto cells = static_cast<std::size_t>(n_labels_) * stride_;
    e_.assign(cells, 0.0);
    et_.assign(cells, 0.0);
    lambda_.assign(cells, -kInfinity);
    for (std::size_t row = 0; row < cells; row += static_cast<std::size_t>(stride_)) {
        std::fill_n(e_.data() + row, n_labels_, 1.0);
        std::fill_n(et_.data() + row, n_labels_, 1.0);
        std::fill_n(lambda_.data() + row, n_labels_, 0.0);
    }
    const auto Y = static_cast<std::size_t>(n_labels_), Yp = static_cast<std::size_t>(stride_);
    for (std::size_t i = 0; classes_ != nullptr && i < Y; ++i) {
        for (std::size_t y = 0; y < Y; ++y) {
            e_[i * Yp + y] = et_[y * Yp + i] = plain_weight(i, y);
            lambda_[i * Yp + y] = plain_score(i, y);
        }
    }
    rows_.clear();
    columns_.clear();
    weight_.clear();
    row_ptr_.clear();
    column_ptr_.clear();
    column_row_.clear();
    column_entry_.clear();
}

void Transition::fill_dense(const double* weights) {
    const auto Yp = static_cast<std::size_t>(stride_);
    for_each_pair(scores_.pair, n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
        e_[i * Yp + y] = et_[y * Yp + i] = weights[k];
        lambda_[i * Yp + y] = scores_.score[k];
    });
    row_high_.assign(Yp, -kInfinity);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n_labels_); ++i) {
        double low;
        kernels().range(lambda_.data() + i * Yp, stride_, &low, &row_high_[i]);
    }
}

void Transition::lay_sparse() {
    const auto Y = static_cast<std::uint32_t>(n_labels_);
    const std::size_t n = scores_.pair.size();
    row_ptr_.assign(Y + 1, 0);
    column_ptr_.assign(Y + 1, 0);
    for_each_pair(scores_.pair, n_labels_, [&](std::size_t, std::size_t i, std::size_t y) {
        ++row_ptr_[i + 1];
        ++column_ptr_[y + 1];
    });
    for (std::uint32_t y = 0; y < Y; ++y) {
        row_ptr_[y + 1] += row_ptr_[y];
        column_ptr_[y + 1] += column_ptr_[y];
    }
    thread_local std::vector<std::uint32_t> next;
    next.assign(column_ptr_.begin(), column_ptr_.end() - 1);
    column_row_.resize(n);
    column_entry_.resize(n);
    for_each_pair(scores_.pair, n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
        const std::uint32_t at = next[y]++;  // a counting sort by column keeps the rows ascending
        column_row_[at] = static_cast<std::uint16_t>(i);
        column_entry_[at] = static_cast<std::uint32_t>(k);
    });
    lay_bundles(columns_, true);
    lay_bundles(rows_, false);
    e_.clear();
    et_.clear();
    lambda_.clear();
}

void Transition::fill_sparse(const double* weights) {
    weight_.assign(weights, weights + scores_.pair.size());
    fill_bundles(columns_, true);
    fill_bundles(rows_, false);
    row_high_.assign(static_cast<std::size_t>(stride_), -kInfinity);
    for_each_pair(scores_.pair, n_labels_, [&](std::size_t k, std::size_t i, std::size_t) {
        row_high_[i] = std::max(row_high_[i], scores_.score[k]);
    });
}

void Transition::Bundles::clear() {
    line.clear();
    ptr.clear();
    cell.clear();
    m.clear();
    places.clear();
}

// Bundles four lines at a time in ascending order of length, so that there is little padding and consecutive loops have
// similar lengths.
void Transition::lay_bundles(Bundles& bundles, bool by_column) const {
    const LabelPairs numbers(n_labels_);
    const std::vector<std::uint32_t>& start = by_column ? column_ptr_ : row_ptr_;
    const auto length = [&](std::uint32_t i) { return start[i + 1] - start[i]; };
    bundles.clear();
    std::vector<std::uint16_t>& lines = bundles.line;
    for (std::uint32_t i = 0; i < numbers.n_labels; ++i) {
        if (length(i) > 0) lines.push_back(static_cast<std::uint16_t>(i));
    }
    std::sort(lines.begin(), lines.end(),
              [&](std::uint16_t a, std::uint16_t b) { return length(a) != length(b) ? length(a) < length(b) : a < b; });
    while (lines.size() % 4 != 0) lines.push_back(lines.back());

    bundles.ptr.push_back(0);
    for (std::size_t k = 0; k < lines.size(); k += 4) bundles.ptr.push_back(bundles.ptr.back() + length(lines[k + 3]));
    bundles.cell.assign(4 * static_cast<std::size_t>(bundles.ptr.back()), 0);
    bundles.m.assign(bundles.cell.size(), 0.0);
    for (std::size_t k = 0; k < lines.size(); ++k) {
        const std::uint32_t i = lines[k];
        std::uint16_t* cell = bundles.cell.data() + 4 * static_cast<std::size_t>(bundles.ptr[k / 4]) + k % 4;
        for (std::uint32_t e = start[i]; e < start[i + 1]; ++e, cell += 4) {
            *cell = by_column ? column_row_[e] : static_cast<std::uint16_t>(scores_.pair[e] - numbers.pair(i, 0));
        }
    }
}

void Transition::fill_bundles(Bundles& bundles, bool by_column) const {
    const std::vector<std::uint32_t>& start = by_column ? column_ptr_ : row_ptr_;
    for (std::size_t k = 0; k < bundles.line.size(); ++k) {
        const std::uint32_t i = bundles.line[k];
        double* m = bundles.m.data() + 4 * static_cast<std::size_t>(bundles.ptr[k / 4]) + k % 4;
        for (std::uint32_t e = start[i]; e < start[i + 1]; ++e, m += 4) {
            const std::size_t entry = by_column ? column_entry_[e] : e;
            *m = weight_[entry] - (plain_.empty() ? 1.0 : plain_[entry]);
        }
    }
}

}  // namespace sparsecrf
