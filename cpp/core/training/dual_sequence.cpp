#include "core/training/dual_sequence.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/infinity.hpp"
#include "core/base/lanes.hpp"

namespace sparsecrf {
namespace {

// If pair scores differ by more, the sequence is processed in the log domain. Up to here, a label that underflows
// because its own score is 708 below the best has a probability of at most exp(-108): a path through it changes two
// pairs.
constexpr double kWidestLinear = 300.0;

double log_of_sum(const double* x, std::size_t n) {
    const double most = *std::max_element(x, x + n);
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) sum += std::exp(x[k] - most);
    return most + std::log(sum);
}

}  // namespace

DualSequence::DualSequence(DualSpace& space)
    : space_(space),
      corpus_(space.corpus),
      kernels_(kernels()),
      Y_(static_cast<std::size_t>(space.n_labels)),
      Yp_(static_cast<std::size_t>(space.stride)),
      inner_((Y_ * Y_ + kLanes - 1) / kLanes * kLanes),
      e_(Yp_, 0.0),
      u_(Yp_, 0.0),
      list_place_(corpus_.base_lists.size(), 0),
      row_place_(space.pair_attribute.size(), 0) {}

template <class Visit>
void DualSequence::for_each_bigram(std::int64_t t, Visit visit) const {
    for (const auto& [lists, list] :
         {std::pair{&corpus_.base_lists, corpus_.base[t]}, std::pair{&corpus_.rest_lists, corpus_.rest[t]}}) {
        for (std::int64_t e = lists->begin(list); e < lists->end(list); ++e) {
            visit(static_cast<std::uint32_t>(space_.pair_row[lists->id(e)]), lists->value(e));
        }
    }
}

void DualSequence::take(std::int64_t i) {
    sequence_ = i;
    first_ = corpus_.offsets[i];
    n_ = static_cast<std::size_t>(corpus_.length(i));
    find_lists();
}

// Positions with the same base list and no rest list share a matrix.
void DualSequence::find_lists() {
    if (list_of_.size() < n_) list_of_.resize(n_);
    n_lists_ = 0;
    rows_.clear();
    const auto add_rows = [&](std::int64_t t) {
        for_each_bigram(t, [&](std::uint32_t row, double) {
            if (row_place_[row] < rows_.size() && rows_[row_place_[row]] == row) return;
            row_place_[row] = static_cast<std::uint32_t>(rows_.size());
            rows_.push_back(row);
        });
    };
    if (n_ > 0) add_rows(first_);
    for (std::size_t t = 1; t < n_; ++t) {
        const std::int64_t position = first_ + static_cast<std::int64_t>(t);
        const std::uint32_t base = corpus_.base[position];
        const bool shared = corpus_.rest[position] == 0;
        if (shared && list_place_[base] < n_lists_) {
            const std::int64_t other = matrices_[list_place_[base]].t;
            if (corpus_.base[other] == base && corpus_.rest[other] == 0) {
                list_of_[t] = list_place_[base];
                continue;
            }
        }
        list_of_[t] = static_cast<std::uint32_t>(n_lists_);
        if (shared) list_place_[base] = list_of_[t];
        if (matrices_.size() == n_lists_) matrices_.emplace_back();
        matrices_[n_lists_++].t = position;
        add_rows(position);
    }
}

void DualSequence::fill(Matrix& matrix) {
    matrix.scores.assign(inner_, 0.0);
    const std::size_t n = Y_ * Y_;
    for_each_bigram(matrix.t, [&](std::uint32_t row, double value) {
        const double* Z = space_.Z_pairs.data() + row * space_.pairs;
        const double factor = -value * space_.pair_scale[row];
        for (std::size_t k = 0; k < n; ++k) matrix.scores[k] += factor * space_.excess(Z[k]);
    });
    const auto [low, high] = std::minmax_element(matrix.scores.begin(), matrix.scores.begin() + static_cast<long>(n));
    matrix.shift = *high;
    if (*high - *low > kWidestLinear) logarithmic_ = true;
    matrix.E.assign(Y_ * Yp_, 0.0);
    matrix.by_row.assign(Y_ * Yp_, 0.0);
    sum_.resize(std::max(sum_.size(), inner_));
    kernels_.exp_shifted(matrix.scores.data(), matrix.shift, static_cast<int>(inner_), sum_.data());
    for (std::size_t a = 0; a < Y_; ++a) {
        for (std::size_t b = 0; b < Y_; ++b) {
            matrix.E[a * Yp_ + b] = matrix.by_row[b * Yp_ + a] = sum_[a * Y_ + b];
        }
    }
}

void DualSequence::add_start() {
    for_each_bigram(first_, [&](std::uint32_t row, double value) {
        const double* Z = space_.Z_pairs.data() + row * space_.pairs + Y_ * Y_;
        const double factor = -value * space_.pair_scale[row];
        for (std::size_t y = 0; y < Y_; ++y) s_[y] += factor * space_.excess(Z[y]);
    });
}

void DualSequence::forward(std::int64_t i) {
    take(i);
    for (AlignedVector<double>* of : {&alpha_, &v_, &p_}) of->resize(std::max(of->size(), n_ * Yp_));
    s_.assign(n_ * Yp_, 0.0);
    kernels_.dual_scores(space_.rows(i), s_.data());
    add_start();
    logarithmic_ = false;
    for (std::size_t l = 0; l < n_lists_; ++l) fill(matrices_[l]);
    if (logarithmic_) {
        forward_log();
    } else {
        forward_linear();
    }
}

// alpha_t(y) = e_t(y) sum_y' alpha_{t-1}(y') E(y', y) / c_t;  log Z = sum_t log c_t + the shifts subtracted from the
// scores
void DualSequence::forward_linear() {
    log_z_ = 0.0;
    const int stride = static_cast<int>(Yp_);
    for (std::size_t t = 0; t < n_; ++t) {
        const double* s = row(s_, t);
        const double most = *std::max_element(s, s + Y_);
        kernels_.exp_shifted(s, most, stride, e_.data());
        if (t == 0) {
            std::fill(u_.begin(), u_.end(), 0.0);
            std::fill_n(u_.begin(), Y_, 1.0);
        } else {
            kernels_.matvec(row(alpha_, t - 1), at(t).E.data(), static_cast<int>(Y_), stride, u_.data());
            log_z_ += at(t).shift;
        }
        log_z_ += most + std::log(kernels_.forward_finish(e_.data(), u_.data(), stride, row(alpha_, t), row(v_, t)));
    }
}

void DualSequence::backward() {
    if (logarithmic_) {
        backward_log();
    } else {
        backward_linear();
    }
}

// beta_{t-1}(y') = sum_y E(y', y) v_t(y) with v_t = e_t / c_t beta_t;  p_t = alpha_t beta_t
void DualSequence::backward_linear() {
    const int stride = static_cast<int>(Yp_);
    std::fill(u_.begin(), u_.end(), 0.0);
    std::fill_n(u_.begin(), Y_, 1.0);
    for (std::size_t t = n_; t-- > 0;) {
        kernels_.backward_finish(row(alpha_, t), u_.data(), stride, row(v_, t), row(p_, t));
        if (t > 0) kernels_.matvec(row(v_, t), at(t).by_row.data(), static_cast<int>(Y_), stride, u_.data());
    }
}

// The same in logarithms, with alpha not scaled by c and v including the scores of its position.
void DualSequence::forward_log() {
    for (std::size_t t = 0; t < n_; ++t) {
        for (std::size_t y = 0; y < Y_; ++y) {
            double before = 0.0;
            if (t > 0) {
                for (std::size_t k = 0; k < Y_; ++k) e_[k] = row(alpha_, t - 1)[k] + at(t).scores[k * Y_ + y];
                before = log_of_sum(e_.data(), Y_);
            }
            row(alpha_, t)[y] = before + row(s_, t)[y];
        }
    }
    log_z_ = n_ == 0 ? 0.0 : log_of_sum(row(alpha_, n_ - 1), Y_);
}

void DualSequence::backward_log() {
    std::fill(p_.begin(), p_.begin() + static_cast<long>(n_ * Yp_), 0.0);
    for (std::size_t t = n_; t-- > 0;) {
        for (std::size_t y = 0; y < Y_; ++y) {
            double after = 0.0;
            if (t + 1 < n_) {
                for (std::size_t k = 0; k < Y_; ++k) e_[k] = at(t + 1).scores[y * Y_ + k] + row(v_, t + 1)[k];
                after = log_of_sum(e_.data(), Y_);
            }
            row(v_, t)[y] = row(s_, t)[y] + after;
            row(p_, t)[y] = std::exp(row(alpha_, t)[y] + after - log_z_);
        }
    }
}

void DualSequence::pair_differences(const double* u, double* d) {
    for (std::size_t t = 1; t < n_; ++t, u += Y_ * Y_, d += Y_ * Y_) {
        if (!logarithmic_) {
            kernels_.pair_differences(row(alpha_, t - 1), at(t).E.data(), row(v_, t), u, static_cast<int>(Y_),
                                      static_cast<int>(Yp_), d);
            continue;
        }
        for (std::size_t k = 0; k < Y_ * Y_; ++k) {
            const double log_p = row(alpha_, t - 1)[k / Y_] + at(t).scores[k] + row(v_, t)[k % Y_] - log_z_;
            d[k] = std::exp(log_p) - u[k];
        }
    }
}

double DualSequence::score_of_labels() const {
    double sum = 0.0;
    for (std::size_t t = 0; t < n_; ++t) {
        const auto label = [&](std::size_t s) {
            return static_cast<std::size_t>(corpus_.labels[first_ + static_cast<std::int64_t>(s)]);
        };
        sum += s_[t * Yp_ + label(t)];
        if (t > 0) sum += at(t).scores[label(t - 1) * Y_ + label(t)];
    }
    return sum;
}

double DualSequence::score(const double* nodes, const double* pairs) {
    double sum = kernels_.dot(s_.data(), nodes, static_cast<int>(n_ * Yp_));
    sum_.assign(std::max<std::size_t>(n_lists_, 1) * inner_, 0.0);
    for (std::size_t t = 1; t < n_; ++t) {
        kernels_.axpy(1.0, pairs + (t - 1) * Y_ * Y_, static_cast<int>(inner_), sum_.data() + list_of_[t] * inner_);
    }
    for (std::size_t l = 0; l < n_lists_; ++l) {
        // The numbers after the last pair belong to other positions.
        std::fill(sum_.begin() + static_cast<long>(l * inner_ + Y_ * Y_),
                  sum_.begin() + static_cast<long>((l + 1) * inner_), 0.0);
        sum += kernels_.dot(matrices_[l].scores.data(), sum_.data() + l * inner_, static_cast<int>(inner_));
    }
    return sum;
}

void DualSequence::sum_pairs(const double* nodes, const double* d, AlignedVector<double>& out) {
    out.assign(rows_.size() * space_.pairs, 0.0);
    if (n_ == 0) return;
    for_each_bigram(first_, [&](std::uint32_t row, double value) {
        double* to = out.data() + row_place_[row] * space_.pairs + Y_ * Y_;
        for (std::size_t y = 0; y < Y_; ++y) to[y] += value * nodes[y];
    });
    sum_.assign(std::max<std::size_t>(n_lists_, 1) * inner_, 0.0);
    for (std::size_t t = 1; t < n_; ++t) {
        kernels_.axpy(1.0, d + (t - 1) * Y_ * Y_, static_cast<int>(inner_), sum_.data() + list_of_[t] * inner_);
    }
    for (std::size_t l = 0; l < n_lists_; ++l) {
        for_each_bigram(matrices_[l].t, [&](std::uint32_t row, double value) {
            double* to = out.data() + row_place_[row] * space_.pairs;
            for (std::size_t k = 0; k < Y_ * Y_; ++k) to[k] += value * sum_[l * inner_ + k];
        });
    }
}

}  // namespace sparsecrf
