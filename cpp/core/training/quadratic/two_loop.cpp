#include "core/training/quadratic/two_loop.hpp"

#include <vector>

#include "core/base/sum_of_blocks.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

constexpr int kBlocksAtATime = 16;

// d += f x over n numbers, and x . d.
void add(double f, const double* x, std::size_t n, double* d) {
    const std::size_t whole = n - n % kLanes;
    kernels().axpy(f, x, static_cast<int>(whole), d);
    for (std::size_t k = whole; k < n; ++k) d[k] += f * x[k];
}

double inner(const double* x, const double* d, std::size_t n) {
    const std::size_t whole = n - n % kLanes;
    double sum = kernels().dot(x, d, static_cast<int>(whole));
    for (std::size_t k = whole; k < n; ++k) sum += x[k] * d[k];
    return sum;
}

}  // namespace

void two_loop_back(const StepPairs& pairs, int threads, std::span<double> d, std::span<double> a) {
    const std::size_t K = d.size(), m = pairs.curvature.size();
    std::vector<double> sums;
    const auto change = [&](std::size_t i, std::size_t first, std::size_t n) {
        add(-a[i], pairs.y.data() + i * K + first, n, d.data() + first);
        if (pairs.ridge != 0.0) add(-a[i] * pairs.ridge, pairs.s.data() + i * K + first, n, d.data() + first);
    };
    for (std::size_t i = m; i-- > 0;) {
        const double product = sum_of_blocks(K, threads, kBlocksAtATime, sums, [&](std::size_t first, std::size_t n) {
            if (i + 1 < m) change(i + 1, first, n);
            return inner(pairs.s.data() + i * K + first, d.data() + first, n);
        });
        a[i] = product / pairs.curvature[i];
    }
    if (m == 0) return;
    sum_of_blocks(K, threads, kBlocksAtATime, sums, [&](std::size_t first, std::size_t n) {
        change(0, first, n);
        return 0.0;
    });
}

void two_loop_forth(const StepPairs& pairs, std::span<const double> a, int threads, std::span<double> d) {
    const std::size_t K = d.size(), m = pairs.curvature.size();
    std::vector<double> sums;
    double factor = 0.0;  // factor of the previous pair
    const auto change = [&](std::size_t i, std::size_t first, std::size_t n) {
        add(factor, pairs.s.data() + i * K + first, n, d.data() + first);
    };
    for (std::size_t i = 0; i < m; ++i) {
        const double product = sum_of_blocks(K, threads, kBlocksAtATime, sums, [&](std::size_t first, std::size_t n) {
            if (i > 0) change(i - 1, first, n);
            const double of_y = inner(pairs.y.data() + i * K + first, d.data() + first, n);
            if (pairs.ridge == 0.0) return of_y;
            return of_y + pairs.ridge * inner(pairs.s.data() + i * K + first, d.data() + first, n);
        });
        factor = a[i] - product / pairs.curvature[i];
    }
    if (m == 0) return;
    sum_of_blocks(K, threads, kBlocksAtATime, sums, [&](std::size_t first, std::size_t n) {
        change(m - 1, first, n);
        return 0.0;
    });
}

}  // namespace sparsecrf
