#include "cost_model.hpp"

#include <cstring>

#include "simd/kernels.hpp"

namespace sparsecrf {
namespace {

// Nanoseconds on the machine of benchmarks/record; only their ratios matter. They are constants, not measured at run
// time, so that a run can be repeated to the bit.
struct Costs {
    double dense_cell;     // one multiply-add of a dense product
    double sparse_entry;   // one multiply-add of a sparse one
    double sparse_label;   // the share of a row or column in a sparse product
    double outer_cell;     // one multiply-add of a rank update
    double outer_pair;     // one multiply-add of a single pair's expectation
};

const Costs& costs() {
    static constexpr Costs baseline{0.35, 0.8, 0.3, 0.3, 0.6};
    static constexpr Costs avx2{0.15, 0.8, 0.3, 0.12, 0.6};
    static constexpr Costs avx512{0.08, 0.8, 0.3, 0.06, 0.6};
    const char* name = kernels().name;
    if (std::strcmp(name, "avx512") == 0) return avx512;
    if (std::strcmp(name, "avx2") == 0) return avx2;
    return baseline;
}

}  // namespace

bool sparse_is_cheaper(std::size_t entries, int n_labels, std::size_t) {
    const double cells = static_cast<double>(n_labels) * padded(n_labels);
    const double sparse = costs().sparse_entry * static_cast<double>(entries) + costs().sparse_label * n_labels;
    return sparse < costs().dense_cell * cells;
}

bool pairs_are_cheaper(std::size_t candidates, int n_labels, std::size_t) {
    const double cells = static_cast<double>(n_labels) * padded(n_labels);
    return costs().outer_pair * static_cast<double>(candidates) < costs().outer_cell * cells;
}

}  // namespace sparsecrf
