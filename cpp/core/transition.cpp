#include "transition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cost_model.hpp"

namespace sparsecrf {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNone = 0xffffffffu;

// 1 + sum alpha M keeps at least 53 - 10 bits above this share of the sum without M; below, the cell is summed again.
constexpr double kCancelled = 0x1p-10;

// sum_k m[k] x[cell[k]]; four running sums hide the latency of the additions in long lines.
double sparse_dot(const std::uint16_t* cell, const double* m, std::uint32_t n, const double* x) {
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    std::uint32_t k = 0;
    for (; k + 4 <= n; k += 4) {
        s0 += m[k] * x[cell[k]];
        s1 += m[k + 1] * x[cell[k + 1]];
        s2 += m[k + 2] * x[cell[k + 2]];
        s3 += m[k + 3] * x[cell[k + 3]];
    }
    for (; k < n; ++k) s0 += m[k] * x[cell[k]];
    return (s0 + s1) + (s2 + s3);
}

// A sum of zero stays zero: E may have overflowed where only the log domain was used.
double times(double sum, double weight) { return sum == 0.0 ? 0.0 : sum * weight; }

}  // namespace

void Transition::assign(int n_labels, PairScores scores, Kernel kernel, std::size_t n_matrices) {
    n_labels_ = n_labels;
    stride_ = padded(n_labels);
    const auto Y = static_cast<std::uint32_t>(n_labels);
    low_ = high_ = 0.0;
    forbids_ = false;
    for (const double x : scores.score) {
        if (x == -kInfinity) {
            forbids_ = true;
        } else {
            low_ = std::min(low_, x);
            high_ = std::max(high_, x);
        }
    }
    start_score_.assign(stride_, -kInfinity);
    start_weight_.assign(stride_, 0.0);
    std::fill_n(start_score_.begin(), n_labels, 0.0);
    const auto first = static_cast<std::size_t>(
        std::lower_bound(scores.pair.begin(), scores.pair.end(), Y * Y) - scores.pair.begin());
    for (std::size_t k = first; k < scores.pair.size(); ++k) start_score_[scores.pair[k] - Y * Y] = scores.score[k];
    kernels().exp_shifted(start_score_.data(), 0.0, stride_, start_weight_.data());
    scores.pair.resize(first);
    scores.score.resize(first);
    scores_ = std::move(scores);

    dense_ = kernel == Kernel::dense || (kernel == Kernel::automatic && !sparse_is_cheaper(first, n_labels, n_matrices));
    if (dense_) {
        make_dense();
    } else {
        make_sparse();
    }
}

void Transition::make_dense() {
    const auto cells = static_cast<std::size_t>(n_labels_) * stride_;
    lambda_.resize(cells);
    fill_scores(lambda_.data());
    e_.resize(cells);
    kernels().exp_shifted(lambda_.data(), 0.0, static_cast<int>(cells), e_.data());
    et_.assign(cells, 0.0);
    for (int i = 0; i < n_labels_; ++i) {
        for (int j = 0; j < n_labels_; ++j) et_[static_cast<std::size_t>(j) * stride_ + i] = e_[static_cast<std::size_t>(i) * stride_ + j];
    }
    rows_ = columns_ = Lines();
    weight_.clear();
}

// Entries come in ascending order of their pair; counting sorts by line and by length of line keep that order.
void Transition::lay_lines(Lines& lines, std::span<const std::uint16_t> line, std::span<const std::uint16_t> cell,
                           std::span<const double> weight, int n_labels) {
    const auto Y = static_cast<std::size_t>(n_labels);
    std::vector<std::uint32_t> length(Y, 0), by_length(Y + 2, 0), start(Y, 0);
    for (const std::uint16_t i : line) ++length[i];
    for (const std::uint32_t n : length) ++by_length[n + 1];
    for (std::size_t n = 0; n <= Y; ++n) by_length[n + 1] += by_length[n];
    const std::uint32_t empty = by_length[1];
    lines = Lines();
    lines.line.resize(Y - empty);
    for (std::size_t i = 0; i < Y; ++i) {
        if (length[i] > 0) lines.line[by_length[length[i]]++ - empty] = static_cast<std::uint16_t>(i);
    }
    lines.ptr.push_back(0);
    for (const std::uint16_t i : lines.line) {
        start[i] = lines.ptr.back();
        lines.ptr.push_back(start[i] + length[i]);
    }
    lines.cell.resize(line.size());
    lines.m.resize(line.size());
    lines.entry.resize(line.size());
    for (std::size_t k = 0; k < line.size(); ++k) {
        const std::uint32_t at = start[line[k]]++;
        lines.cell[at] = cell[k];
        lines.m[at] = weight[k] - 1.0;
        lines.entry[at] = static_cast<std::uint32_t>(k);
    }
}

void Transition::make_sparse() {
    const auto Y = static_cast<std::uint32_t>(n_labels_);
    const std::size_t n = scores_.pair.size();
    AlignedVector<double> lambda(scores_.score.begin(), scores_.score.end()), weight;
    lambda.resize(static_cast<std::size_t>(padded(static_cast<int>(n))), 0.0);
    weight.resize(lambda.size());
    kernels().exp_shifted(lambda.data(), 0.0, static_cast<int>(lambda.size()), weight.data());
    weight_.assign(weight.begin(), weight.begin() + static_cast<std::ptrdiff_t>(n));

    std::vector<std::uint16_t> row(n), column(n);
    for (std::size_t k = 0; k < n; ++k) {
        row[k] = static_cast<std::uint16_t>(scores_.pair[k] / Y);
        column[k] = static_cast<std::uint16_t>(scores_.pair[k] % Y);
    }
    lay_lines(rows_, row, column, weight_, n_labels_);
    lay_lines(columns_, column, row, weight_, n_labels_);
    column_of_.assign(Y, kNone);
    for (std::uint32_t c = 0; c < columns_.line.size(); ++c) column_of_[columns_.line[c]] = c;
    e_.clear();
    et_.clear();
    lambda_.clear();
}

void Transition::fill_scores(double* out) const {
    const auto Y = static_cast<std::uint32_t>(n_labels_);
    for (int i = 0; i < n_labels_; ++i) {
        double* row = out + static_cast<std::size_t>(i) * stride_;
        std::fill_n(row, n_labels_, 0.0);
        std::fill(row + n_labels_, row + stride_, -kInfinity);
    }
    for (std::size_t k = 0; k < scores_.pair.size(); ++k) {
        out[static_cast<std::size_t>(scores_.pair[k] / Y) * stride_ + scores_.pair[k] % Y] = scores_.score[k];
    }
}

void Transition::multiply(double* sums) const {
    const auto Y = static_cast<std::uint32_t>(n_labels_);
    if (dense_) {
        for (std::size_t k = 0; k < e_.size(); ++k) sums[k] = times(sums[k], e_[k]);
    } else {
        for (std::size_t k = 0; k < scores_.pair.size(); ++k) {
            double& sum = sums[static_cast<std::size_t>(scores_.pair[k] / Y) * stride_ + scores_.pair[k] % Y];
            sum = times(sum, weight_[k]);
        }
    }
    double* start = sums + static_cast<std::size_t>(n_labels_) * stride_;
    for (int y = 0; y < n_labels_; ++y) start[y] = times(start[y], start_weight_[y]);
}

void Transition::multiply(std::span<const std::uint32_t> pairs, double* sums) const {
    const auto Y = static_cast<std::uint32_t>(n_labels_);
    std::size_t entry = 0;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        const std::uint32_t pair = pairs[k];
        if (pair >= Y * Y) {
            sums[k] = times(sums[k], start_weight_[pair - Y * Y]);
        } else if (dense_) {
            sums[k] = times(sums[k], e_[static_cast<std::size_t>(pair / Y) * stride_ + pair % Y]);
        } else {
            while (entry < scores_.pair.size() && scores_.pair[entry] < pair) ++entry;
            if (entry < scores_.pair.size() && scores_.pair[entry] == pair) sums[k] = times(sums[k], weight_[entry]);
        }
    }
}

// alpha_{t+1}(y) / e_{t+1}(y) = 1 + sum_{y' in A(y)} alpha_t(y') M(y', y)
void Transition::forward(const double* alpha, double* u) const {
    if (dense_) return kernels().matvec(alpha, e_.data(), n_labels_, stride_, u);
    std::fill_n(u, stride_, 1.0);
    for (std::size_t c = 0; c < columns_.line.size(); ++c) {
        const std::uint32_t first = columns_.ptr[c];
        const int y = columns_.line[c];
        u[y] = 1.0 + sparse_dot(columns_.cell.data() + first, columns_.m.data() + first, columns_.ptr[c + 1] - first, alpha);
        if (u[y] < kCancelled) u[y] = column_sum(alpha, y);
    }
}

// beta_{t-1}(y') = sum_y v_t(y) + sum_{y: lambda != 0} M(y', y) v_t(y)
void Transition::backward(const double* v, double total, double* beta) const {
    if (dense_) return kernels().matvec(v, et_.data(), n_labels_, stride_, beta);
    std::fill_n(beta, stride_, total);
    for (std::size_t r = 0; r < rows_.line.size(); ++r) {
        const std::uint32_t first = rows_.ptr[r];
        const int y = rows_.line[r];
        beta[y] = total + sparse_dot(rows_.cell.data() + first, rows_.m.data() + first, rows_.ptr[r + 1] - first, v);
        if (beta[y] < kCancelled * total) beta[y] = row_sum(v, y);
    }
}

double Transition::weight(int previous, int y) const {
    if (dense_) return e_[static_cast<std::size_t>(previous) * stride_ + y];
    const std::uint32_t c = column_of_[y];
    if (c == kNone) return 1.0;
    const auto begin = columns_.cell.begin() + columns_.ptr[c], end = columns_.cell.begin() + columns_.ptr[c + 1];
    const auto found = std::lower_bound(begin, end, static_cast<std::uint16_t>(previous));
    if (found == end || *found != previous) return 1.0;
    return weight_[columns_.entry[static_cast<std::size_t>(found - columns_.cell.begin())]];
}

double Transition::score(int previous, int y) const {
    const std::uint32_t pair = static_cast<std::uint32_t>(previous) * static_cast<std::uint32_t>(n_labels_) + static_cast<std::uint32_t>(y);
    const auto found = std::lower_bound(scores_.pair.begin(), scores_.pair.end(), pair);
    if (found == scores_.pair.end() || *found != pair) return 0.0;
    return scores_.score[static_cast<std::size_t>(found - scores_.pair.begin())];
}

void Transition::column_scores(int y, double* out) const {
    if (dense_) {
        for (int i = 0; i < n_labels_; ++i) out[i] = lambda_[static_cast<std::size_t>(i) * stride_ + y];
        return;
    }
    std::fill_n(out, n_labels_, 0.0);
    const std::uint32_t c = column_of_[y];
    if (c == kNone) return;
    for (std::uint32_t k = columns_.ptr[c]; k < columns_.ptr[c + 1]; ++k) out[columns_.cell[k]] = scores_.score[columns_.entry[k]];
}

double Transition::column_sum(const double* alpha, int y) const {
    double sum = 0.0;
    if (dense_) {
        for (int i = 0; i < n_labels_; ++i) sum += alpha[i] * e_[static_cast<std::size_t>(i) * stride_ + y];
        return sum;
    }
    const std::uint32_t c = column_of_[y];
    std::uint32_t k = c == kNone ? 0 : columns_.ptr[c];
    const std::uint32_t end = c == kNone ? 0 : columns_.ptr[c + 1];
    for (int i = 0; i < n_labels_; ++i) {
        sum += k < end && columns_.cell[k] == i ? alpha[i] * weight_[columns_.entry[k++]] : alpha[i];
    }
    return sum;
}

double Transition::row_sum(const double* v, int previous) const {
    double sum = 0.0;
    if (dense_) {
        for (int j = 0; j < n_labels_; ++j) sum += v[j] * e_[static_cast<std::size_t>(previous) * stride_ + j];
        return sum;
    }
    const auto first = static_cast<std::uint32_t>(previous) * static_cast<std::uint32_t>(n_labels_);
    auto k = static_cast<std::size_t>(std::lower_bound(scores_.pair.begin(), scores_.pair.end(), first) - scores_.pair.begin());
    for (int j = 0; j < n_labels_; ++j) {
        const bool entry = k < scores_.pair.size() && scores_.pair[k] == first + static_cast<std::uint32_t>(j);
        sum += entry ? v[j] * weight_[k++] : v[j];
    }
    return sum;
}

// The paper's sparse Viterbi step. Over the complement of A(y) the score is epsilon itself: the best of it is the
// first label outside A(y) in descending order of epsilon. The order is needed only if the overall best is in A(y).
void Transition::best(const double* epsilon, double* best, std::vector<int>& order) const {
    if (dense_) return kernels().maxplus(epsilon, lambda_.data(), n_labels_, stride_, best);
    order.clear();
    const int top = static_cast<int>(std::max_element(epsilon, epsilon + n_labels_) - epsilon);
    std::fill_n(best, stride_, epsilon[top]);
    for (std::size_t c = 0; c < columns_.line.size(); ++c) {
        const std::uint16_t* begin = columns_.cell.data() + columns_.ptr[c];
        const std::uint16_t* end = columns_.cell.data() + columns_.ptr[c + 1];
        double outside = epsilon[top];
        if (std::binary_search(begin, end, static_cast<std::uint16_t>(top))) {
            if (order.empty()) {
                for (int y = 0; y < n_labels_; ++y) order.push_back(y);
                std::sort(order.begin(), order.end(), [&](int a, int b) { return epsilon[a] > epsilon[b]; });
            }
            outside = -kInfinity;
            for (const int y : order) {
                if (std::binary_search(begin, end, static_cast<std::uint16_t>(y))) continue;
                outside = epsilon[y];
                break;
            }
        }
        for (std::uint32_t k = columns_.ptr[c]; k < columns_.ptr[c + 1]; ++k) {
            outside = std::max(outside, epsilon[columns_.cell[k]] + scores_.score[columns_.entry[k]]);
        }
        best[columns_.line[c]] = outside;
    }
}

}  // namespace sparsecrf
