// The hot loops, one clone per instruction set, chosen at run time.
//
// Every clone gives bit-identical results: sums run in the same order whatever the vector width (column sums over rows
// in row order, horizontal sums over eight fixed lanes), and no multiply-add is contracted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/lanes.hpp"

namespace sparsecrf {

struct NgramRows;  // ngram_rows.hpp
struct DualRows;   // dual_rows.hpp

struct Kernels {
    const char* name;

    // out[j] = sum_i a[i] m[i, j]                  a: [rows], m: [rows, stride], out: [stride]
    void (*matvec)(const double* a, const double* m, int rows, int stride, double* out);

    // out[j] = max_i (a[i] + m[i, j])              same shapes
    void (*maxplus)(const double* a, const double* m, int rows, int stride, double* out);

    // g[i, j] += sum_r a[r][i] v[r][j]             for i0 <= i < i1, j < stride;  a, v: n row pointers
    void (*rank_update)(const double* const* a, const double* const* v, std::size_t n, int i0, int i1, int stride,
                        double* g);

    // out[j] = exp(x[j] - shift), 0 below the smallest normal number, infinity above the largest;  j < n
    void (*exp_shifted)(const double* x, double shift, int n, double* out);

    // alpha = e o u / c, ebar = e / c;  returns c = sum_j e[j] u[j]   (0 leaves alpha and ebar undefined)
    double (*forward_finish)(const double* e, const double* u, int n, double* alpha, double* ebar);

    // v = beta o v (v holds ebar on entry), p = alpha o beta;  returns sum_j v[j]
    double (*backward_finish)(const double* alpha, const double* beta, int n, double* v, double* p);

    // The largest of s[0..n) and the smallest that is not -infinity (infinity if there is none).
    void (*range)(const double* s, int n, double* low, double* high);

    // The first j < n with the largest x[j] + y[j], that sum, and the second largest, the same if there are two such j.
    int (*best_two)(const double* x, const double* y, int n, double* best, double* second);

    // sum_j x[j] y[j]
    double (*dot)(const double* x, const double* y, int n);

    // With z = x + s y and S(z) = z - bound above the bound, z + bound below -bound, 0 between:
    // slope = sum_j S(z[j]) y[j], curvature = sum of y[j]^2 where S(z[j]) is not 0
    void (*excess)(const double* x, const double* y, const double* bound, double s, int n, double* slope,
                   double* curvature);

    // x[j] += sum_r f[r] y[r][j], in the order of r;  y: n row pointers, j < stride
    void (*sum_rows)(const double* f, const double* const* y, int n, int stride, double* x);

    // x[j] += f y[j];   h[j] += f y[j] (1 - y[j])
    void (*axpy)(double f, const double* y, int n, double* x);
    void (*axpy_variance)(double f, const double* y, int n, double* h);

    // Dual ascent (dual_rows.hpp), with S(z) = z - bound above the bound, z + bound below -bound, 0 between.
    // s[t] -= v scale[x] S(Z[x])                    at the positions of every active attribute x;  s: [T, Yp]
    void (*dual_scores)(const DualRows& of, double* s);
    // d[r] = factor sum_t v du[t]                   over the positions of attribute r, 0 for what is not allowed
    void (*dual_differences)(const DualRows& of, const double* du, double factor, double* d);
    // The rows of Z, m d and scale / m with S(Z) or S(Z + m d) not 0, m = times, side by side; how many. Room for one more
    // is used.
    std::size_t (*dual_near)(const DualRows& of, const double* d, double* near_Z, double* near_d, double* near_scale);
    // Z[x] += c d[r], and `active` again, for first <= r < end
    void (*dual_add)(const DualRows& of, const double* d, double c, std::size_t first, std::size_t end);
    // With z = u + c d:  slope = sum_j d[j] log z[j], value = sum_j z[j] log z[j]     (below 1e-300 log is that of it)
    void (*entropy)(const double* u, const double* d, double c, std::size_t n, double* slope, double* value);
    // With z = x + c y:  slope = sum_r scale[r] sum_j S(z[r, j]) y[r, j], square = sum_r scale[r] sum_j S(z[r, j])^2
    void (*conjugate)(const double* x, const double* y, const double* scale, std::size_t rows, std::size_t stride,
                      double bound, double c, double* slope, double* square);
    // d[i n + j] = a[i] m[i, j] v[j] - u[i n + j]   for i, j < n; m: [n, stride]. Up to 7 more are read and written.
    void (*pair_differences)(const double* a, const double* m, const double* v, const double* u, int n, int stride,
                             double* d);

    // Rows of eight positions side by side: rows[j, l] = x[l][j] for j < n; and back, where n is a multiple of 8.
    void (*to_rows)(const double* const* x, int n, double* rows);
    void (*from_rows)(const double* rows, int n, double* const* x);
    // rows[j, l] = x[j]
    void (*spread)(const double* x, std::size_t n, double* rows);
    // Label n-grams of eight positions (ngram_rows.hpp), n: Yp. Masses of the pairs before, as far as E = 1 and no arc
    // ends in them; forward; e / c B' of the nodes, as far as no history after is told apart (v); backward to dB and
    // the probabilities; B, p and steps of the histories before; their sums.
    void (*ngram_masses)(const NgramRows& of);
    void (*ngram_forward)(const NgramRows& of, int n);
    void (*ngram_values)(const NgramRows& of);
    void (*ngram_backward)(const NgramRows& of);
    void (*ngram_histories)(const NgramRows& of, int n);
    void (*ngram_steps)(const NgramRows& of, int n);
};

// The clone in use: the best the processor has, unless SPARSECRF_ISA or set_instruction_set chose another.
const Kernels& kernels();
std::vector<std::string> instruction_sets();
void set_instruction_set(const std::string& name);

namespace baseline {
const Kernels& table();
}
#ifdef SPARSECRF_X86
namespace avx2 {
const Kernels& table();
}
namespace avx512 {
const Kernels& table();
}
#endif
#ifdef SPARSECRF_ARM64
namespace neon {
const Kernels& table();
}
#endif

}  // namespace sparsecrf
