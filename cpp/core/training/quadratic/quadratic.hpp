// The inner problem of the proximal quasi-Newton solver: an elastic net over a quadratic model.
#pragma once

#include <cstdint>
#include <span>

namespace sparsecrf {

// Used by every local model, also in Python (as RIDGE and RADIUS).
inline constexpr double kRidge = 0.1;   // added to the curvature of every feature
inline constexpr double kRadius = 1.0;  // the maximum change of a weight in one step

struct Quadratic {
    std::span<const double> g;         // [K] gradient of the loss at w
    std::span<const double> w;         // [K]
    std::span<const double> diagonal;  // [K] D > 0
    // A feature may be coupled to one other feature, its parent (-1 if none), with curvature `coupling` between the
    // two. Parents have no parent themselves. B0 is D with these couplings.
    std::span<const std::int32_t> parent;  // [K]
    std::span<const double> coupling;      // [K]
    // For the features of a block, B0 is a full matrix instead. They are not coupled to features outside the block.
    std::span<const std::int32_t> place;  // [K] row of the block, or -1; empty means no block
    std::span<const double> block;        // [M, Mp] symmetric, Mp: M padded to kLanes; B0 is `scale` times this
    double scale;
    int width;  // Mp
    // B = B0 - P P^T + Q Q^T; a row of `factors` is the row of P followed by the row of Q.
    std::span<const double> factors;  // [K, rank]
    int rank, subtracted;             // columns of P and Q together, and of P; multiples of kLanes
    double rho1, rho2;
    std::span<const double> rho1_of = {};  // [K] replaces rho1 by one value per feature; empty means rho1 for all
    // [K] the typical size of the values of each feature's attribute; empty means 1. Weights are measured in 1 / unit,
    // slopes in unit.
    std::span<const double> unit = {};
    int threads = 1;
    double unit_of(std::size_t k) const { return unit.empty() ? 1.0 : unit[k]; }
};

// Minimizes  g . d + d' B d / 2 + sum_k rho1_k |w_k + d_k| + rho2 |w + d|^2 / 2  over |d_k| <= radius / unit_k by
// coordinate descent, until the sum of |change| * curvature / unit of a sweep falls to `tolerance` times its value in
// the first sweep. d: [K], zero on entry. Returns the number of sweeps.
int minimize_quadratic(const Quadratic& q, double radius, double tolerance, int max_sweeps, std::span<double> d);

}  // namespace sparsecrf
