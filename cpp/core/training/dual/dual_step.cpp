#include "core/training/dual/dual_step.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/lanes.hpp"

namespace sparsecrf {
namespace {

constexpr double kLonger = 1.6;  // the first c that a search tries, relative to the last c
constexpr double kPast = 0.3;    // allowed overshoot of the peak, as a fraction of the initial slope
constexpr int kMostTrials = 12;
constexpr double kSmall = 1e-4;  // logarithms of smaller numbers are rough; their error is below 1e-9 per position

}  // namespace

void DualStep::take(std::int64_t i, std::int64_t next) {
    c_ = 0.0;
    find_gap(i);
    if (u_.gap[static_cast<std::size_t>(i)] == 0.0) return;
    at_.backward();
    n_nodes_ = at_.length() * static_cast<std::size_t>(space_.stride);
    find_direction();
    find_rows();
    c_ = search(next);
    if (c_ == 0.0) return;
    kernels_.axpy(c_, d_nodes_.data(), static_cast<int>(n_nodes_), u_.nodes(i));
    u_.move_pairs(i, u_pairs_.data(), d_pairs_.data(), c_);
    find_places();
}

DualStep::Values DualStep::find_gap(std::int64_t i) {
    i_ = i;
    weight_ = space_.corpus.weight(i);
    u_.read_pairs(i, u_pairs_);
    at_.forward(i);
    const auto k = static_cast<std::size_t>(i);
    const double score = at_.score(u_.nodes(i), u_pairs_.data());
    u_.gap[k] = std::max(0.0, weight_ * (at_.log_z() - u_.entropy[k] - score));
    return {weight_ * (at_.log_z() - at_.score_of_labels()), weight_ * (std::abs(at_.log_z()) + std::abs(score))};
}

void DualStep::take_model(std::int64_t i) {
    at_.forward(i);
    at_.backward();
    std::copy_n(at_.p(), at_.length() * static_cast<std::size_t>(space_.stride), u_.nodes(i));
    i_ = i;
    u_pairs_.assign(u_.n_pairs(i) + kLanes, 0.0);
    find_pair_differences();
    u_.write_pairs(i, d_pairs_.data());
}

void DualStep::find_direction() {
    d_nodes_.assign(at_.p(), at_.p() + n_nodes_);
    kernels_.axpy(-1.0, u_.nodes(i_), static_cast<int>(n_nodes_), d_nodes_.data());
    find_pair_differences();
}

void DualStep::find_pair_differences() {
    const auto Y = static_cast<std::size_t>(space_.n_labels);
    d_pairs_.resize(std::max(d_pairs_.size(), u_.n_pairs(i_) + kLanes));
    at_.pair_differences(u_pairs_.data(), d_pairs_.data());
    std::fill_n(d_pairs_.begin() + static_cast<long>((at_.length() - 1) * Y * Y),
                u_.n_pairs(i_) + kLanes - (at_.length() - 1) * Y * Y, 0.0);
}

// Computes the change of the rows of Z, and the rows that can affect the search.
void DualStep::find_rows() {
    const DualRows rows = space_.rows(i_);
    const auto stride = static_cast<std::size_t>(space_.stride);
    for (AlignedVector<double>* of : {&d_rows_, &near_Z_, &near_d_}) {
        of->resize(std::max(of->size(), (rows.n + 1) * stride));
    }
    near_.resize(std::max(near_.size(), rows.n + 1));
    n_near_ = kernels_.dual_near(rows, d_nodes_.data(), weight_, d_rows_.data(), near_Z_.data(), near_d_.data(),
                                 near_.data());
    at_.sum_by_row(d_nodes_.data(), d_own_);
    n_own_ = at_.pair_rows().size();
    own_Z_.resize(d_own_.size());
    own_d_.resize(d_own_.size());
    own_.resize(n_own_);
    for (std::size_t r = 0; r < n_own_; ++r) {
        const std::size_t row = at_.pair_rows()[r], first = row * space_.pairs;
        own_[r] = space_.of_pair_row[row];
        for (std::size_t j = 0; j < space_.pairs; ++j) {
            double& d = d_own_[r * space_.pairs + j];
            d *= space_.allowed_pairs.empty() ? weight_ : weight_ * space_.allowed_pairs[first + j];
            own_d_[r * space_.pairs + j] = own_[r].times * d;
            own_Z_[r * space_.pairs + j] = space_.Z_pairs[first + j];
        }
    }
}

// The step length c in [0, 1]; 0 if none was found. D is concave in c, so a c with D' >= 0 is not past the peak. If D'
// < 0, the parabola through D(0), D(c) and D'(c) estimates the peak and the slope at 0.
double DualStep::search(std::int64_t next) {
    const auto k = static_cast<std::size_t>(i_);
    const auto stride = static_cast<std::size_t>(space_.stride);
    const bool single = n_nodes_ == stride;
    const std::size_t n_inner = single ? stride : n_nodes_ - 2 * stride;
    const double* u = u_.nodes(i_) + (single ? 0 : stride);
    const double* d = d_nodes_.data() + (single ? 0 : stride);
    const double sign = single ? -1.0 : 1.0;  // sign of the node terms in H
    const auto conjugate = [&](double c, double& slope) {
        double slope_own, square, square_own;
        kernels_.conjugate(near_Z_.data(), near_d_.data(), near_.data(), n_near_, stride, space_.rho1, c, &slope,
                           &square);
        kernels_.conjugate(own_Z_.data(), own_d_.data(), own_.data(), n_own_, space_.pairs, space_.rho1, c, &slope_own,
                           &square_own);
        slope += slope_own;
        return (square + square_own) / 2.0;
    };
    double slope;
    const double before = conjugate(0.0, slope);
    double c = std::min(1.0, kLonger * u_.step[k]);
    for (int trial = 0; trial < kMostTrials; ++trial) {
        double slope_pairs, slope_nodes, pairs_log, nodes_log;
        kernels_.entropy(u_pairs_.data(), d_pairs_.data(), c, kSmall, u_.n_pairs(i_),
                         u_.prefetched_pairs(trial == 0 ? next : i_), &slope_pairs, &pairs_log);
        kernels_.entropy(u, d, c, kSmall, n_inner, u_.prefetched_pairs(i_), &slope_nodes, &nodes_log);
        const double entropy = sign * nodes_log - pairs_log;
        const double after = conjugate(c, slope);
        slope = weight_ * (sign * slope_nodes - slope_pairs) - slope;
        const double gain = weight_ * (entropy - u_.entropy[k]) - (after - before);
        const double slope_at_0 = 2.0 * gain / c - slope;
        if (slope >= 0.0 || (gain > 0.0 && -slope <= kPast * slope_at_0)) {
            u_.entropy[k] = entropy;
            return u_.step[k] = c;
        }
        const double peak = slope_at_0 > 0.0 ? c * slope_at_0 / (slope_at_0 - slope) : 0.0;
        c = std::clamp(peak, 0.1 * c, 0.9 * c);
    }
    u_.step[k] = c;
    return 0.0;
}

void DualStep::certify(std::int64_t i) {
    u_.make_consistent(i, u_pairs_);
    u_.entropy[static_cast<std::size_t>(i)] = u_.entropy_of(i, u_pairs_);
    i_ = i;
    at_.take(i);
    d_nodes_.assign(u_.nodes(i), u_.nodes(i) + at_.length() * static_cast<std::size_t>(space_.stride));
    d_pairs_.assign(u_pairs_.begin(), u_pairs_.begin() + static_cast<long>(u_.n_pairs(i) + kLanes));
    subtract_labels();
}

double DualStep::differentiate(std::int64_t i) {
    i_ = i;
    at_.forward(i);
    at_.backward();
    d_nodes_.assign(at_.p(), at_.p() + at_.length() * static_cast<std::size_t>(space_.stride));
    u_pairs_.assign(u_.n_pairs(i) + kLanes, 0.0);
    find_pair_differences();
    subtract_labels();
    return space_.corpus.weight(i) * (at_.log_z() - at_.score_of_labels());
}

// Subtracts the labels of the data from the probabilities in d_nodes_ and d_pairs_, and sums the rows of the result.
void DualStep::subtract_labels() {
    const Corpus& corpus = space_.corpus;
    const auto Y = static_cast<std::size_t>(space_.n_labels), stride = static_cast<std::size_t>(space_.stride);
    for (std::size_t t = 0; t < at_.length(); ++t) {
        const std::int64_t position = at_.first() + static_cast<std::int64_t>(t);
        const auto y = static_cast<std::size_t>(corpus.labels[position]);
        d_nodes_[t * stride + y] -= 1.0;
        if (t > 0) d_pairs_[((t - 1) * Y + static_cast<std::size_t>(corpus.labels[position - 1])) * Y + y] -= 1.0;
    }
    c_ = 1.0;
    const DualRows rows = space_.rows(i_);
    d_rows_.resize(std::max(d_rows_.size(), rows.n * stride));
    kernels_.dual_differences(rows, d_nodes_.data(), corpus.weight(i_), d_rows_.data());
    at_.sum_pairs(d_pairs_.data());
    at_.sum_by_row(d_nodes_.data(), d_own_);
    n_own_ = at_.pair_rows().size();
    for (std::size_t r = 0; r < n_own_; ++r) {
        const std::size_t first = at_.pair_rows()[r] * space_.pairs;
        for (std::size_t j = 0; j < space_.pairs; ++j) {
            const double allowed = space_.allowed_pairs.empty() ? 1.0 : space_.allowed_pairs[first + j];
            d_own_[r * space_.pairs + j] *= corpus.weight(i_) * allowed;
        }
    }
    find_places();
}

void DualStep::find_places() {
    const DualRows rows = space_.rows(i_);
    const std::uint32_t* row = rows.row;
    for (std::size_t k = 0; k < shares_.size(); ++k) {
        row = std::lower_bound(row, rows.row + rows.n, shares_[k]);
        places_[k] = static_cast<std::size_t>(row - rows.row);
    }
}

void DualStep::add_to_rows(DualSpace::Sums to, std::size_t share) {
    if (c_ == 0.0) return;
    DualRows rows = space_.rows(i_);
    rows.Z = to.rows;
    rows.active = to.active;
    kernels_.dual_add(rows, d_rows_.data(), c_, places_[share], places_[share + 1]);
}

void DualStep::add_to_pairs(DualSpace::Sums to) {
    if (c_ == 0.0) return;
    for (std::size_t r = 0; r < n_own_; ++r) {
        kernels_.axpy(c_, d_own_.data() + r * space_.pairs, static_cast<int>(space_.pairs),
                      to.pairs + at_.pair_rows()[r] * space_.pairs);
    }
}

}  // namespace sparsecrf
