// The sweeps of coordinate descent on a quadratic model, for any kind of step.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sparsecrf {

// sweep(moves) visits all n coordinates and sets moves[k] to |change| * curvature / unit. step(k) visits one coordinate
// and returns this value. Stops when the sum of a sweep falls to `tolerance` times the sum of the first sweep. Returns
// the number of sweeps.
template <class Sweep, class Step>
int descend(std::size_t n, double tolerance, int max_sweeps, Sweep sweep, Step step) {
    // Between full sweeps, only coordinates that moved more than this fraction of the average are visited.
    constexpr double kWorthwhile = 0.3;
    constexpr int kBetween = 5;
    std::vector<std::size_t> moving;
    std::vector<double> moves(n);
    double first = 0.0;
    int sweeps = 0;
    while (sweeps < max_sweeps) {
        sweep(std::span<double>(moves));
        double total = 0.0;
        for (const double move : moves) total += move;
        const double least = kWorthwhile * total / static_cast<double>(n);
        moving.clear();
        for (std::size_t k = 0; k < n; ++k) {
            if (moves[k] > least) moving.push_back(k);
        }
        ++sweeps;
        if (first == 0.0) first = total;
        if (total <= tolerance * first) break;
        for (int inner = 0; inner < kBetween && sweeps < max_sweeps && total > tolerance * first; ++inner, ++sweeps) {
            total = 0.0;
            for (const std::size_t k : moving) total += step(k);
        }
    }
    return sweeps;
}

}  // namespace sparsecrf
