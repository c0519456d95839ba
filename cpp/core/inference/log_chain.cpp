#include "core/inference/log_chain.hpp"

#include <algorithm>

#include "core/base/compensated_sum.hpp"
#include "core/base/error.hpp"
#include "core/base/infinity.hpp"

namespace sparsecrf {
namespace {

// log sum_j exp(x[j]) over n entries; exp_x: scratch of the same length.
double log_sum_exp(const Kernels& k, const double* x, int n, double* exp_x) {
    double low, high;
    k.range(x, n, &low, &high);
    if (!(high > -kInfinity)) return high;
    k.exp_shifted(x, high, n, exp_x);
    double sum = 0.0;
    for (int j = 0; j < n; ++j) sum += exp_x[j];
    return high + std::log(sum);
}

}  // namespace

void check_log_sum(const Lattice& lattice, std::int64_t t, double log_c) {
    if (log_c == -kInfinity) {
        throw UnsatisfiableError("sequence ", lattice.sequence, ", position ", t,
                                 ": no label sequence up to here meets the constraints");
    }
    if (!std::isfinite(log_c)) {
        throw InputError("sequence ", lattice.sequence, ", position ", t,
                         ": expected finite scores, found an overflow: weights or values are too large");
    }
}

LogChain::LogChain(const Potentials& potentials)
    : kernels_(kernels()),
      n_labels_(potentials.n_labels()),
      stride_(potentials.stride()),
      u_(stride_),
      beta_(stride_),
      row_(stride_) {}

void LogChain::forward(LatticeScores& scores, Lattice& lattice) {
    lattice.logarithmic = true;
    lattice.ngrams.any() ? forward_ngrams(scores, lattice) : forward_labels(scores, lattice);
}

void LogChain::backward(LatticeScores& scores, Lattice& lattice, std::int64_t first) {
    lattice.ngrams.any() ? backward_ngrams(scores, lattice) : backward_labels(scores, lattice, first);
}

void LogChain::set_rest(Lattice& lattice, std::int64_t t, const double* lambda) const {
    RestPairs& rest = lattice.rest;
    const LabelPairs pairs(n_labels_);
    const LogPairs p(lattice, t, lambda, n_labels_, stride_);
    for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
        rest.p[k] = p.at(pairs.previous(rest.pair[k]), pairs.label(rest.pair[k]));
        rest.extra[k] = 0.0;
    }
}

// a_t(y) = s_t(y) + log sum_{y'} exp(log alpha_{t-1}(y') + lambda(y', y)),  log c_t = log sum_y exp a_t(y)
void LogChain::forward_labels(LatticeScores& scores, Lattice& lattice) {
    CompensatedSum log_z;
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        double* a = lattice.alpha + t * stride_;
        if (t == 0) {
            std::copy_n(scores.start_scores(lattice), stride_, a);
        } else {
            const double* previous = lattice.alpha + (t - 1) * stride_;
            const double* lambda = scores.dense_scores(lattice, t);
            kernels_.maxplus(previous, lambda, n_labels_, stride_, beta_.data());
            std::fill_n(a, stride_, 0.0);
            for (int i = 0; i < n_labels_; ++i) {
                if (previous[i] == -kInfinity) continue;
                const double* row = lambda + static_cast<std::size_t>(i) * stride_;
                for (int y = 0; y < stride_; ++y) {
                    row_[y] = beta_[y] == -kInfinity ? -kInfinity : previous[i] + row[y] - beta_[y];
                }
                kernels_.exp_shifted(row_.data(), 0.0, stride_, u_.data());
                for (int y = 0; y < stride_; ++y) a[y] += u_[y];
            }
            for (int y = 0; y < stride_; ++y) a[y] = beta_[y] == -kInfinity ? -kInfinity : beta_[y] + std::log(a[y]);
        }
        const double* s = scores.constrained_scores(lattice, t);
        for (int y = 0; y < stride_; ++y) a[y] += s[y];
        const double log_c = log_sum_exp(kernels_, a, stride_, u_.data());
        check_log_sum(lattice, t, log_c);
        double* ebar = lattice.v + t * stride_;
        for (int y = 0; y < stride_; ++y) {
            a[y] -= log_c;
            ebar[y] = s[y] - log_c;
        }
        log_z.add(log_c);
    }
    lattice.log_z = log_z.value();
}

// v_t = log beta_t + s_t - log c_t,  p_t = exp(log alpha_t + log beta_t),
// log beta_{t-1}(y') = log sum_y exp(lambda(y', y) + v_t(y))
void LogChain::backward_labels(LatticeScores& scores, Lattice& lattice, std::int64_t first) {
    std::fill_n(beta_.data(), stride_, 0.0);
    for (std::int64_t t = lattice.length - 1; t >= first; --t) {
        const double* alpha = lattice.alpha + t * stride_;
        double* v = lattice.v + t * stride_;
        double* p = lattice.p + t * stride_;
        // sum_y alpha_t(y) beta_t(y) = 1; correcting the rounding at every step keeps errors from accumulating.
        for (int y = 0; y < stride_; ++y) row_[y] = alpha[y] + beta_[y];
        const double drift = log_sum_exp(kernels_, row_.data(), stride_, u_.data());
        for (int y = 0; y < stride_; ++y) {
            beta_[y] -= drift;
            p[y] = std::exp(row_[y] - drift);
            v[y] = v[y] == -kInfinity ? -kInfinity : v[y] + beta_[y];
        }
        const double* lambda = scores.pair_scores(lattice, t);
        set_rest(lattice, t, lambda);
        if (t == first) break;
        for (int i = 0; i < n_labels_; ++i) {
            const double* row = lambda + static_cast<std::size_t>(i) * stride_;
            for (int y = 0; y < stride_; ++y) row_[y] = row[y] + v[y];
            beta_[i] = log_sum_exp(kernels_, row_.data(), stride_, u_.data());
        }
        std::fill(beta_.begin() + n_labels_, beta_.end(), -kInfinity);
    }
}

}  // namespace sparsecrf
