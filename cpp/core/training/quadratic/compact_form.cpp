#include "core/training/quadratic/compact_form.hpp"

#include <algorithm>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kBlock = 512;  // columns per item of the loop
constexpr int kPart = 64;            // columns of a matrix that stay in a cache while all vectors are processed
constexpr int kChosenAtATime = 64;

}  // namespace

void row_products(std::span<const double> a, std::span<const double> b, std::size_t K, int threads,
                  std::span<double> out) {
    const std::size_t n_blocks = (K + kBlock - 1) / kBlock, n = out.size();
    const std::size_t n_b = n_blocks == 0 ? 0 : b.size() / K;
    std::vector<double> sums(n_blocks * n);
    parallel_for(static_cast<std::int64_t>(n_blocks), threads, 1, [&](int, std::int64_t i) {
        const std::size_t first = static_cast<std::size_t>(i) * kBlock, size = std::min(kBlock, K - first);
        const std::size_t whole = size - size % kLanes;
        double* sum = sums.data() + static_cast<std::size_t>(i) * n;
        for (std::size_t j = 0; j < n; ++j) {
            const double *x = a.data() + j / n_b * K + first, *y = b.data() + j % n_b * K + first;
            sum[j] = kernels().dot(x, y, static_cast<int>(whole));
            for (std::size_t k = whole; k < size; ++k) sum[j] += x[k] * y[k];
        }
    });
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t i = 0; i < sums.size(); ++i) out[i % n] += sums[i];
}

void combine_columns(std::span<const double> a, std::span<const double> b, std::size_t K,
                     std::span<const std::int64_t> chosen, std::span<const double> c, int rank, int threads,
                     std::span<double> out) {
    const auto width = static_cast<std::size_t>(rank);
    const std::size_t m = c.size() / std::max<std::size_t>(2 * width, 1);
    std::vector<const double*> rows(2 * m);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = c.data() + i * width;
    std::vector<std::vector<double>> factors(static_cast<std::size_t>(threads), std::vector<double>(rows.size()));
    parallel_for(static_cast<std::int64_t>(chosen.size()), threads, kChosenAtATime, [&](int thread, std::int64_t i) {
        const auto k = static_cast<std::size_t>(chosen[static_cast<std::size_t>(i)]);
        std::vector<double>& f = factors[static_cast<std::size_t>(thread)];
        for (std::size_t j = 0; j < m; ++j) {
            f[j] = a[j * K + k];
            f[m + j] = b[j * K + k];
        }
        double* sum = out.data() + static_cast<std::size_t>(i) * width;
        std::fill_n(sum, width, 0.0);
        kernels().sum_rows(f.data(), rows.data(), static_cast<int>(rows.size()), rank, sum);
    });
}

void times_matrix(std::span<const double> s, std::span<const double> matrix, std::size_t rows, int width, int threads,
                  std::span<double> out) {
    const auto stride = static_cast<std::size_t>(width);
    parallel_for((width + kPart - 1) / kPart, threads, 1, [&](int, std::int64_t part) {
        const auto first = static_cast<std::size_t>(part) * kPart;
        std::vector<const double*> at(rows);
        for (std::size_t r = 0; r < rows; ++r) at[r] = matrix.data() + r * stride + first;
        for (std::size_t i = 0; i * stride < out.size(); ++i) {
            kernels().sum_rows(s.data() + i * rows, at.data(), static_cast<int>(rows),
                               std::min(kPart, width - static_cast<int>(first)), out.data() + i * stride + first);
        }
    });
}

}  // namespace sparsecrf
