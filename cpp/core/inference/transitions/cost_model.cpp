#include "core/inference/transitions/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

// Costs of products are expressed in sparse entries. A sparse product costs its number of entries, plus a constant per
// line and per product; a dense product costs `product` entries per cell. The cost per cell grows with the total size
// of the dense matrices (E and its transpose). Cells in the first- and second-level caches cost their arithmetic; more
// distant cells cost their transfer. A sparse matrix has few enough entries to fit in these two caches.
// Costs of expectations are expressed in candidate pairs. Laying out the columns of a label has a fixed cost, and
// computing all pairs costs `pair` candidates per cell. A single matrix of sums is updated in tiles, for many positions
// at a time, so its size does not matter. Several matrices divide the positions among themselves and compete for the
// caches, so their cells cost more.
//
// The values are the crossover points of benchmarks/micro on the machine of benchmarks/record. They are constants
// rather than measured at run time, so that runs are reproducible bit for bit.
constexpr int kSizes = 7;
constexpr double kBytes[kSizes] = {64e3, 256e3, 512e3, 1.25e6, 2.5e6, 4e6, 16e6};

struct Prices {
    double product[kSizes];  // at each of kBytes; interpolated linearly in the logarithm of the size
    double pair[kSizes];     // likewise; the first value also applies to a single matrix of any size
};

constexpr double kLine = 1.0;      // cost of a row or column in entries, regardless of its content
constexpr double kProduct = 10.0;  // cost of a product in entries
constexpr double kColumns = 2.0;   // cost of a label's columns of alpha and v, in candidates

const Prices& prices() {
    static constexpr Prices baseline{{0.33, 0.335, 0.345, 0.43, 0.56, 0.93, 1.0},
                                     {0.55, 0.55, 0.55, 0.57, 0.62, 0.7, 0.75}};
    static constexpr Prices avx2{{0.16, 0.175, 0.19, 0.24, 0.35, 0.57, 0.75}, {0.25, 0.25, 0.26, 0.3, 0.33, 0.37, 0.4}};
    static constexpr Prices avx512{{0.117, 0.121, 0.13, 0.158, 0.275, 0.45, 0.53},
                                   {0.15, 0.15, 0.16, 0.22, 0.25, 0.33, 0.38}};
    const char* name = kernels().name;
    if (std::strcmp(name, "avx512") == 0) return avx512;
    if (std::strcmp(name, "avx2") == 0) return avx2;
    return baseline;
}

double at(const double (&price)[kSizes], double bytes) {
    if (bytes <= kBytes[0]) return price[0];
    for (int k = 1; k < kSizes; ++k) {
        if (bytes > kBytes[k]) continue;
        const double share = std::log(bytes / kBytes[k - 1]) / std::log(kBytes[k] / kBytes[k - 1]);
        return price[k - 1] + share * (price[k] - price[k - 1]);
    }
    return price[kSizes - 1];
}

double cells(int n_labels) { return static_cast<double>(n_labels) * padded(n_labels); }

double bytes(int n_labels, std::size_t n_matrices) {
    return 2.0 * sizeof(double) * cells(n_labels) * static_cast<double>(n_matrices);
}

}  // namespace

bool sparse_is_cheaper(std::size_t entries, int n_labels, std::size_t n_matrices) {
    const double sparse = static_cast<double>(entries) + kLine * n_labels + kProduct;
    return sparse < at(prices().product, bytes(n_labels, n_matrices)) * cells(n_labels);
}

bool pairs_are_cheaper(std::size_t candidates, int n_labels, std::size_t n_matrices) {
    const auto n = static_cast<double>(candidates);
    const double price = n_matrices > 1 ? at(prices().pair, bytes(n_labels, n_matrices)) : prices().pair[0];
    return n + kColumns * std::min(n, static_cast<double>(n_labels)) < price * cells(n_labels);
}

}  // namespace sparsecrf
