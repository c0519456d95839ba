#include "core/inference/recursion.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/infinity.hpp"

namespace sparsecrf {
namespace {

// Without forbidden pairs every possible label keeps alpha_t(y) >= exp(-spread_t) / Y, where spread_t is that of the
// scores at t: alpha_t(y) >= e_t(y) min E / c_t and c_t <= Y max e_t max E. Up to this spread nothing can underflow,
// nor can the squares of alpha and v that the curvature needs.
constexpr double kSafeSpread = 300.0;
// With forbidden pairs alpha can shrink step by step. It is watched: starting above kSafeAlpha, one step of at most
// kSafeForbiddenSpread cannot underflow, and the step after it falls back.
constexpr double kSafeForbiddenSpread = 230.0;
constexpr double kSafeAlpha = 1e-200;

}  // namespace

Recursion::Recursion(const Potentials& potentials, bool keep_zero_pairs)
    : potentials_(potentials),
      kernels_(kernels()),
      keep_zero_pairs_(keep_zero_pairs),
      n_labels_(potentials.n_labels()),
      stride_(potentials.stride()),
      scores_(stride_),
      exp_scores_(stride_),
      u_(stride_),
      beta_(stride_),
      row_(stride_),
      ones_(stride_, 1.0),
      touched_(stride_) {}

void Recursion::gather_rest(Lattice& lattice) {
    RestPairs& rest = lattice.rest;
    rest.clear();
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        double low = 0.0, high = 0.0;
        if (potentials_.has_rest(lattice.first + t)) {
            potentials_.rest(lattice.first + t, t == 0 ? Pairs::start : Pairs::inner, keep_zero_pairs_, pairs_);
            rest.pair.insert(rest.pair.end(), pairs_.pair.begin(), pairs_.pair.end());
            rest.delta.insert(rest.delta.end(), pairs_.score.begin(), pairs_.score.end());
            for (const double x : pairs_.score) {
                low = std::min(low, x);
                high = std::max(high, x);
            }
        }
        rest.range.push_back(high - low);
        rest.ptr.push_back(static_cast<std::int64_t>(rest.pair.size()));
    }
    for (std::vector<double>* x : {&rest.weight, &rest.growth, &rest.p, &rest.extra}) x->resize(rest.pair.size());
}

const double* Recursion::constrained_scores(const Lattice& lattice, std::int64_t t) {
    const double* s = potentials_.scores(lattice.first + t, scores_.data());
    const std::int32_t only = lattice.fixed == nullptr ? kMissing : lattice.fixed[t];
    const std::uint8_t* allowed = lattice.allowed == nullptr ? nullptr : lattice.allowed + t * n_labels_;
    if (only == kMissing && allowed == nullptr) return s;
    for (int y = 0; y < stride_; ++y) {
        const bool possible = y < n_labels_ && (only == kMissing || only == y) && (allowed == nullptr || allowed[y]);
        scores_[y] = possible ? s[y] : -kInfinity;
    }
    return scores_.data();
}

void Recursion::forward(Lattice& lattice) {
    gather_rest(lattice);
    open_ngrams(lattice);
    lattice.logarithmic = potentials_.kernel() == Kernel::log || !forward_linear(lattice);
    if (!lattice.logarithmic) return;
    lattice.ngrams.any() ? ngrams_forward_log(lattice) : forward_log(lattice);
}

void Recursion::backward(Lattice& lattice, std::int64_t first) {
    if (!lattice.logarithmic) {
        if (backward_linear(lattice, first)) return;
        lattice.logarithmic = true;
        ngrams_forward_log(lattice);
    }
    lattice.ngrams.any() ? ngrams_backward_log(lattice) : backward_log(lattice, first);
}

// alpha_{t+1}(y) = e_{t+1}(y) u_{t+1}(y) / c_{t+1},  u_{t+1}(y) = sum_{y'} alpha_t(y') E_{t+1}(y', y)
// log Z = sum_t (log c_t + shift_t),  e_t(y) = exp(score_t(y) - shift_t).  False: not safe here, use the log domain.
bool Recursion::forward_linear(Lattice& lattice) {
    const bool ngrams = lattice.ngrams.any();
    LogZ log_z;
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        const bool here = ngrams && lattice.ngrams.place[t] != nullptr;
        const double* u = u_.data();
        if (t == 0 && lattice.rest.ptr[0] == lattice.rest.ptr[1]) {
            u = potentials_.transition(lattice.first).start_weight();  // no n-gram has an arc here
        } else {
            start_forward(lattice, t, u_.data());
        }
        if (here && !ngrams_forward(lattice, t, u_.data())) return false;
        if (!finish_forward(lattice, t, u, log_z)) return false;
        if (here) ngrams_masses(lattice, t);
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
    if (lattice.rest.ptr[t] < lattice.rest.ptr[t + 1]) {
        correct_forward(lattice, t, lattice.alpha + (t - 1) * stride_, u);
    }
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
    double spread = (high - low) + (transition.high() - transition.low()) + lattice.rest.range[t];
    const NgramPlace* place = lattice.ngrams.any() ? lattice.ngrams.place[t] : nullptr;
    if (place != nullptr) spread += place->arcs->high - place->arcs->low;
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

// u(y) += alpha(y') E(y', y) (exp(delta) - 1) for the corrected pairs: E = E_base + E_base o (exp(delta) - 1).
void Recursion::correct_forward(Lattice& lattice, std::int64_t t, const double* alpha, double* u) {
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

// beta(y') += E(y', y) (exp(delta) - 1) v(y)
void Recursion::correct_backward(const Lattice& lattice, std::int64_t t, const double* v, double* beta) {
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

// p_t(y', y) = alpha_{t-1}(y') E(y', y) exp(delta) v_t(y)
void Recursion::pair_probabilities(Lattice& lattice, std::int64_t t) {
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

// v_t = beta_t e_t / c_t,  p_t = alpha_t beta_t,  beta_{t-1}(y') = sum_y E_t(y', y) v_t(y)
bool Recursion::backward_linear(Lattice& lattice, std::int64_t first) {
    const double* beta = ones_.data();
    const bool ngrams = lattice.ngrams.any();
    for (std::int64_t t = lattice.length - 1; t >= first; --t) {
        const double* v = lattice.v + t * stride_;
        const bool here = ngrams && lattice.ngrams.place[t] != nullptr;
        if (here) scaled_.assign(v, v + stride_);
        const double total = start_backward(lattice, t, beta);
        if (here && !ngrams_marginals(lattice, t, beta)) return false;
        if (t == first) break;
        finish_backward(lattice, t, total, beta_.data());
        if (here) ngrams_backward(lattice, t, beta_.data());
        beta = beta_.data();
    }
    return true;
}

double Recursion::start_backward(Lattice& lattice, std::int64_t t, const double* beta) {
    const double total = kernels_.backward_finish(lattice.alpha + t * stride_, beta, stride_, lattice.v + t * stride_,
                                                  lattice.p + t * stride_);
    if (lattice.rest.ptr[t] < lattice.rest.ptr[t + 1]) pair_probabilities(lattice, t);
    return total;
}

void Recursion::finish_backward(const Lattice& lattice, std::int64_t t, double total, double* beta) {
    const double* v = lattice.v + t * stride_;
    potentials_.transition(lattice.first + t).backward(v, total, beta);
    if (lattice.rest.ptr[t] < lattice.rest.ptr[t + 1]) correct_backward(lattice, t, v, beta);
}

void Recursion::edge_marginals(const Lattice& lattice, std::int64_t t, double* out) {
    const auto Y = static_cast<std::size_t>(n_labels_);
    const LabelPairs pairs(n_labels_);
    std::fill_n(out, pairs.size(), 0.0);
    const double* v = lattice.v + t * stride_;
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const Transition& transition = potentials_.transition(lattice.first + t);
    if (lattice.logarithmic && lattice.ngrams.any()) {
        if (t == 0) {
            std::copy_n(lattice.p, Y, out + pairs.n_inner());
        } else {
            std::copy_n(lattice.ngrams.edge.data() + static_cast<std::size_t>(t) * Y * Y, Y * Y, out);
        }
        return;
    }
    if (lattice.logarithmic) {
        const double* lambda = t == 0 ? start_scores(lattice) : dense_scores(lattice, t);
        for (std::size_t i = t == 0 ? Y : 0; i < (t == 0 ? Y + 1 : Y); ++i) {
            for (std::size_t y = 0; y < Y; ++y) {
                out[i * Y + y] =
                    t == 0 ? std::exp(lambda[y] + v[y]) : std::exp(alpha[i] + lambda[i * stride_ + y] + v[y]);
            }
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

void Recursion::pair_columns(const Lattice& lattice, std::int64_t t, const std::uint32_t* columns, double* out) {
    const auto Y = static_cast<std::size_t>(n_labels_), width = Y + 1;
    if (std::all_of(columns, columns + Y, [](std::uint32_t c) { return c == kNoString; })) return;
    const LabelPairs pairs(n_labels_);
    const auto cell = [&](std::uint32_t pair, auto set) {
        const std::uint32_t column = columns[pairs.label(pair)];
        if (column != kNoString) set(out[column * width + pairs.previous(pair)]);
    };
    if (t == 0) {
        for (std::size_t y = 0; y < Y; ++y) {
            if (columns[y] != kNoString) out[columns[y] * width + Y] = lattice.p[y];
        }
        return;
    }
    if (lattice.logarithmic) {
        std::vector<double> edge(pairs.size());
        edge_marginals(lattice, t, edge.data());
        for (std::uint32_t pair = 0; pair < pairs.n_inner(); ++pair) cell(pair, [&](double& p) { p = edge[pair]; });
        return;
    }
    const double* v = lattice.v + t * stride_;
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const Transition& transition = potentials_.transition(lattice.first + t);
    for (std::size_t y = 0; y < Y; ++y) {
        if (columns[y] == kNoString) continue;
        double* column = out + columns[y] * width;
        transition.column_weights(static_cast<int>(y), column);
        for (std::size_t i = 0; i < Y; ++i) column[i] *= alpha[i] * v[y];
    }
    if (lattice.ngrams.any() && lattice.ngrams.place[t] != nullptr) {
        const NgramPlace& place = *lattice.ngrams.place[t];
        const double* extra = lattice.ngrams.extra.data() + lattice.ngrams.pair_ptr[t];
        for (std::size_t k = 0; k < place.n_pairs(); ++k) {
            const std::uint32_t column = columns[place.pair_label[k]];
            if (column != kNoString) out[column * width + place.pair_previous[k]] += extra[k];
        }
    }
    for (std::int64_t k = lattice.rest.ptr[t]; k < lattice.rest.ptr[t + 1]; ++k) {
        cell(lattice.rest.pair[k], [&](double& p) { p = lattice.rest.p[k]; });
    }
}

}  // namespace sparsecrf
