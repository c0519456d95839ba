#include "core/training/quadratic.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/training/quadratic_point.hpp"

namespace sparsecrf {
namespace {

// Between full sweeps only coordinates are visited that moved more than this share of the average.
constexpr double kWorthwhile = 0.3;

}  // namespace

int minimize_quadratic(const Quadratic& q, double radius, double tolerance, int max_sweeps, std::span<double> d) {
    const std::size_t n = q.w.size();
    QuadraticPoint at(q, d);
    // z = argmin of (slope)(z - z0) + curvature (z - z0)^2 / 2 + rho2 z^2 / 2 + rho1 |z|: soft thresholding.
    const auto step = [&](std::size_t k) {
        const double curvature = at.curvature(k), target = curvature * at.z(k) - at.slope(k);
        double z = 0.0;
        if (target > q.rho1) z = (target - q.rho1) / (curvature + q.rho2);
        if (target < -q.rho1) z = (target + q.rho1) / (curvature + q.rho2);
        return std::fabs(at.move(k, std::clamp(z, q.w[k] - radius, q.w[k] + radius))) * curvature;
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
