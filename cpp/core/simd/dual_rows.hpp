// Input of the kernels for dual coordinate ascent (simd/dual_rows.inl): the rows of one sequence's unigram attributes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sparsecrf {

// The data of a row that the kernels need in addition to Z, in one cache line.
struct DualRow {
    double scale;  // -scale S(Z) is the sum of the weights of the row's attributes
    double times;  // multiplicity of the row's change in the line search (dual_step.hpp)
};

// Each row appears once, with the positions of its attributes. A row consists of Yp numbers, one per label.
struct DualRows {
    std::size_t n;                // rows
    const std::uint32_t* row;     // [n] ascending
    const std::uint32_t* ptr;     // [n + 1] into `at`
    const std::uint32_t* at;      // positions t
    const double* value;          // parallel to `at`; null if all are 1
    int stride;                   // Yp
    double bound;                 // rho1: S(z) = z - rho1 above rho1, z + rho1 below -rho1, 0 between
    double* Z;                    // [R, Yp] all rows
    const DualRow* of;            // [R]
    std::uint8_t* active;         // [R] whether S(Z) of the row is nonzero
    const std::uint8_t* allowed;  // [R, Yp / 8] one bit per feature of the model; null means all allowed
};

}  // namespace sparsecrf
