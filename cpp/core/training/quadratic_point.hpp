// The current point of coordinate descent on a quadratic model, with the data to compute a derivative and to move a
// coordinate.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/quadratic.hpp"

namespace sparsecrf {

class QuadraticPoint {
   public:
    // d: [K], zero on entry.
    QuadraticPoint(const Quadratic& q, std::span<double> d)
        : q_(q),
          simd_(kernels()),
          n_p_(q.subtracted),
          n_q_(q.rank - q.subtracted),
          r_(static_cast<std::size_t>(q.rank), 0.0),
          curvature_(q.w.size()),
          coupled_(q.w.size(), 0.0),
          block_d_(static_cast<std::size_t>(q.width), 0.0),
          d_(d) {
        for (std::size_t k = 0; k < q.w.size(); ++k) {
            const double* row = factors(k);
            const double c = q.diagonal[k] - simd_.dot(row, row, n_p_) + simd_.dot(row + n_p_, row + n_p_, n_q_);
            curvature_[k] = std::max(c, 1e-6 * q.diagonal[k]);
        }
    }

    // Second derivative along coordinate k.
    double curvature(std::size_t k) const { return curvature_[k]; }

    // w_k + d_k
    double z(std::size_t k) const { return q_.w[k] + d_[k]; }

    // Derivative of g . d + d' B d / 2 along coordinate k.
    double slope(std::size_t k) const {
        const std::int32_t parent = q_.parent[k], b = place(k);
        double slope = q_.g[k];
        if (b >= 0) {
            slope += block_d_[static_cast<std::size_t>(b)];
        } else {
            slope += q_.diagonal[k] * d_[k];
            slope += parent < 0 ? coupled_[k] : q_.coupling[k] * d_[static_cast<std::size_t>(parent)];
        }
        const double* row = factors(k);
        return slope + (simd_.dot(row + n_p_, r_.data() + n_p_, n_q_) - simd_.dot(row, r_.data(), n_p_));
    }

    // Sets w_k + d_k to z. Returns the change.
    double move(std::size_t k, double z) {
        const double change = z - this->z(k);
        if (change == 0.0) return 0.0;
        const std::int32_t parent = q_.parent[k], b = place(k);
        d_[k] = z - q_.w[k];
        if (b >= 0) {
            const std::size_t first = static_cast<std::size_t>(b) * static_cast<std::size_t>(q_.width);
            simd_.axpy(q_.scale * change, q_.block.data() + first, q_.width, block_d_.data());
        } else if (parent >= 0) {
            coupled_[static_cast<std::size_t>(parent)] += q_.coupling[k] * change;
        }
        simd_.axpy(change, factors(k), q_.rank, r_.data());
        return change;
    }

   private:
    std::int32_t place(std::size_t k) const { return q_.place.empty() ? -1 : q_.place[k]; }
    const double* factors(std::size_t k) const { return q_.factors.data() + k * static_cast<std::size_t>(q_.rank); }

    const Quadratic& q_;
    const Kernels& simd_;
    const int n_p_, n_q_;                      // columns of P, of Q
    AlignedVector<double> r_;                  // P^T d, then Q^T d
    std::vector<double> curvature_, coupled_;  // coupled: sum of coupling * d over the children
    AlignedVector<double> block_d_;            // the block's matrix times d
    std::span<double> d_;
};

}  // namespace sparsecrf
