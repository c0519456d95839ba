// What the kernels of dual coordinate ascent (simd/dual_rows.inl) work on: the unigram attributes of one sequence.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sparsecrf {

// Each attribute once, with the positions where it occurs. Rows by label have Yp numbers.
struct DualRows {
    std::size_t n;                   // attributes
    const std::uint32_t* attribute;  // [n]
    const std::uint32_t* ptr;        // [n + 1] into `at`
    const std::uint32_t* at;         // positions t
    const double* value;             // parallel to `at`; null: all 1
    int stride;                      // Yp
    double bound;                    // rho1: S(z) = z - rho1 above rho1, z + rho1 below -rho1, 0 between
    double* Z;                       // [X, Yp] of all attributes: theta = -scale S(Z)
    const double* scale;             // [X]
    std::uint8_t* active;            // [X] whether S(Z) of the attribute has a number that is not 0
    const std::uint8_t* allowed;     // [X, Yp / 8] a bit for each feature of the model; null: all are
};

}  // namespace sparsecrf
