// The body of every clone. Each simd/kernels_*.cpp includes it once after defining SPARSECRF_CLONE, SPARSECRF_LANES and
// SPARSECRF_TILE (the number of accumulator vectors such that two sets fit in the registers). Do not include standard
// headers with inline code, because the copies compiled here could end up in the baseline path of a binary.
#include "core/base/infinity.hpp"
#include "dual_rows.hpp"
#include "kernels.hpp"
#include "ngram_rows.hpp"
#include "vec.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#define SPARSECRF_UNROLL _Pragma("GCC unroll 8")
#elif defined(__clang__)
#define SPARSECRF_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SPARSECRF_UNROLL
#endif

namespace sparsecrf::SPARSECRF_CLONE {
namespace {

constexpr int kParts = kLanes / L;  // native vectors in one group of eight fixed lanes

// Sums the eight lanes in one fixed tree. Lanes are read from registers, because GCC 13 assumes that a local array is
// aligned to 64 bytes without ensuring it, so that storing the lanes in an array would crash with AVX-512.
SPARSECRF_INLINE double reduce(const Vec (&acc)[kParts]) {
    const auto x = [&](int i) { return acc[i / L][i % L]; };
    return ((x(0) + x(4)) + (x(2) + x(6))) + ((x(1) + x(5)) + (x(3) + x(7)));
}

// Separate accumulators for even and odd rows hide the latency of the additions.
template <int NV>
void matvec_tile(const double* a, const double* m, int rows, int stride, double* out) {
    Vec even[NV], odd[NV];
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) even[j] = odd[j] = broadcast(0.0);
    int i = 0;
    for (; i + 2 <= rows; i += 2) {
        const double* row = m + static_cast<std::ptrdiff_t>(i) * stride;
        const Vec a0 = broadcast(a[i]), a1 = broadcast(a[i + 1]);
        SPARSECRF_UNROLL
        for (int j = 0; j < NV; ++j) even[j] += a0 * load(row + j * L);
        SPARSECRF_UNROLL
        for (int j = 0; j < NV; ++j) odd[j] += a1 * load(row + stride + j * L);
    }
    if (i < rows) {
        const double* row = m + static_cast<std::ptrdiff_t>(i) * stride;
        const Vec a0 = broadcast(a[i]);
        SPARSECRF_UNROLL
        for (int j = 0; j < NV; ++j) even[j] += a0 * load(row + j * L);
    }
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) store(out + j * L, even[j] + odd[j]);
}

template <int NV>
SPARSECRF_INLINE void maxplus_row(double a, const double* row, Vec (&best)[NV]) {
    const Vec a0 = broadcast(a);
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) {
        const Vec x = a0 + load(row + j * L);
        best[j] = select(x > best[j], x, best[j]);
    }
}

template <int NV>
void maxplus_tile(const double* a, const double* m, int rows, int stride, double* out) {
    Vec best[NV];
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) best[j] = broadcast(-kInfinity);
    for (int i = 0; i < rows; ++i) maxplus_row(a[i], m + static_cast<std::ptrdiff_t>(i) * stride, best);
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) store(out + j * L, best[j]);
}

template <int NV>
void maxplus_of_tile(const double* a, const double* m, const int* of, int n, int stride, double* out) {
    Vec best[NV];
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) best[j] = broadcast(-kInfinity);
    for (int k = 0; k < n; ++k) maxplus_row(a[of[k]], m + static_cast<std::ptrdiff_t>(of[k]) * stride, best);
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) store(out + j * L, best[j]);
}

using Product = void (*)(const double*, const double*, int, int, double*);

// Tiles of SPARSECRF_TILE vectors, then one narrower tile for the remainder: `tiles[n - 1]` handles n vectors.
void tiled(const Product* tiles, const double* a, const double* m, int rows, int stride, double* out) {
    int j = 0;
    for (; j + SPARSECRF_TILE * L <= stride; j += SPARSECRF_TILE * L)
        tiles[SPARSECRF_TILE - 1](a, m + j, rows, stride, out + j);
    if (j < stride) tiles[(stride - j) / L - 1](a, m + j, rows, stride, out + j);
}

#if SPARSECRF_TILE == 8
constexpr Product kMatvec[] = {matvec_tile<1>, matvec_tile<2>, matvec_tile<3>, matvec_tile<4>,
                               matvec_tile<5>, matvec_tile<6>, matvec_tile<7>, matvec_tile<8>};
constexpr Product kMaxplus[] = {maxplus_tile<1>, maxplus_tile<2>, maxplus_tile<3>, maxplus_tile<4>,
                                maxplus_tile<5>, maxplus_tile<6>, maxplus_tile<7>, maxplus_tile<8>};
#else
constexpr Product kMatvec[] = {matvec_tile<1>, matvec_tile<2>, matvec_tile<3>, matvec_tile<4>};
constexpr Product kMaxplus[] = {maxplus_tile<1>, maxplus_tile<2>, maxplus_tile<3>, maxplus_tile<4>};
#endif

void matvec(const double* a, const double* m, int rows, int stride, double* out) {
    tiled(kMatvec, a, m, rows, stride, out);
}

void maxplus(const double* a, const double* m, int rows, int stride, double* out) {
    tiled(kMaxplus, a, m, rows, stride, out);
}

void maxplus_of(const double* a, const double* m, const int* of, int n, int stride, double* out) {
    using Tile = void (*)(const double*, const double*, const int*, int, int, double*);
    static constexpr Tile tiles[] = {maxplus_of_tile<1>, maxplus_of_tile<2>, maxplus_of_tile<3>, maxplus_of_tile<4>,
                                     maxplus_of_tile<5>, maxplus_of_tile<6>, maxplus_of_tile<7>, maxplus_of_tile<8>};
    int j = 0;
    for (; j + 8 * L <= stride; j += 8 * L) tiles[7](a, m + j, of, n, stride, out + j);
    if (j < stride) tiles[(stride - j) / L - 1](a, m + j, of, n, stride, out + j);
}

// A tile of NI rows x NJ vectors of g stays in registers while all n outer products are added to it.
template <int NI, int NJ>
void rank_tile(const double* const* a, const double* const* v, std::size_t n, int i, int j, int stride, double* g) {
    Vec acc[NI][NJ];
    SPARSECRF_UNROLL
    for (int r = 0; r < NI; ++r) {
        SPARSECRF_UNROLL
        for (int c = 0; c < NJ; ++c) acc[r][c] = load(g + static_cast<std::ptrdiff_t>(i + r) * stride + j + c * L);
    }
    for (std::size_t k = 0; k < n; ++k) {
        Vec x[NJ];
        SPARSECRF_UNROLL
        for (int c = 0; c < NJ; ++c) x[c] = load(v[k] + j + c * L);
        SPARSECRF_UNROLL
        for (int r = 0; r < NI; ++r) {
            const Vec y = broadcast(a[k][i + r]);
            SPARSECRF_UNROLL
            for (int c = 0; c < NJ; ++c) acc[r][c] += y * x[c];
        }
    }
    SPARSECRF_UNROLL
    for (int r = 0; r < NI; ++r) {
        SPARSECRF_UNROLL
        for (int c = 0; c < NJ; ++c) store(g + static_cast<std::ptrdiff_t>(i + r) * stride + j + c * L, acc[r][c]);
    }
}

template <int NI>
void rank_rows(const double* const* a, const double* const* v, std::size_t n, int i, int stride, double* g) {
    int j = 0;
    for (; j + SPARSECRF_RANK_TILE * L <= stride; j += SPARSECRF_RANK_TILE * L)
        rank_tile<NI, SPARSECRF_RANK_TILE>(a, v, n, i, j, stride, g);
    for (; j < stride; j += L) rank_tile<NI, 1>(a, v, n, i, j, stride, g);
}

void rank_update(const double* const* a, const double* const* v, std::size_t n, int i0, int i1, int stride, double* g) {
    int i = i0;
    for (; i + 4 <= i1; i += 4) rank_rows<4>(a, v, n, i, stride, g);
    for (; i < i1; ++i) rank_rows<1>(a, v, n, i, stride, g);
}

// exp(x) = 2^k exp(r), k = round(x / ln 2), |r| <= ln 2 / 2, with the Taylor polynomial of degree 13 for exp(r)
// (truncation error below 4e-18). ln 2 is split so that k ln2_high is exact for |k| < 2^11.
SPARSECRF_INLINE Vec exp_vec(Vec x) {
    const double round_bias = 0x1.8p52;  // adding it leaves round(x) in the low bits of the mantissa
    const Vec low = broadcast(-708.0), high = broadcast(709.0);
    const IntVec under = x<low, over = x> high;
    x = select(under, low, select(over, high, x));
    const Vec shifted = x * broadcast(0x1.71547652b82fep0) + broadcast(round_bias);
    const Vec k = shifted - broadcast(round_bias);
    const Vec r = (x - k * broadcast(0x1.62e42fefa3800p-1)) - k * broadcast(0x1.ef35793c76730p-45);
    static constexpr double c[] = {
        1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};
    Vec y = broadcast(1.0 / 6227020800.0);
    SPARSECRF_UNROLL
    for (int i = 0; i < 13; ++i) y = y * r + broadcast(c[i]);
    const IntVec exponent = bits(shifted) << 52;  // k * 2^52 modulo 2^64: the bits of the bias are shifted out
    y = from_bits(bits(y) + exponent);
    return select(under, broadcast(0.0), select(over, broadcast(kInfinity), y));
}

void exp_shifted(const double* x, double shift, int n, double* out) {
    const Vec s = broadcast(shift);
    for (int j = 0; j < n; j += L) store(out + j, exp_vec(load(x + j) - s));
}

double forward_finish(const double* e, const double* u, int n, double* alpha, double* ebar) {
    Vec acc[kParts];
    SPARSECRF_UNROLL
    for (int k = 0; k < kParts; ++k) acc[k] = broadcast(0.0);
    for (int j = 0; j < n; j += kLanes) {
        SPARSECRF_UNROLL
        for (int k = 0; k < kParts; ++k) {
            const Vec x = load(e + j + k * L) * load(u + j + k * L);
            store(alpha + j + k * L, x);
            acc[k] += x;
        }
    }
    const double c = reduce(acc);
    const Vec scale = broadcast(1.0 / c);
    for (int j = 0; j < n; j += L) {
        store(alpha + j, load(alpha + j) * scale);
        store(ebar + j, load(e + j) * scale);
    }
    return c;
}

double backward_finish(const double* alpha, const double* beta, int n, double* v, double* p) {
    Vec acc[kParts];
    SPARSECRF_UNROLL
    for (int k = 0; k < kParts; ++k) acc[k] = broadcast(0.0);
    for (int j = 0; j < n; j += kLanes) {
        SPARSECRF_UNROLL
        for (int k = 0; k < kParts; ++k) {
            const Vec b = load(beta + j + k * L);
            const Vec x = b * load(v + j + k * L);
            store(v + j + k * L, x);
            store(p + j + k * L, b * load(alpha + j + k * L));
            acc[k] += x;
        }
    }
    return reduce(acc);
}

int nonzero(const double* x, int n, int* out) {
    const Vec zero = broadcast(0.0);
    int found = 0;
    for (int j = 0; j < n; j += L) {
        const Vec z = load(x + j);
        if (!any_greater(select(z > zero, z, zero - z), zero)) continue;
        for (int i = 0; i < L; ++i) {
            out[found] = j + i;
            found += z[i] != 0.0;
        }
    }
    return found;
}

// The largest and the smallest lane, without branches.
SPARSECRF_INLINE double largest_lane(Vec x) {
    for (int half = L / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) x[i] = x[i] > x[i + half] ? x[i] : x[i + half];
    }
    return x[0];
}
SPARSECRF_INLINE double smallest_lane(Vec x) {
    for (int half = L / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) x[i] = x[i] < x[i + half] ? x[i] : x[i + half];
    }
    return x[0];
}

void range(const double* s, int n, double* low, double* high) {
    const Vec infinity = broadcast(kInfinity), minus_infinity = broadcast(-kInfinity);
    Vec lo = infinity, hi = minus_infinity;
    for (int j = 0; j < n; j += L) {
        const Vec x = load(s + j);
        const Vec finite = select(x > minus_infinity, x, infinity);
        lo = select(finite < lo, finite, lo);
        hi = select(x > hi, x, hi);
    }
    *low = smallest_lane(lo);
    *high = largest_lane(hi);
}

int above(const double* x, const double* y, double bound, int n, int* out) {
    const Vec limit = broadcast(bound);
    int found = 0;
    for (int j = 0; j < n; j += L) {
        const Vec z = load(x + j) + load(y + j);
        if (!any_greater(z, limit)) continue;
        for (int i = 0; i < L; ++i) {
            out[found] = j + i;
            found += z[i] > bound;
        }
    }
    return found;
}

int largest(const double* x, int n) {
    constexpr int kAtATime = 4;
    Vec high[kAtATime];
    SPARSECRF_UNROLL
    for (int k = 0; k < kAtATime; ++k) high[k] = broadcast(-kInfinity);
    int j = 0;
    for (; j + kAtATime * L <= n; j += kAtATime * L) {
        SPARSECRF_UNROLL
        for (int k = 0; k < kAtATime; ++k) {
            const Vec z = load(x + j + k * L);
            high[k] = select(z > high[k], z, high[k]);
        }
    }
    for (; j < n; j += L) {
        const Vec z = load(x + j);
        high[0] = select(z > high[0], z, high[0]);
    }
    for (int k = 1; k < kAtATime; ++k) high[0] = select(high[k] > high[0], high[k], high[0]);
    const double best = largest_lane(high[0]);
    int first = 0;
    while (!any_at_least(load(x + first), broadcast(best))) first += L;
    while (x[first] < best) ++first;
    return first;
}

// The two largest numbers of each lane, and the negated first index of the largest, which is exact in a double.
struct BestTwo {
    Vec high, next, before;

    SPARSECRF_INLINE void add(Vec z, Vec minus_index) {
        const IntVec larger = z > high;
        const Vec lower = select(larger, high, z);
        next = select(lower > next, lower, next);
        high = select(larger, z, high);
        before = select(larger, minus_index, before);
    }
};

// Even and odd vectors have separate accumulators, to hide latencies.
int best_two(const double* x, const double* y, int n, double* best, double* second) {
    Vec lane;
    for (int i = 0; i < L; ++i) lane[i] = i;
    const Vec low = broadcast(-kInfinity), two = broadcast(2.0 * L);
    Vec at = broadcast(0.0) - lane;  // the negated indices of the next even vector
    BestTwo even{low, low, at}, odd{low, low, at};
    int j = 0;
    for (; j + 2 * L <= n; j += 2 * L) {
        even.add(load(x + j) + load(y + j), at);
        odd.add(load(x + j + L) + load(y + j + L), at - broadcast(L));
        at = at - two;
    }
    if (j < n) even.add(load(x + j) + load(y + j), at);
    const Vec more = select(even.next > odd.next, even.next, odd.next);
    const Vec lower = select(even.high > odd.high, odd.high, even.high);
    const Vec high = select(even.high > odd.high, even.high, odd.high), next = select(lower > more, lower, more);
    const Vec first_of_both = select(even.before > odd.before, even.before, odd.before);
    const Vec before =
        select(even.high > odd.high, even.before, select(odd.high > even.high, odd.before, first_of_both));
    *best = largest_lane(high);
    const Vec candidates = select(high >= broadcast(*best), before, low);
    const double first = largest_lane(candidates);
    *second = largest_lane(select(candidates >= broadcast(first), next, high));
    return -static_cast<int>(first);
}

double dot(const double* x, const double* y, int n) {
    Vec acc[kParts];
    SPARSECRF_UNROLL
    for (int k = 0; k < kParts; ++k) acc[k] = broadcast(0.0);
    for (int j = 0; j < n; j += kLanes) {
        SPARSECRF_UNROLL
        for (int k = 0; k < kParts; ++k) acc[k] += load(x + j + k * L) * load(y + j + k * L);
    }
    return reduce(acc);
}

void excess(const double* x, const double* y, const double* bound, double s, int n, double* slope, double* curvature) {
    const Vec zero = broadcast(0.0), factor = broadcast(s);
    Vec slopes[kParts], curvatures[kParts];
    SPARSECRF_UNROLL
    for (int k = 0; k < kParts; ++k) slopes[k] = curvatures[k] = zero;
    for (int j = 0; j < n; j += kLanes) {
        SPARSECRF_UNROLL
        for (int k = 0; k < kParts; ++k) {
            const Vec b = load(bound + j + k * L), d = load(y + j + k * L), z = load(x + j + k * L) + factor * d;
            const Vec above = z - b, below = z + b, square = d * d;
            slopes[k] += (select(above > zero, above, zero) + select(below < zero, below, zero)) * d;
            curvatures[k] += select(above > zero, square, zero) + select(below < zero, square, zero);
        }
    }
    *slope = reduce(slopes);
    *curvature = reduce(curvatures);
}

// NV vectors of x stay in registers while all rows are added to them.
template <int NV>
void sum_rows_tile(const double* f, const double* const* y, int n, int j0, double* x) {
    Vec acc[NV];
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) acc[j] = load(x + j * L);
    for (int r = 0; r < n; ++r) {
        const Vec s = broadcast(f[r]);
        SPARSECRF_UNROLL
        for (int j = 0; j < NV; ++j) acc[j] += s * load(y[r] + j0 + j * L);
    }
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) store(x + j * L, acc[j]);
}

void sum_rows(const double* f, const double* const* y, int n, int stride, double* x) {
    using Tile = void (*)(const double*, const double* const*, int, int, double*);
    static constexpr Tile tiles[] = {sum_rows_tile<1>, sum_rows_tile<2>, sum_rows_tile<3>, sum_rows_tile<4>,
                                     sum_rows_tile<5>, sum_rows_tile<6>, sum_rows_tile<7>, sum_rows_tile<8>};
    int j = 0;
    for (; j + 8 * L <= stride; j += 8 * L) sum_rows_tile<8>(f, y, n, j, x + j);
    if (j < stride) tiles[(stride - j) / L - 1](f, y, n, j, x + j);
}

void axpy(double f, const double* y, int n, double* x) {
    const Vec s = broadcast(f);
    for (int j = 0; j < n; j += L) store(x + j, load(x + j) + s * load(y + j));
}

void axpy_variance(double f, const double* y, int n, double* h) {
    const Vec s = broadcast(f), one = broadcast(1.0);
    for (int j = 0; j < n; j += L) {
        const Vec q = load(y + j);
        store(h + j, load(h + j) + s * (q * (one - q)));
    }
}

#include "dual_rows.inl"
#include "ngram_rows.inl"

}  // namespace

#define SPARSECRF_STRING_(x) #x
#define SPARSECRF_STRING(x) SPARSECRF_STRING_(x)

const Kernels& table() {
    static constexpr Kernels kernels{SPARSECRF_STRING(SPARSECRF_CLONE),
                                     matvec,
                                     maxplus,
                                     maxplus_of,
                                     above,
                                     rank_update,
                                     exp_shifted,
                                     forward_finish,
                                     backward_finish,
                                     nonzero,
                                     range,
                                     largest,
                                     best_two,
                                     dot,
                                     excess,
                                     sum_rows,
                                     axpy,
                                     axpy_variance,
                                     dual_scores,
                                     dual_differences,
                                     dual_near,
                                     dual_add,
                                     entropy,
                                     read_floats,
                                     store_floats,
                                     conjugate,
                                     pair_differences,
                                     to_rows,
                                     from_rows,
                                     spread,
                                     ngram_masses,
                                     ngram_forward,
                                     ngram_values,
                                     ngram_backward,
                                     ngram_histories,
                                     ngram_steps};
    return kernels;
}

}  // namespace sparsecrf::SPARSECRF_CLONE
