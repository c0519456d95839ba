#include "core/training/quadratic/quadratic.hpp"

#include <algorithm>
#include <cmath>

#include "core/training/quadratic/quadratic_point.hpp"
#include "core/training/quadratic/quadratic_sweeps.hpp"

namespace sparsecrf {

int minimize_quadratic(const Quadratic& q, double radius, double tolerance, int max_sweeps, std::span<double> d) {
    const std::size_t n = q.w.size();
    QuadraticPoint at(q, d);
    // z = argmin of (slope)(z - z0) + curvature (z - z0)^2 / 2 + rho2 z^2 / 2 + rho1 |z|: soft thresholding.
    const auto step = [&](std::size_t k) {
        const double curvature = at.curvature(k), target = curvature * at.z(k) - at.slope(k);
        const double rho1 = q.rho1_of.empty() ? q.rho1 : q.rho1_of[k];
        double z = 0.0;
        if (target > rho1) z = (target - rho1) / (curvature + q.rho2);
        if (target < -rho1) z = (target + rho1) / (curvature + q.rho2);
        const double unit = q.unit_of(k), most = radius / unit;
        return std::fabs(at.move(k, std::clamp(z, q.w[k] - most, q.w[k] + most))) * curvature / unit;
    };
    const auto sweep = [&](std::span<double> moves) {
        for (std::size_t k = 0; k < n; ++k) moves[k] = step(k);
    };
    return descend(n, tolerance, max_sweeps, sweep, step);
}

}  // namespace sparsecrf
