// Products for the compact form of a limited-memory BFGS matrix (src/sparsecrf/training/solvers/proximal.py), on all
// threads. The terms of every sum are added in a fixed order.
#pragma once

#include <cstdint>
#include <span>

namespace sparsecrf {

// a b', the products of rows of K numbers.  a: [m, K], b: [n, K], out: [m, n]
void row_products(std::span<const double> a, std::span<const double> b, std::size_t K, int threads,
                  std::span<double> out);

// Rows of [a', b'] c for the chosen columns of a and b.  a, b: [m, K], chosen: [n], c: [2 m, rank], out: [n, rank];
// rank is a multiple of kLanes.
void combine_columns(std::span<const double> a, std::span<const double> b, std::size_t K,
                     std::span<const std::int64_t> chosen, std::span<const double> c, int rank, int threads,
                     std::span<double> out);

// s M, for vectors and a matrix with padded rows.  s: [m, rows], matrix: [rows, width], out: [m, width], zero on entry
void times_matrix(std::span<const double> s, std::span<const double> matrix, std::size_t rows, int width, int threads,
                  std::span<double> out);

}  // namespace sparsecrf
