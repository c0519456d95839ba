// What the kernels of dual coordinate ascent (simd/dual_rows.inl) work on: the rows of one sequence's unigram attributes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sparsecrf {

// Each row once, with the positions where its attributes occur. A row has Yp numbers, one for each label.
struct DualRows {
    std::size_t n;                // rows
    const std::uint32_t* row;     // [n] ascending
    const std::uint32_t* ptr;     // [n + 1] into `at`
    const std::uint32_t* at;      // positions t
    const double* value;          // parallel to `at`; null: all 1
    int stride;                   // Yp
    double bound;                 // rho1: S(z) = z - rho1 above rho1, z + rho1 below -rho1, 0 between
    double* Z;                    // [R, Yp] of all attributes: -scale S(Z) is the sum of their weights
    const double* scale;          // [R]
    const double* times;          // [R] how many times a change of the row counts in the line search (dual_step.hpp)
    std::uint8_t* active;         // [R] whether S(Z) of the row has a number that is not 0
    const std::uint8_t* allowed;  // [R, Yp / 8] a bit for each feature of the model; null: all are
};

}  // namespace sparsecrf
