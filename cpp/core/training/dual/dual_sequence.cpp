#include "core/training/dual/dual_sequence.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/infinity.hpp"
#include "core/base/lanes.hpp"

namespace sparsecrf {
namespace {

// If pair scores differ by more than this, the sequence is processed in the log domain. Below this limit, a label that
// underflows because its own score is 708 below the best has a probability of at most exp(-108), because a path through
// this label changes two pairs.
constexpr double kWidestLinear = 300.0;

double log_of_sum(const double* x, std::size_t n) {
    const double most = *std::max_element(x, x + n);
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) sum += std::exp(x[k] - most);
    return most + std::log(sum);
}

// Calls visit(row, value) for the bigram attributes at a position.
template <class Visit>
void for_each_bigram(const DualSpace& space, std::int64_t t, Visit visit) {
    const Corpus& corpus = space.corpus;
    for (const auto& [lists, list] :
         {std::pair{&corpus.base_lists, corpus.base[t]}, std::pair{&corpus.rest_lists, corpus.rest[t]}}) {
        for (std::int64_t e = lists->begin(list); e < lists->end(list); ++e) {
            visit(static_cast<std::uint32_t>(space.pair_row[lists->id(e)]), lists->value(e));
        }
    }
}

}  // namespace

std::int64_t position_of_common_list(const Corpus& corpus) {
    std::vector<std::int64_t> count(corpus.base_lists.size(), 0);
    std::int64_t common = -1;
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        for (std::int64_t t = corpus.offsets[i] + 1; t < corpus.offsets[i + 1]; ++t) {
            if (corpus.rest[t] != 0) continue;
            ++count[corpus.base[t]];
            if (common < 0 || count[corpus.base[t]] > count[corpus.base[common]]) common = t;
        }
    }
    return common;
}

void PairMatrix::fill() {
    if (t < 0) return;
    const auto Y = static_cast<std::size_t>(space_.n_labels), Yp = static_cast<std::size_t>(space_.stride), n = Y * Y;
    scores.assign((n + kLanes - 1) / kLanes * kLanes, 0.0);
    for_each_bigram(space_, t, [&](std::uint32_t row, double value) {
        const double* Z = space_.Z_pairs.data() + row * space_.pairs;
        const double factor = -value * space_.of_pair_row[row].scale;
        for (std::size_t k = 0; k < n; ++k) scores[k] += factor * space_.excess(Z[k]);
    });
    const auto [low, high] = std::minmax_element(scores.begin(), scores.begin() + static_cast<long>(n));
    shift = *high;
    wide = *high - *low > kWidestLinear;
    E.assign(Y * Yp, 0.0);
    by_row.assign(Y * Yp, 0.0);
    exp_.resize(scores.size());
    kernels().exp_shifted(scores.data(), shift, static_cast<int>(scores.size()), exp_.data());
    for (std::size_t a = 0; a < Y; ++a) {
        for (std::size_t b = 0; b < Y; ++b) E[a * Yp + b] = by_row[b * Yp + a] = exp_[a * Y + b];
    }
}

DualSequence::DualSequence(DualSpace& space, const PairMatrix& common)
    : space_(space),
      corpus_(space.corpus),
      kernels_(kernels()),
      Y_(static_cast<std::size_t>(space.n_labels)),
      Yp_(static_cast<std::size_t>(space.stride)),
      inner_((Y_ * Y_ + kLanes - 1) / kLanes * kLanes),
      e_(Yp_, 0.0),
      u_(Yp_, 0.0),
      common_(common),
      list_place_(corpus_.base_lists.size(), 0),
      row_place_(space.pair_attribute.size(), 0) {}

void DualSequence::take(std::int64_t i) {
    sequence_ = i;
    first_ = corpus_.offsets[i];
    n_ = static_cast<std::size_t>(corpus_.length(i));
    find_lists();
}

// Positions with the same base list and no rest list share a matrix.
void DualSequence::find_lists() {
    if (list_of_.size() < n_) list_of_.resize(n_);
    lists_.clear();
    n_own_ = 0;
    rows_.clear();
    const auto add_rows = [&](std::int64_t t) {
        for_each_bigram(space_, t, [&](std::uint32_t row, double) {
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
        const auto has_list = [&](const PairMatrix& matrix) {
            return shared && matrix.t >= 0 && corpus_.base[matrix.t] == base && corpus_.rest[matrix.t] == 0;
        };
        if (shared && list_place_[base] < lists_.size() && has_list(*lists_[list_place_[base]])) {
            list_of_[t] = list_place_[base];
            continue;
        }
        list_of_[t] = static_cast<std::uint32_t>(lists_.size());
        if (shared) list_place_[base] = list_of_[t];
        add_rows(position);
        if (has_list(common_)) {
            lists_.push_back(&common_);
            continue;
        }
        if (own_.size() == n_own_) own_.emplace_back(space_, position);
        own_[n_own_].t = position;
        lists_.push_back(&own_[n_own_++]);
    }
}

void DualSequence::add_start() {
    for_each_bigram(space_, first_, [&](std::uint32_t row, double value) {
        const double* Z = space_.Z_pairs.data() + row * space_.pairs + Y_ * Y_;
        const double factor = -value * space_.of_pair_row[row].scale;
        for (std::size_t y = 0; y < Y_; ++y) s_[y] += factor * space_.excess(Z[y]);
    });
}

void DualSequence::forward(std::int64_t i) {
    take(i);
    for (AlignedVector<double>* of : {&alpha_, &v_, &p_}) of->resize(std::max(of->size(), n_ * Yp_));
    s_.assign(n_ * Yp_, 0.0);
    kernels_.dual_scores(space_.rows(i), s_.data());
    add_start();
    for (std::size_t l = 0; l < n_own_; ++l) own_[l].fill();
    logarithmic_ = std::any_of(lists_.begin(), lists_.end(), [](const PairMatrix* matrix) { return matrix->wide; });
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

// The same in logarithms. Here alpha is not scaled by c, and v includes the scores of its position.
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
    clear_sums();
    for (std::size_t t = 1; t < n_; ++t, u += Y_ * Y_, d += Y_ * Y_) {
        if (!logarithmic_) {
            kernels_.pair_differences(row(alpha_, t - 1), at(t).E.data(), row(v_, t), u, static_cast<int>(Y_),
                                      static_cast<int>(Yp_), d, sum_of(t));
        } else {
            for (std::size_t k = 0; k < Y_ * Y_; ++k) {
                const double log_p = row(alpha_, t - 1)[k / Y_] + at(t).scores[k] + row(v_, t)[k % Y_] - log_z_;
                d[k] = std::exp(log_p) - u[k];
            }
            add_to_sum(t, d);
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

// The numbers after the last pair of a position belong to the next position; `scores` is zero there.
double DualSequence::score(const double* nodes, const double* pairs) const {
    double sum = kernels_.dot(s_.data(), nodes, static_cast<int>(n_ * Yp_));
    for (std::size_t t = 1; t < n_; ++t, pairs += Y_ * Y_) {
        sum += kernels_.dot(at(t).scores.data(), pairs, static_cast<int>(inner_));
    }
    return sum;
}

void DualSequence::clear_sums() { sum_.assign(lists_.size() * Y_ * Yp_, 0.0); }

void DualSequence::add_to_sum(std::size_t t, const double* d) {
    double* sum = sum_of(t);
    for (std::size_t a = 0; a < Y_; ++a, sum += Yp_, d += Y_) {
        for (std::size_t b = 0; b < Y_; ++b) sum[b] += d[b];
    }
}

void DualSequence::sum_pairs(const double* d) {
    clear_sums();
    for (std::size_t t = 1; t < n_; ++t) add_to_sum(t, d + (t - 1) * Y_ * Y_);
}

void DualSequence::sum_by_row(const double* nodes, AlignedVector<double>& out) {
    out.assign(rows_.size() * space_.pairs, 0.0);
    if (n_ == 0) return;
    for_each_bigram(space_, first_, [&](std::uint32_t row, double value) {
        double* to = out.data() + row_place_[row] * space_.pairs + Y_ * Y_;
        for (std::size_t y = 0; y < Y_; ++y) to[y] += value * nodes[y];
    });
    for (std::size_t l = 0; l < lists_.size(); ++l) {
        for_each_bigram(space_, lists_[l]->t, [&](std::uint32_t row, double value) {
            double* to = out.data() + row_place_[row] * space_.pairs;
            const double* sum = sum_.data() + l * Y_ * Yp_;
            for (std::size_t a = 0; a < Y_; ++a, to += Y_, sum += Yp_) {
                for (std::size_t b = 0; b < Y_; ++b) to[b] += value * sum[b];
            }
        });
    }
}

}  // namespace sparsecrf
