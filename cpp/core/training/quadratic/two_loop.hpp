// The two-loop recursion of quasi-Newton methods (Nocedal 1980): a vector times the inverse of a BFGS matrix.
//
// With pairs (s_i, z_i), oldest first, z_i = y_i + ridge s_i,
//
//   back:   for i from the last pair to the first   a_i = s_i . d / s_i . z_i,   d <- d - a_i z_i
//   forth:  for i from the first pair to the last   d <- d + (a_i - z_i . d / s_i . z_i) s_i
//
// and between them the caller multiplies d by the inverse of the initial matrix. With millions of features, the vectors
// do not fit in a cache. The update by one pair and the product with the next pair are therefore computed block by
// block, so that each vector is read once for both. Sums are over blocks of fixed size, so they are bit-identical for
// any number of threads.
#pragma once

#include <span>

namespace sparsecrf {

struct StepPairs {
    std::span<const double> s, y;       // [m, K]
    std::span<const double> curvature;  // [m] s_i . z_i
    double ridge;
};

// Changes d, [K], and fills a, [m].
void two_loop_back(const StepPairs& pairs, int threads, std::span<double> d, std::span<double> a);
void two_loop_forth(const StepPairs& pairs, std::span<const double> a, int threads, std::span<double> d);

}  // namespace sparsecrf
