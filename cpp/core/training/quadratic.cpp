#include "core/training/quadratic.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

// Between full sweeps only coordinates are visited that moved more than this share of the average.
constexpr double kWorthwhile = 0.3;

}  // namespace

int minimize_quadratic(const Quadratic& q, double radius, double tolerance, int max_sweeps, std::span<double> d) {
    const std::size_t n = q.w.size(), m = static_cast<std::size_t>(q.rank);
    const Kernels& simd = kernels();
    const int n_p = q.subtracted, n_q = q.rank - q.subtracted;
    AlignedVector<double> r(m, 0.0);                    // P^T d, then Q^T d
    std::vector<double> curvature(n), coupled(n, 0.0);  // coupled: sum of coupling * d over the children
    const auto place = [&](std::size_t k) { return q.place.empty() ? -1 : q.place[k]; };
    AlignedVector<double> block_d(static_cast<std::size_t>(q.width), 0.0);  // the block's matrix times d
    for (std::size_t k = 0; k < n; ++k) {
        const double* row = q.factors.data() + k * m;
        const double c = q.diagonal[k] - simd.dot(row, row, n_p) + simd.dot(row + n_p, row + n_p, n_q);
        curvature[k] = std::max(c, 1e-6 * q.diagonal[k]);
    }
    // z = argmin of (slope)(z - z0) + curvature (z - z0)^2 / 2 + rho2 z^2 / 2 + rho1 |z|: soft thresholding.
    const auto step = [&](std::size_t k) {
        const std::int32_t parent = q.parent[k];
        const std::int32_t b = place(k);
        double slope = q.g[k];
        if (b >= 0) {
            slope += block_d[static_cast<std::size_t>(b)];
        } else {
            slope += q.diagonal[k] * d[k];
            slope += parent < 0 ? coupled[k] : q.coupling[k] * d[static_cast<std::size_t>(parent)];
        }
        const double* row = q.factors.data() + k * m;
        slope += simd.dot(row + n_p, r.data() + n_p, n_q) - simd.dot(row, r.data(), n_p);
        const double z0 = q.w[k] + d[k], target = curvature[k] * z0 - slope;
        double z = 0.0;
        if (target > q.rho1) z = (target - q.rho1) / (curvature[k] + q.rho2);
        if (target < -q.rho1) z = (target + q.rho1) / (curvature[k] + q.rho2);
        z = std::clamp(z, q.w[k] - radius, q.w[k] + radius);
        const double change = z - z0;
        if (change == 0.0) return 0.0;
        d[k] = z - q.w[k];
        if (b >= 0) {
            const std::size_t first = static_cast<std::size_t>(b) * static_cast<std::size_t>(q.width);
            simd.axpy(q.scale * change, q.block.data() + first, q.width, block_d.data());
        } else if (parent >= 0) {
            coupled[static_cast<std::size_t>(parent)] += q.coupling[k] * change;
        }
        simd.axpy(change, row, q.rank, r.data());
        return std::fabs(change) * curvature[k];
    };
    std::vector<std::size_t> moving;
    std::vector<double> moves(n);
    double first = 0.0;
    int sweeps = 0;
    while (sweeps < max_sweeps) {
        moving.clear();
        double total = 0.0;
        for (std::size_t k = 0; k < n; ++k) {
            moves[k] = step(k);
            total += moves[k];
        }
        const double least = kWorthwhile * total / static_cast<double>(n);
        for (std::size_t k = 0; k < n; ++k) {
            if (moves[k] > least) moving.push_back(k);
        }
        ++sweeps;
        if (first == 0.0) first = total;
        if (total <= tolerance * first) break;
        for (int inner = 0; inner < 5 && sweeps < max_sweeps && total > tolerance * first; ++inner, ++sweeps) {
            total = 0.0;
            for (const std::size_t k : moving) total += step(k);
        }
    }
    return sweeps;
}

}  // namespace sparsecrf
