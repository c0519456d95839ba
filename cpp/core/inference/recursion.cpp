#include "core/inference/recursion.hpp"

#include <algorithm>

#include "core/base/infinity.hpp"

namespace sparsecrf {
namespace {

// Without forbidden pairs, alpha_t(y) >= exp(-spread_t) / Y for every possible label, where spread_t is the spread of
// the scores at t, because alpha_t(y) >= e_t(y) min E / c_t and c_t <= Y max e_t max E. Up to this spread, nothing can
// underflow, including the squares of alpha and v that the curvature needs.
constexpr double kSafeSpread = 300.0;
// With forbidden pairs, alpha can shrink with every step, so it is monitored. One step with a spread of at most
// kSafeForbiddenSpread cannot underflow if alpha was at least kSafeAlpha before; below kSafeAlpha, the log domain is
// used.
constexpr double kSafeForbiddenSpread = 230.0;
constexpr double kSafeAlpha = 1e-200;

}  // namespace

Recursion::Recursion(const Potentials& potentials, bool keep_zero_pairs)
    : LatticeScores(potentials, keep_zero_pairs),
      rest_(potentials),
      ngrams_(potentials),
      log_(potentials),
      exp_scores_(stride_),
      u_(stride_),
      beta_(stride_),
      row_(stride_),
      ones_(stride_, 1.0) {}

void Recursion::forward(Lattice& lattice) {
    gather_rest(lattice);
    ngrams_.open(lattice);
    lattice.logarithmic = false;
    if (potentials_.kernel() == Kernel::log || !forward_linear(lattice)) log_.forward(*this, lattice);
}

void Recursion::backward(Lattice& lattice, std::int64_t first) {
    if (!lattice.logarithmic) {
        if (backward_linear(lattice, first)) return;
        log_.forward(*this, lattice);
    }
    log_.backward(*this, lattice, first);
}

// alpha_{t+1}(y) = e_{t+1}(y) u_{t+1}(y) / c_{t+1},  u_{t+1}(y) = sum_{y'} alpha_t(y') E_{t+1}(y', y)
// log Z = sum_t (log c_t + shift_t),  e_t(y) = exp(score_t(y) - shift_t).  Returns false if the log domain is needed.
bool Recursion::forward_linear(Lattice& lattice) {
    LogZ log_z;
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        start_forward(lattice, t, u_.data());
        if (!ngrams_.forward(lattice, t, u_.data())) return false;
        if (!finish_forward(lattice, t, u_.data(), log_z)) return false;
        ngrams_.forward_masses(lattice, t);
    }
    lattice.log_z = log_z.finish();
    return true;
}

void Recursion::start_forward(Lattice& lattice, std::int64_t t, double* u) {
    const Transition& transition = potentials_.transition(lattice.first + t);
    if (t == 0) {
        std::copy_n(transition.start_weight(), stride_, u);
    } else {
        transition.forward(lattice.alpha + (t - 1) * stride_, u);
    }
    rest_.forward(lattice, t, u);
}

bool Recursion::finish_forward(Lattice& lattice, std::int64_t t, const double* u, LogZ& log_z) {
    const std::int64_t position = lattice.first + t;
    const bool constrained = lattice.fixed != nullptr || lattice.allowed != nullptr;
    const Transition& transition = potentials_.transition(position);
    double low, high;
    const double* e = constrained ? nullptr : potentials_.exp_scores(position, &low, &high);
    if (e == nullptr) {
        const double* s = constrained_scores(lattice, t);
        kernels_.range(s, stride_, &low, &high);
        if (!std::isfinite(high)) return false;
        kernels_.exp_shifted(s, high, stride_, exp_scores_.data());
        e = exp_scores_.data();
    }
    const double spread = (high - low) + (transition.high() - transition.low()) + lattice.rest.range[t] +
                          NgramCorrection::spread(lattice, t);
    const bool forbids = potentials_.forbids();
    if (!(spread <= (forbids ? kSafeForbiddenSpread : kSafeSpread))) return false;
    double* alpha = lattice.alpha + t * stride_;
    const double c = kernels_.forward_finish(e, u, stride_, alpha, lattice.v + t * stride_);
    if (!(c > 0.0) || !std::isfinite(c)) return false;
    for (int y = 0; forbids && y < n_labels_; ++y) {
        if (alpha[y] > 0.0 && alpha[y] < kSafeAlpha) return false;
    }
    log_z.sum.add(high);
    log_z.logs.add(c, log_z.sum);
    return true;
}

// v_t = beta_t e_t / c_t,  p_t = alpha_t beta_t,  beta_{t-1}(y') = sum_y E_t(y', y) v_t(y)
bool Recursion::backward_linear(Lattice& lattice, std::int64_t first) {
    const double* beta = ones_.data();
    for (std::int64_t t = lattice.length - 1; t >= first; --t) {
        ngrams_.keep_scaled(lattice, t);
        const double total = start_backward(lattice, t, beta);
        if (!ngrams_.marginals(lattice, t, beta)) return false;
        if (t == first) break;
        finish_backward(lattice, t, total, beta_.data());
        ngrams_.backward(lattice, t, beta_.data());
        beta = beta_.data();
    }
    return true;
}

double Recursion::start_backward(Lattice& lattice, std::int64_t t, const double* beta) {
    const double total = kernels_.backward_finish(lattice.alpha + t * stride_, beta, stride_, lattice.v + t * stride_,
                                                  lattice.p + t * stride_);
    rest_.marginals(lattice, t);
    return total;
}

void Recursion::finish_backward(const Lattice& lattice, std::int64_t t, double total, double* beta) {
    potentials_.transition(lattice.first + t).backward(lattice.v + t * stride_, total, beta);
    rest_.backward(lattice, t, beta);
}

void Recursion::edge_marginals(const Lattice& lattice, std::int64_t t, double* out) {
    const auto Y = static_cast<std::size_t>(n_labels_);
    const LabelPairs pairs(n_labels_);
    std::fill_n(out, pairs.size(), 0.0);
    const double* v = lattice.v + t * stride_;
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const Transition& transition = potentials_.transition(lattice.first + t);
    if (lattice.logarithmic) {
        const LogPairs log = log_.pairs(*this, lattice, t);
        for (std::size_t i = t == 0 ? Y : 0; i < (t == 0 ? Y + 1 : Y); ++i) {
            for (std::size_t y = 0; y < Y; ++y) out[i * Y + y] = log.at(i, y);
        }
        return;
    }
    if (t == 0) {
        for (std::size_t y = 0; y < Y; ++y) out[pairs.n_inner() + y] = transition.start_weight()[y] * v[y];
    } else {
        for (std::size_t i = 0; i < Y; ++i) {
            for (std::size_t y = 0; y < Y; ++y) {
                out[i * Y + y] = alpha[i] * transition.weight(static_cast<int>(i), static_cast<int>(y)) * v[y];
            }
        }
    }
    lattice.ngrams.for_each_extra(t, [&](std::uint32_t pair, double extra) { out[pair] += extra; });
    for (std::int64_t k = lattice.rest.ptr[t]; k < lattice.rest.ptr[t + 1]; ++k)
        out[lattice.rest.pair[k]] = lattice.rest.p[k];
}

void Recursion::class_marginals(const Lattice& lattice, std::int64_t t, double* out) {
    const LabelParts& parts = *potentials_.parts();
    const LabelPairs pairs(n_labels_);
    if (t == 0) return parts.sum_classes(lattice.p, out);
    if (lattice.logarithmic || !potentials_.transition(lattice.first + t)
                                    .class_sums(lattice.alpha + (t - 1) * stride_, lattice.v + t * stride_, out)) {
        return sum_class_marginals(lattice, t, out);
    }
    lattice.rest.for_each_extra(t, [&](std::uint32_t pair, double extra, double) {
        out[parts.class_pair(pairs.previous(pair), pairs.label(pair))] += extra;
    });
    for (std::uint32_t k = 0; k < parts.class_pairs().n_inner(); ++k) out[k] = std::max(out[k], 0.0);
}

// sum of p_t(y', y) over the labels of two classes
void Recursion::sum_class_marginals(const Lattice& lattice, std::int64_t t, double* out) {
    const LabelParts& parts = *potentials_.parts();
    const auto C = static_cast<std::size_t>(parts.n_classes()), Y = static_cast<std::size_t>(n_labels_);
    std::fill_n(out, C * C, 0.0);
    std::vector<double> edge;
    const double* lambda = nullptr;
    if (lattice.logarithmic) {
        lambda = dense_scores(lattice, t);
    } else {
        edge.resize(LabelPairs(n_labels_).size());
        edge_marginals(lattice, t, edge.data());
    }
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const double* v = lattice.v + t * stride_;
    for (std::size_t i = 0; i < Y; ++i) {
        const double* p = edge.data() + i * Y;
        if (lattice.logarithmic) {
            if (alpha[i] == -kInfinity) continue;
            const double* row = lambda + i * static_cast<std::size_t>(stride_);
            for (int y = 0; y < stride_; ++y) row_[y] = alpha[i] + row[y] + v[y];
            kernels_.exp_shifted(row_.data(), 0.0, stride_, u_.data());
            p = u_.data();
        }
        double* sums = out + parts.class_of(i) * C;
        for (std::size_t y = 0; y < Y; ++y) sums[parts.class_of(y)] += p[y];
    }
}

void Recursion::pair_columns(const Lattice& lattice, std::int64_t t, const std::uint32_t* columns, std::size_t stride,
                             double* out) {
    const auto Y = static_cast<std::size_t>(n_labels_);
    if (std::all_of(columns, columns + Y, [](std::uint32_t c) { return c == kNoString; })) return;
    const LabelPairs pairs(n_labels_);
    const auto cell = [&](std::uint32_t pair, auto set) {
        const std::uint32_t column = columns[pairs.label(pair)];
        if (column != kNoString) set(out[column * stride + pairs.previous(pair)]);
    };
    if (t == 0) {
        for (std::size_t y = 0; y < Y; ++y) {
            if (columns[y] != kNoString) out[columns[y] * stride + Y] = lattice.p[y];
        }
        return;
    }
    if (lattice.logarithmic) {
        const LogPairs log = log_.pairs(*this, lattice, t);
        for (std::size_t y = 0; y < Y; ++y) {
            for (std::size_t i = 0; columns[y] != kNoString && i < Y; ++i) out[columns[y] * stride + i] = log.at(i, y);
        }
        return;
    }
    const double* v = lattice.v + t * stride_;
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const Transition& transition = potentials_.transition(lattice.first + t);
    for (std::size_t y = 0; y < Y; ++y) {
        if (columns[y] == kNoString) continue;
        double* column = out + columns[y] * stride;
        transition.column_weights(static_cast<int>(y), column);
        for (std::size_t i = 0; i < Y; ++i) column[i] *= alpha[i] * v[y];
    }
    lattice.ngrams.for_each_extra(
        t, [&](std::uint32_t pair, double extra) { cell(pair, [&](double& p) { p += extra; }); });
    for (std::int64_t k = lattice.rest.ptr[t]; k < lattice.rest.ptr[t + 1]; ++k) {
        cell(lattice.rest.pair[k], [&](double& p) { p = lattice.rest.p[k]; });
    }
}

}  // namespace sparsecrf
