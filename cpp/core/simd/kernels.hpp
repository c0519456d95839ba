// The hot loops, compiled once per instruction set and chosen at run time.
//
// Every clone gives bit-identical results: sums are computed in the same order for every vector width (column sums in
// row order, horizontal sums over eight fixed lanes), and multiply-adds are never contracted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/lanes.hpp"

namespace sparsecrf {

struct NgramRows;  // ngram_rows.hpp
struct DualRow;    // dual_rows.hpp
struct DualRows;

struct Kernels {
    const char* name;

    // out[j] = sum_i a[i] m[i, j]                  a: [rows], m: [rows, stride], out: [stride]
    void (*matvec)(const double* a, const double* m, int rows, int stride, double* out);

    // out[j] = max_i (a[i] + m[i, j])              same shapes
    void (*maxplus)(const double* a, const double* m, int rows, int stride, double* out);
    // The same over n rows, which may repeat: out[j] = max_k (a[i] + m[i, j]), i = of[k]
    void (*maxplus_of)(const double* a, const double* m, const int* of, int n, int stride, double* out);
    // Writes the j < n with x[j] + y[j] > bound to `out`, in ascending order, and returns their number.  out: [n]
    int (*above)(const double* x, const double* y, double bound, int n, int* out);

    // g[i, j] += sum_r a[r][i] v[r][j]             for i0 <= i < i1, j < stride;  a, v: n row pointers
    void (*rank_update)(const double* const* a, const double* const* v, std::size_t n, int i0, int i1, int stride,
                        double* g);

    // out[j] = exp(x[j] - shift), 0 below the smallest normal number, infinity above the largest;  j < n
    void (*exp_shifted)(const double* x, double shift, int n, double* out);

    // alpha = e o u / c, ebar = e / c;  returns c = sum_j e[j] u[j]   (alpha and ebar are undefined if c is 0)
    double (*forward_finish)(const double* e, const double* u, int n, double* alpha, double* ebar);

    // v = beta o v (v holds ebar on entry), p = alpha o beta;  returns sum_j v[j]
    double (*backward_finish)(const double* alpha, const double* beta, int n, double* v, double* p);

    // Writes the j < n with x[j] != 0 to `out`, in ascending order, and returns their number.  out: [n]
    int (*nonzero)(const double* x, int n, int* out);

    // The largest of s[0..n), and the smallest that is not -infinity (infinity if all are).
    void (*range)(const double* s, int n, double* low, double* high);

    // The first j < n that maximizes x[j].
    int (*largest)(const double* x, int n);

    // The first j < n that maximizes x[j] + y[j], that sum, and the second largest sum (equal to the largest on a tie).
    int (*best_two)(const double* x, const double* y, int n, double* best, double* second);

    // sum_j x[j] y[j]
    double (*dot)(const double* x, const double* y, int n);

    // With z = x + s y and the soft threshold S(z) = z - bound above the bound, z + bound below -bound, else 0:
    // slope = sum_j S(z[j]) y[j], curvature = sum of y[j]^2 where S(z[j]) is nonzero
    void (*excess)(const double* x, const double* y, const double* bound, double s, int n, double* slope,
                   double* curvature);

    // x[j] += sum_r f[r] y[r][j], in the order of r;  y: n row pointers, j < stride
    void (*sum_rows)(const double* f, const double* const* y, int n, int stride, double* x);

    // x[j] += f y[j];   h[j] += f y[j] (1 - y[j])
    void (*axpy)(double f, const double* y, int n, double* x);
    void (*axpy_variance)(double f, const double* y, int n, double* h);

    // Dual ascent (dual_rows.hpp), with S(z) = z - bound above the bound, z + bound below -bound, else 0.
    // s[t] -= v scale[x] S(Z[x])                    at the positions of every active attribute x;  s: [T, Yp]
    void (*dual_scores)(const DualRows& of, double* s);
    // d[r] = factor sum_t v du[t]                   over the positions of attribute r; 0 where not allowed
    void (*dual_differences)(const DualRows& of, const double* du, double factor, double* d);
    // Computes the same d and packs the rows Z and m d, with m = times, for which S(Z) or S(Z + m d) is nonzero.
    // Returns the number of packed rows. The buffers need room for one extra row.
    std::size_t (*dual_near)(const DualRows& of, const double* du, double factor, double* d, double* near_Z,
                             double* near_d, DualRow* near);
    // Z[x] += c d[r] for first <= r < end; updates `active`
    void (*dual_add)(const DualRows& of, const double* d, double c, std::size_t first, std::size_t end);
    // With z = u + c d:  slope = sum_j d[j] log z[j], value = sum_j z[j] log z[j]     (z is clamped to 1e-300 in the
    // log; where eight z are at most `small`, the log has an error of 4e-7; n floats from `next` on are prefetched)
    void (*entropy)(const double* u, const double* d, double c, double small, std::size_t n, const float* next,
                    double* slope, double* value);
    // read_floats reads pair probabilities in single precision. store_floats stores u + c d, or 0 where that is at most
    // `tiny`. n is a multiple of 8.
    void (*read_floats)(const float* from, std::size_t n, double* u);
    void (*store_floats)(const double* u, const double* d, double c, float tiny, std::size_t n, float* to);
    // With z = x + c y and f = scale / times:
    // slope = sum_r f_r sum_j S(z[r, j]) y[r, j], square = sum_r f_r sum_j S(z[r, j])^2
    void (*conjugate)(const double* x, const double* y, const DualRow* of, std::size_t rows, std::size_t stride,
                      double bound, double c, double* slope, double* square);
    // d[i n + j] = a[i] m[i, j] v[j] - u[i n + j], sum[i, j] += d[i n + j]   for i, j < n; m, sum: [n, stride].
    // Reads and writes up to 7 numbers past the ends of the arrays.
    void (*pair_differences)(const double* a, const double* m, const double* v, const double* u, int n, int stride,
                             double* d, double* sum);

    // to_rows arranges eight positions side by side: rows[j, l] = x[l][j] for j < n. from_rows is its inverse, for n a
    // multiple of 8.
    void (*to_rows)(const double* const* x, int n, double* rows);
    void (*from_rows)(const double* rows, int n, double* const* x);
    // rows[j, l] = x[j]
    void (*spread)(const double* x, std::size_t n, double* rows);
    // Label n-grams of eight positions (ngram_rows.hpp); n is Yp. The functions compute, in order: masses of the
    // preceding pairs with E = 1 in which no arc ends; the forward pass; e / c B' of the nodes, without contributions
    // of longer histories (v); dB and the probabilities; B, p and steps of the preceding histories; their sums.
    void (*ngram_masses)(const NgramRows& of);
    void (*ngram_forward)(const NgramRows& of, int n);
    void (*ngram_values)(const NgramRows& of);
    void (*ngram_backward)(const NgramRows& of);
    void (*ngram_histories)(const NgramRows& of, int n);
    void (*ngram_steps)(const NgramRows& of, int n);
};

// The clone in use: the best clone that the processor supports, unless SPARSECRF_ISA or set_instruction_set selects
// another clone.
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
