#include "core/inference/transitions/max_plus.hpp"

#include <cstddef>

#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

constexpr int kFewLabels = 32;  // with at most this many labels, selecting rows takes longer than processing all

}  // namespace

void max_plus(const double* epsilon, const ScoreMatrix& of, double* best, std::vector<int>& rows) {
    const Kernels& kernel = kernels();
    if (of.stride <= kFewLabels || !of.finite) return kernel.maxplus(epsilon, of.m, of.n_labels, of.stride, best);
    const int top = kernel.largest(epsilon, of.stride);
    double low, high;
    kernel.range(of.m + static_cast<std::ptrdiff_t>(top) * of.stride, of.stride, &low, &high);
    rows.resize(static_cast<std::size_t>(of.stride) + 1);
    rows[0] = top;
    const int n = 1 + kernel.above(epsilon, of.high, epsilon[top] + low, of.stride, rows.data() + 1);
    kernel.maxplus_of(epsilon, of.m, rows.data(), n, of.stride, best);
}

}  // namespace sparsecrf
