// Weights under an elastic net with lazy updates: a row is brought up to date only when it is read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/prefetch.hpp"

namespace sparsecrf {

// Every step t decays all weights, subtracts its gradient, and adds to the cumulative l1 penalty (Tsuruoka, Tsujii and
// Ananiadou 2009), which each weight receives as far as it can without changing sign. With d = 1 - eta rho2/N,
//
//     w <- d w - eta g,   u <- d u + eta rho1/N,   q_k <- d q_k
//     z = max(0, w_k - (u + q_k)) if w_k > 0,  min(0, w_k + (u - q_k)) if w_k < 0;   q_k += z - w_k;   w_k = z
//
// u is the penalty that a weight could have received so far, and q_k is the signed penalty that w_k has received. Both
// decay with the weights, so in units of S, the product of the d, every update is an addition. A weight whose g is 0
// for some steps can therefore receive the penalties of these steps at once, with the same result.
class LazyWeights {
   public:
    // w, q: [K], owned by the caller.
    LazyWeights(std::span<double> w, std::span<double> q, double u, double rho1, double rho2, std::int64_t n_rows)
        : w_(w), q_(q), u_(u), rho1_(rho1), rho2_(rho2), rows_(static_cast<std::size_t>(n_rows)) {}

    // Brings the weights [begin, end), which are row `row`, up to date. Returns false if they already were.
    bool settle(std::int64_t row, std::int64_t begin, std::int64_t end) {
        Row& last = rows_[static_cast<std::size_t>(row)];
        if (last.step == step_) return false;
        if (last.scale != scale_) {
            const double decay = scale_ / last.scale;
            for (std::int64_t k = begin; k < end; ++k) w_[k] *= decay;
        }
        last = {scale_, step_};
        if (rho1_ > 0.0) clip(begin, end);
        return true;
    }

    // The same for the weights at first + each of `places`, with rho1 multiplied by a factor (`factors`, by place).
    bool settle(std::int64_t row, std::int64_t first, std::span<const std::uint32_t> places,
                std::span<const double> factors) {
        Row& last = rows_[static_cast<std::size_t>(row)];
        if (last.step == step_) return false;
        const double decay = scale_ / last.scale;
        last = {scale_, step_};
        for (const std::uint32_t place : places) {
            const std::int64_t k = first + place;
            w_[k] *= decay;
            if (rho1_ > 0.0) clip(k, k + 1, factors[place]);
        }
        return true;
    }

    // Prefetches the memory that `settle` needs.
    SPARSECRF_PREFETCHES void prefetch_row(std::int64_t row) const { prefetch(rows_.data() + row); }
    SPARSECRF_PREFETCHES void prefetch_weights(std::int64_t begin) const {
        prefetch(w_.data() + begin);
        prefetch(q_.data() + begin);
    }

    // Takes one step of size eta, with penalties for a share 1/N of the data. Subtract a gradient g of this step from
    // settled weights as (returned factor) * g.
    double advance(double eta, double n) {
        const double decay = 1.0 - eta * rho2_ / n;
        ++step_;
        scale_ *= decay;
        u_ += eta * rho1_ / n / scale_;
        return eta / decay;
    }

    double scale() const { return scale_; }
    double u() const { return u_; }
    // Resets S to 1; every row must be settled.
    void rescale() {
        for (double& q : q_) q *= scale_;
        u_ *= scale_;
        scale_ = 1.0;
        for (Row& row : rows_) row.scale = 1.0;
        ++step_;  // invalidates copies of settled rows
    }

   private:
    // factor: multiplies u, which is based on rho1.
    void clip(std::int64_t begin, std::int64_t end, double factor = 1.0) {
        const double S = scale_, per_S = 1.0 / scale_, u = factor * (S * u_);
        for (std::int64_t k = begin; k < end; ++k) {
            const double w = w_[k];
            if (w == 0.0) continue;
            const double z = w > 0.0 ? std::max(0.0, w - (u + S * q_[k])) : std::min(0.0, w + (u - S * q_[k]));
            q_[k] += (z - w) * per_S;
            w_[k] = z;
        }
    }

    struct Row {
        double scale = 1.0;      // S when last settled
        std::int64_t step = -1;  // step when last settled
    };

    std::span<double> w_;  // [K] a row last settled at scale S' holds S'/S times its weights
    std::span<double> q_;  // [K] in units of S
    double u_;             // in units of S
    const double rho1_, rho2_;
    double scale_ = 1.0;  // S
    std::int64_t step_ = 0;
    std::vector<Row> rows_;
};

}  // namespace sparsecrf
