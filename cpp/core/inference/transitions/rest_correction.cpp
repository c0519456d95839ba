#include "core/inference/transitions/rest_correction.hpp"

#include <algorithm>
#include <cmath>

namespace sparsecrf {

// u(y) += alpha(y') E(y', y) (exp(delta) - 1) for the corrected pairs: E = E_base + E_base o (exp(delta) - 1).
void RestCorrection::add(Lattice& lattice, std::int64_t t, double* u) {
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const Transition& transition = potentials_.transition(lattice.first + t);
    const LabelPairs pairs(n_labels_);
    RestPairs& rest = lattice.rest;
    std::copy_n(u, stride_, touched_.data());
    bool cancelled = false;
    for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
        const double delta = rest.delta[k];
        const std::uint32_t previous = pairs.previous(rest.pair[k]), y = pairs.label(rest.pair[k]);
        rest.weight[k] =
            t == 0 ? transition.start_weight()[y] : transition.weight(static_cast<int>(previous), static_cast<int>(y));
        rest.growth[k] = delta == 0.0 ? 0.0 : std::expm1(delta);
        if (delta == 0.0) continue;
        if (t == 0) {
            u[y] *= std::exp(delta);
            continue;
        }
        u[y] += alpha[previous] * rest.weight[k] * rest.growth[k];
        cancelled |= u[y] < kCancelled * touched_[y];
    }
    if (!cancelled) return;
    for (int y = 0; y < n_labels_; ++y) {
        if (u[y] >= kCancelled * touched_[y]) continue;
        double sum = 0.0;
        for (int i = 0; i < n_labels_; ++i) row_[i] = alpha[i] * transition.weight(i, y);
        for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
            const std::uint32_t pair = rest.pair[k];
            if (pairs.label(pair) == static_cast<std::uint32_t>(y))
                row_[pairs.previous(pair)] *= std::exp(rest.delta[k]);
        }
        for (int i = 0; i < n_labels_; ++i) sum += row_[i];
        u[y] = sum;
    }
}

// p_t(y', y) = alpha_{t-1}(y') E(y', y) exp(delta) v_t(y)
void RestCorrection::set_marginals(Lattice& lattice, std::int64_t t) {
    const double* v = lattice.v + t * stride_;
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const LabelPairs pairs(n_labels_);
    RestPairs& rest = lattice.rest;
    for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
        const std::uint32_t previous = pairs.previous(rest.pair[k]), y = pairs.label(rest.pair[k]);
        const double base = (t == 0 ? rest.weight[k] : alpha[previous] * rest.weight[k]) * v[y];
        rest.extra[k] = base * rest.growth[k];
        rest.p[k] = rest.delta[k] == 0.0 ? base : base * std::exp(rest.delta[k]);
    }
}

// beta(y') += E(y', y) (exp(delta) - 1) v(y)
void RestCorrection::add_backward(const Lattice& lattice, std::int64_t t, double* beta) {
    const double* v = lattice.v + t * stride_;
    const Transition& transition = potentials_.transition(lattice.first + t);
    const LabelPairs pairs(n_labels_);
    const RestPairs& rest = lattice.rest;
    std::copy_n(beta, stride_, touched_.data());
    bool cancelled = false;
    for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
        if (rest.delta[k] == 0.0) continue;
        const std::uint32_t previous = pairs.previous(rest.pair[k]), y = pairs.label(rest.pair[k]);
        beta[previous] += rest.weight[k] * rest.growth[k] * v[y];
        cancelled |= beta[previous] < kCancelled * touched_[previous];
    }
    if (!cancelled) return;
    for (int i = 0; i < n_labels_; ++i) {
        if (beta[i] >= kCancelled * touched_[i]) continue;
        double sum = 0.0;
        for (int y = 0; y < n_labels_; ++y) row_[y] = transition.weight(i, y) * v[y];
        for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
            const std::uint32_t pair = rest.pair[k];
            if (pairs.previous(pair) == static_cast<std::uint32_t>(i))
                row_[pairs.label(pair)] *= std::exp(rest.delta[k]);
        }
        for (int y = 0; y < n_labels_; ++y) sum += row_[y];
        beta[i] = sum;
    }
}

}  // namespace sparsecrf
