#include "core/inference/transition.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/base/error.hpp"
#include "core/base/infinity.hpp"

namespace sparsecrf {
namespace {

// 1 + sum alpha M keeps at least 53 - 10 bits above this share of the sum without M; below, the cell is summed again.
constexpr double kCancelled = 0x1p-10;

// A sum of zero stays zero: E may have overflowed where only the log domain was used.
double times(double sum, double weight) { return sum == 0.0 ? 0.0 : sum * weight; }

}  // namespace

void Transition::report_stale(State needed, const char* method) const {
    constexpr const char* kNames[] = {"nothing", "`assign`", "`renew`"};
    throw std::logic_error(message("Transition::", method, ": expected scores of ",
                                   kNames[static_cast<std::size_t>(needed)], ", found those of ",
                                   kNames[static_cast<std::size_t>(state_)]));
}

void Transition::fill_scores(double* out) const {
    for (int i = 0; i < n_labels_; ++i) {
        double* row = out + static_cast<std::size_t>(i) * stride_;
        std::fill_n(row, n_labels_, 0.0);
        std::fill(row + n_labels_, row + stride_, -kInfinity);
    }
    for_each_pair(scores_.pair, n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
        out[i * static_cast<std::size_t>(stride_) + y] = scores_.score[k];
    });
}

void Transition::multiply(double* sums) const {
    if (dense_) {
        for (std::size_t k = 0; k < e_.size(); ++k) sums[k] = times(sums[k], e_[k]);
    } else {
        for_each_pair(scores_.pair, n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
            double& sum = sums[i * static_cast<std::size_t>(stride_) + y];
            sum = times(sum, weight_[k]);
        });
    }
    double* start = sums + static_cast<std::size_t>(n_labels_) * stride_;
    for (int y = 0; y < n_labels_; ++y) start[y] = times(start[y], start_weight_[y]);
}

void Transition::multiply(std::span<const std::uint32_t> pairs, double* sums) const {
    const LabelPairs numbers(n_labels_);
    std::size_t entry = 0;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        const std::uint32_t pair = pairs[k];
        if (numbers.is_start(pair)) {
            sums[k] = times(sums[k], start_weight_[numbers.start_label(pair)]);
        } else if (dense_) {
            sums[k] = times(sums[k], e_[std::size_t{numbers.previous(pair)} * stride_ + numbers.label(pair)]);
        } else {
            while (entry < scores_.pair.size() && scores_.pair[entry] < pair) ++entry;
            if (entry < scores_.pair.size() && scores_.pair[entry] == pair) sums[k] = times(sums[k], weight_[entry]);
        }
    }
}

// out(i) = base + sum_k m(i, k) x(k) for the lines in bundles; `again` sums a cell that lost digits another way.
template <class Again>
void Transition::sparse_product(const Bundles& bundles, const double* x, double base, double* out, Again again) {
    const double least = kCancelled * base;
    const std::uint16_t* cell = bundles.cell.data();
    const double* m = bundles.m.data();
    const std::uint16_t* line = bundles.line.data();
    for (std::size_t b = 0; b + 1 < bundles.ptr.size(); ++b, line += 4) {
        double s0 = base, s1 = base, s2 = base, s3 = base;
        for (std::uint32_t k = bundles.ptr[b]; k < bundles.ptr[b + 1]; ++k, cell += 4, m += 4) {
            s0 += m[0] * x[cell[0]];
            s1 += m[1] * x[cell[1]];
            s2 += m[2] * x[cell[2]];
            s3 += m[3] * x[cell[3]];
        }
        out[line[0]] = s0;
        out[line[1]] = s1;
        out[line[2]] = s2;
        out[line[3]] = s3;
        if (std::min(std::min(s0, s1), std::min(s2, s3)) >= least) continue;
        for (int l = 0; l < 4; ++l) {
            if (!(out[line[l]] >= least)) out[line[l]] = again(line[l]);
        }
    }
}

// alpha_{t+1}(y) / e_{t+1}(y) = 1 + sum_{y' in A(y)} alpha_t(y') M(y', y)
void Transition::forward(const double* alpha, double* u) const {
    if (dense_) return kernels().matvec(alpha, e_.data(), n_labels_, stride_, u);
    std::fill_n(u, stride_, 1.0);
    sparse_product(columns_, alpha, 1.0, u, [&](int y) { return column_sum(alpha, y); });
}

// beta_{t-1}(y') = sum_y v_t(y) + sum_{y: lambda != 0} M(y', y) v_t(y)
void Transition::backward(const double* v, double total, double* beta) const {
    if (dense_ && et_.empty()) {
        for (int i = 0; i < n_labels_; ++i) {
            beta[i] = kernels().dot(e_.data() + static_cast<std::size_t>(i) * stride_, v, stride_);
        }
        std::fill(beta + n_labels_, beta + stride_, 0.0);
        return;
    }
    if (dense_) return kernels().matvec(v, et_.data(), n_labels_, stride_, beta);
    std::fill_n(beta, stride_, total);
    sparse_product(rows_, v, total, beta, [&](int previous) { return row_sum(v, previous); });
}

double Transition::weight(int previous, int y) const {
    if (dense_) return e_[static_cast<std::size_t>(previous) * stride_ + y];
    const auto begin = column_row_.begin() + column_ptr_[y], end = column_row_.begin() + column_ptr_[y + 1];
    const auto found = std::lower_bound(begin, end, static_cast<std::uint16_t>(previous));
    if (found == end || *found != previous) return 1.0;
    return weight_[column_entry_[static_cast<std::size_t>(found - column_row_.begin())]];
}

double Transition::score(int previous, int y) const {
    const std::uint32_t pair =
        LabelPairs(n_labels_).pair(static_cast<std::uint32_t>(previous), static_cast<std::uint32_t>(y));
    const auto found = std::lower_bound(scores_.pair.begin(), scores_.pair.end(), pair);
    if (found == scores_.pair.end() || *found != pair) return 0.0;
    return scores_.score[static_cast<std::size_t>(found - scores_.pair.begin())];
}

void Transition::column_weights(int y, double* out) const {
    if (dense_) {
        for (int i = 0; i < n_labels_; ++i) out[i] = e_[static_cast<std::size_t>(i) * stride_ + y];
        return;
    }
    std::fill_n(out, n_labels_, 1.0);
    for (std::uint32_t k = column_ptr_[y]; k < column_ptr_[y + 1]; ++k) out[column_row_[k]] = weight_[column_entry_[k]];
}

void Transition::column_scores(int y, double* out) const {
    need(State::assigned, "column_scores");
    if (dense_) {
        for (int i = 0; i < n_labels_; ++i) out[i] = lambda_[static_cast<std::size_t>(i) * stride_ + y];
        return;
    }
    std::fill_n(out, n_labels_, 0.0);
    for (std::uint32_t k = column_ptr_[y]; k < column_ptr_[y + 1]; ++k)
        out[column_row_[k]] = scores_.score[column_entry_[k]];
}

double Transition::column_sum(const double* alpha, int y) const {
    double sum = 0.0;
    if (dense_) {
        for (int i = 0; i < n_labels_; ++i) sum += alpha[i] * e_[static_cast<std::size_t>(i) * stride_ + y];
        return sum;
    }
    std::uint32_t k = column_ptr_[y];
    for (int i = 0; i < n_labels_; ++i) {
        const bool entry = k < column_ptr_[y + 1] && column_row_[k] == i;
        sum += entry ? alpha[i] * weight_[column_entry_[k++]] : alpha[i];
    }
    return sum;
}

double Transition::row_sum(const double* v, int previous) const {
    double sum = 0.0;
    if (dense_) {
        for (int j = 0; j < n_labels_; ++j) sum += v[j] * e_[static_cast<std::size_t>(previous) * stride_ + j];
        return sum;
    }
    const std::uint32_t first = LabelPairs(n_labels_).pair(static_cast<std::uint32_t>(previous), 0);
    std::size_t k = row_ptr_[previous];
    for (int j = 0; j < n_labels_; ++j) {
        const bool entry = k < scores_.pair.size() && scores_.pair[k] == first + static_cast<std::uint32_t>(j);
        sum += entry ? v[j] * weight_[k++] : v[j];
    }
    return sum;
}

// The paper's sparse Viterbi step. Over the complement of A(y) the score is epsilon itself: the best of it is the
// first label outside A(y) in descending order of epsilon. The order is needed only if the overall best is in A(y).
void Transition::best(const double* epsilon, double* best, std::vector<int>& order) const {
    need(State::assigned, "best");
    if (dense_) return kernels().maxplus(epsilon, lambda_.data(), n_labels_, stride_, best);
    order.clear();
    std::size_t sorted = 0;  // so many of `order` are in their place: most columns need the first few only
    const auto ranked = [&](std::size_t k) {
        if (order.empty()) {
            for (int y = 0; y < n_labels_; ++y) order.push_back(y);
        }
        if (k >= sorted) {
            constexpr std::size_t kFirst = 16;
            const std::size_t next = std::min(order.size(), std::max(kFirst, 4 * sorted));
            const auto at = [&](std::size_t n) { return order.begin() + static_cast<std::ptrdiff_t>(n); };
            std::partial_sort(at(sorted), at(next), order.end(), [&](int a, int b) { return epsilon[a] > epsilon[b]; });
            sorted = next;
        }
        return order[k];
    };
    const int top = static_cast<int>(std::max_element(epsilon, epsilon + n_labels_) - epsilon);
    std::fill_n(best, stride_, epsilon[top]);
    for (int column = 0; column < n_labels_; ++column) {
        const std::uint16_t* begin = column_row_.data() + column_ptr_[column];
        const std::uint16_t* end = column_row_.data() + column_ptr_[column + 1];
        if (begin == end) continue;
        double outside = epsilon[top];
        if (std::binary_search(begin, end, static_cast<std::uint16_t>(top))) {
            outside = -kInfinity;
            for (std::size_t k = 0; k < static_cast<std::size_t>(n_labels_); ++k) {
                const int y = ranked(k);
                if (std::binary_search(begin, end, static_cast<std::uint16_t>(y))) continue;
                outside = epsilon[y];
                break;
            }
        }
        for (std::uint32_t k = column_ptr_[column]; k < column_ptr_[column + 1]; ++k) {
            outside = std::max(outside, epsilon[column_row_[k]] + scores_.score[column_entry_[k]]);
        }
        best[column] = outside;
    }
}

}  // namespace sparsecrf
