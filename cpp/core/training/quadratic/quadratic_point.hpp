// The current point of coordinate descent on a quadratic model, with the data to compute a derivative and to move a
// coordinate.
//
// The block's matrix is too large for a cache, so the columns of its product with d are divided into tiles. A move
// changes the tile of its own coordinate at once, and all other tiles when the next coordinate belongs to another tile.
// Many rows then share a pass over each tile, and threads share the tiles. The terms of every sum are still added in
// the order of the moves.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/parallel.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/quadratic/quadratic.hpp"

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
    double slope(std::size_t k) {
        const std::int32_t parent = q_.parent[k], b = place(k);
        double slope = q_.g[k];
        if (b >= 0) {
            enter(b / kTile);
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
            enter(b / kTile);
            const double* row = q_.block.data() + static_cast<std::size_t>(b) * static_cast<std::size_t>(q_.width);
            const int first = tile_ * kTile, n = std::min(kTile, q_.width - first);
            simd_.axpy(q_.scale * change, row + first, n, block_d_.data() + first);
            if (n < q_.width) late_[static_cast<std::size_t>(n_late_++)] = {q_.scale * change, row};
            if (n_late_ == kMostLate) catch_up();
        } else if (parent >= 0) {
            coupled_[static_cast<std::size_t>(parent)] += q_.coupling[k] * change;
        }
        simd_.axpy(change, factors(k), q_.rank, r_.data());
        return change;
    }

   private:
    static constexpr int kTile = 128, kPart = 64;  // numbers of columns: of a tile, and of an item of a parallel loop
    static constexpr int kMostLate = 128;
    static constexpr int kWorthThreads = 1 << 16;  // multiply-adds
    static_assert(kTile % kPart == 0 && kPart % kLanes == 0);

    void enter(int tile) {
        if (tile == tile_) return;
        catch_up();
        tile_ = tile;
    }
    // Makes the late changes in all tiles except the current one.
    void catch_up() {
        if (n_late_ == 0) return;
        const int n = n_late_, threads = n * q_.width < kWorthThreads ? 1 : q_.threads;
        std::array<double, kMostLate> factors;
        for (int i = 0; i < n; ++i) factors[static_cast<std::size_t>(i)] = late_[static_cast<std::size_t>(i)].factor;
        parallel_for((q_.width + kPart - 1) / kPart, threads, 1, [&](int, std::int64_t part) {
            const int first = static_cast<int>(part) * kPart;
            if (first / kTile == tile_) return;
            std::array<const double*, kMostLate> rows;
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) rows[i] = late_[i].row + first;
            simd_.sum_rows(factors.data(), rows.data(), n, std::min(kPart, q_.width - first), block_d_.data() + first);
        });
        n_late_ = 0;
    }

    std::int32_t place(std::size_t k) const { return q_.place.empty() ? -1 : q_.place[k]; }
    const double* factors(std::size_t k) const { return q_.factors.data() + k * static_cast<std::size_t>(q_.rank); }

    const Quadratic& q_;
    const Kernels& simd_;
    const int n_p_, n_q_;                      // columns of P, of Q
    AlignedVector<double> r_;                  // P^T d, then Q^T d
    std::vector<double> curvature_, coupled_;  // coupled: sum of coupling * d over the children
    AlignedVector<double> block_d_;            // the block's matrix times d, without the late changes
    int tile_ = 0;                             // the tile of the last coordinate of the block
    struct Late {
        double factor;
        const double* row;
    };
    std::array<Late, kMostLate> late_;  // changes not yet made in all other tiles
    int n_late_ = 0;
    std::span<double> d_;
};

}  // namespace sparsecrf
