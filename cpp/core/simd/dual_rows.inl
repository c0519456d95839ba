// Part of kernels.inl: dual coordinate ascent. The formulas are in training/dual/dual_ascent.hpp.

SPARSECRF_INLINE Vec excess_vec(Vec z, Vec bound) {
    const Vec zero = broadcast(0.0), above = z - bound, below = z + bound;
    return select(above > zero, above, zero) + select(below < zero, below, zero);
}

SPARSECRF_INLINE Vec larger(Vec a, Vec b) { return select(a > b, a, b); }
SPARSECRF_INLINE Vec magnitude(Vec x) { return larger(x, broadcast(0.0) - x); }

// The bits of a byte as eight doubles, 0 or 1.
struct ByteMasks {
    double of[256][8];
};
constexpr ByteMasks byte_masks() {
    ByteMasks masks{};
    for (int byte = 0; byte < 256; ++byte) {
        for (int i = 0; i < 8; ++i) masks.of[byte][i] = (byte >> i) & 1 ? 1.0 : 0.0;
    }
    return masks;
}
constexpr ByteMasks kByteMasks = byte_masks();

constexpr std::size_t kAhead = 12;  // rows to prefetch
SPARSECRF_INLINE void prefetch_row([[maybe_unused]] const DualRows& of, [[maybe_unused]] std::size_t r) {
#if defined(__GNUC__) || defined(__clang__)
    if (r >= of.n) return;
    const double* row = of.Z + static_cast<std::size_t>(of.row[r]) * static_cast<std::size_t>(of.stride);
    for (int j = 0; j < of.stride; j += 8) __builtin_prefetch(row + j);
    __builtin_prefetch(of.of + of.row[r]);
#endif
}

SPARSECRF_INLINE double value_of(const DualRows& of, std::uint32_t k) {
    return of.value == nullptr ? 1.0 : of.value[k];
}

// NV vectors of a row stay in registers; longer rows are processed in tiles of four vectors.
template <int NV>
SPARSECRF_INLINE void score_tile(const DualRows& of, std::uint32_t r, int j0, double* s) {
    const Vec bound = broadcast(of.bound), f = broadcast(-of.of[of.row[r]].scale);
    const auto stride = static_cast<std::size_t>(of.stride);
    const double* g = of.Z + of.row[r] * stride + j0;
    Vec w[NV];
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) w[j] = excess_vec(load(g + j * L), bound) * f;
    for (std::uint32_t k = of.ptr[r]; k < of.ptr[r + 1]; ++k) {
        double* row = s + of.at[k] * stride + j0;
        const Vec v = broadcast(value_of(of, k));
        SPARSECRF_UNROLL
        for (int j = 0; j < NV; ++j) store(row + j * L, load(row + j * L) + v * w[j]);
    }
}

// Active rows are listed first, because branches on whether a row is active would often be mispredicted.
void dual_scores(const DualRows& of, double* s) {
    constexpr std::size_t kListed = 256;
    std::uint32_t active[kListed];
    for (std::size_t first = 0; first < of.n; first += kListed) {
        std::size_t n = 0;
        for (std::size_t r = first; r < of.n && r < first + kListed; ++r) {
            active[n] = static_cast<std::uint32_t>(r);
            n += of.active[of.row[r]];
        }
        for (std::size_t k = 0; k < n; ++k) {
            if (k + kAhead < n) prefetch_row(of, active[k + kAhead]);
            int j = 0;
            for (; j + 4 * L <= of.stride; j += 4 * L) score_tile<4>(of, active[k], j, s);
            if (of.stride - j == 3 * L) score_tile<3>(of, active[k], j, s);
            if (of.stride - j == 2 * L) score_tile<2>(of, active[k], j, s);
            if (of.stride - j == L) score_tile<1>(of, active[k], j, s);
        }
    }
}

template <int NV>
SPARSECRF_INLINE void difference_tile(const DualRows& of, std::size_t r, const double* du, Vec f, int j0, double* d) {
    const auto stride = static_cast<std::size_t>(of.stride);
    Vec sum[NV];
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) sum[j] = broadcast(0.0);
    for (std::uint32_t k = of.ptr[r]; k < of.ptr[r + 1]; ++k) {
        const double* row = du + of.at[k] * stride + j0;
        const Vec v = broadcast(value_of(of, k));
        SPARSECRF_UNROLL
        for (int j = 0; j < NV; ++j) sum[j] += v * load(row + j * L);
    }
    const std::uint8_t* allowed = of.allowed == nullptr ? nullptr : of.allowed + of.row[r] * (stride / kLanes);
    SPARSECRF_UNROLL
    for (int j = 0; j < NV; ++j) {
        sum[j] = sum[j] * f;
        if (allowed != nullptr) {
            const int at = j0 + j * L;
            sum[j] = sum[j] * load(kByteMasks.of[allowed[at / kLanes]] + at % kLanes);
        }
        store(d + j0 + j * L, sum[j]);
    }
}

// d = factor sum_t v du[t] over the positions of row r
SPARSECRF_INLINE void difference(const DualRows& of, std::size_t r, const double* du, Vec factor, double* d) {
    int j = 0;
    for (; j + 4 * L <= of.stride; j += 4 * L) difference_tile<4>(of, r, du, factor, j, d);
    if (of.stride - j == 3 * L) difference_tile<3>(of, r, du, factor, j, d);
    if (of.stride - j == 2 * L) difference_tile<2>(of, r, du, factor, j, d);
    if (of.stride - j == L) difference_tile<1>(of, r, du, factor, j, d);
}

void dual_differences(const DualRows& of, const double* du, double factor, double* d) {
    const auto stride = static_cast<std::size_t>(of.stride);
    for (std::size_t r = 0; r < of.n; ++r) difference(of, r, du, broadcast(factor), d + r * stride);
}

std::size_t dual_near(const DualRows& of, const double* du, double factor, double* d, double* near_Z, double* near_d,
                      DualRow* near) {
    const auto stride = static_cast<std::size_t>(of.stride);
    const Vec bound = broadcast(of.bound);
    std::size_t found = 0;
    for (std::size_t r = 0; r < of.n; ++r, d += stride) {
        prefetch_row(of, r + kAhead);
        difference(of, r, du, broadcast(factor), d);
        const double* g = of.Z + of.row[r] * stride;
        near[found] = of.of[of.row[r]];
        const Vec times = broadcast(near[found].times);
        Vec most = broadcast(0.0);
        for (int j = 0; j < of.stride; j += L) {
            const Vec x = load(g + j), y = times * load(d + j);
            store(near_Z + found * stride + j, x);
            store(near_d + found * stride + j, y);
            most = larger(most, larger(magnitude(x), magnitude(x + y)));
        }
        found += any_greater(most, bound) ? 1 : 0;
    }
    return found;
}

void dual_add(const DualRows& of, const double* d, double c, std::size_t first, std::size_t end) {
    const auto stride = static_cast<std::size_t>(of.stride);
    const Vec f = broadcast(c);
    for (std::size_t r = first; r < end; ++r) {
        prefetch_row(of, r + kAhead);
        double* g = of.Z + of.row[r] * stride;
        Vec most = broadcast(0.0);
        for (int j = 0; j < of.stride; j += L) {
            const Vec x = load(g + j) + f * load(d + r * stride + j);
            store(g + j, x);
            most = larger(most, magnitude(x));
        }
        of.active[of.row[r]] = any_greater(most, broadcast(of.bound));
    }
}

// log(x) for x >= 1e-300: x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f),
// log(1 + f) = f - s (f - R(s^2)), R a minimax polynomial (FreeBSD's e_log.c; error below 1 ulp).
SPARSECRF_INLINE Vec log_vec(Vec x) {
    const IntVec half = bits(broadcast(0x1.6a09e667f3bcdp-1));
    const IntVec k = (bits(x) - half) >> 52;
    const Vec f = from_bits(bits(x) - (k << 52)) - broadcast(1.0);
    const Vec kd = from_bits(k + bits(broadcast(0x1.8p52))) - broadcast(0x1.8p52);
    const Vec s = f / (broadcast(2.0) + f), z = s * s;
    static constexpr double c[] = {1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
                                   2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01};
    Vec R = broadcast(1.479819860511658591e-01);
    SPARSECRF_UNROLL
    for (int i = 0; i < 6; ++i) R = R * z + broadcast(c[i]);
    R = R * z;
    const Vec low = s * (f - R) - kd * broadcast(1.90821492927058770002e-10);
    return kd * broadcast(6.93147180369123816490e-01) - (low - f);
}

// log(x) for x >= 1e-300 with an error below 4e-7 and without a division.
SPARSECRF_INLINE Vec rough_log_vec(Vec x) {
    const IntVec half = bits(broadcast(0x1.6a09e667f3bcdp-1));
    const IntVec k = (bits(x) - half) >> 52;
    const Vec f = from_bits(bits(x) - (k << 52)) - broadcast(1.0);
    const Vec kd = from_bits(k + bits(broadcast(0x1.8p52))) - broadcast(0x1.8p52);
    // log(1 + f) / f, interpolated at the Chebyshev points of [sqrt(1/2) - 1, sqrt(2) - 1]
    static constexpr double c[] = {-0x1.7e94f0238f39dp-3, 0x1.a3abd63abb25cp-3,  -0x1.fe1f2bd3d00c2p-3,
                                   0x1.55246b2362a72p-2,  -0x1.00018035fe520p-1, 0x1.0000102e0e5b9p+0};
    Vec q = broadcast(0x1.e8b22c6179182p-4);
    SPARSECRF_UNROLL
    for (int i = 0; i < 6; ++i) q = q * f + broadcast(c[i]);
    return kd * broadcast(6.93147180559945286227e-01) + q * f;
}

// With z = u + c d: slope = sum_j d[j] log z[j], value = sum_j z[j] log z[j]. Where eight consecutive z are all at most
// `small`, the logarithms are rough: the error is 4e-7 times the sum of the z. Prefetches n floats from `next` on.
void entropy(const double* u, const double* d, double c, double small, std::size_t n, const float* next, double* slope,
             double* value) {
    const Vec least = broadcast(1e-300), factor = broadcast(c), limit = broadcast(small);
    Vec slopes[kParts], values[kParts];
    SPARSECRF_UNROLL
    for (int k = 0; k < kParts; ++k) slopes[k] = values[k] = broadcast(0.0);
    for (std::size_t j = 0; j < n; j += kLanes) {
        Vec y[kParts], z[kParts], most = broadcast(0.0);
#if defined(__GNUC__) || defined(__clang__)
        __builtin_prefetch(next + j, 0, 2);
#endif
        SPARSECRF_UNROLL
        for (int k = 0; k < kParts; ++k) {
            y[k] = load(d + j + k * L);
            z[k] = larger(load(u + j + k * L) + factor * y[k], broadcast(0.0));
            most = larger(most, z[k]);
        }
        const bool exact = any_greater(most, limit);
        SPARSECRF_UNROLL
        for (int k = 0; k < kParts; ++k) {
            const Vec x = larger(z[k], least), l = exact ? log_vec(x) : rough_log_vec(x);
            slopes[k] += y[k] * l;
            values[k] += z[k] * l;
        }
    }
    *slope = reduce(slopes);
    *value = reduce(values);
}

// The compiler vectorizes these loops; Vec holds only doubles.
void read_floats(const float* from, std::size_t n, double* u) {
    for (std::size_t j = 0; j < n; ++j) u[j] = from[j];
}

void store_floats(const double* u, const double* d, double c, float tiny, std::size_t n, float* to) {
    for (std::size_t j = 0; j < n; ++j) {
        const auto value = static_cast<float>(u[j] + c * d[j]);
        to[j] = value > tiny ? value : 0.0F;
    }
}

// With z = x + c y and f = scale / times:
// slope = sum_r f_r sum_j S(z[r, j]) y[r, j], square = sum_r f_r sum_j S(z[r, j])^2
void conjugate(const double* x, const double* y, const DualRow* of, std::size_t rows, std::size_t stride, double bound,
               double c, double* slope, double* square) {
    const Vec b = broadcast(bound), factor = broadcast(c);
    Vec slopes[kParts], squares[kParts];
    SPARSECRF_UNROLL
    for (int k = 0; k < kParts; ++k) slopes[k] = squares[k] = broadcast(0.0);
    for (std::size_t r = 0; r < rows; ++r, x += stride, y += stride) {
        const Vec f = broadcast(of[r].scale / of[r].times);
        for (std::size_t j = 0; j < stride; j += kLanes) {
            SPARSECRF_UNROLL
            for (int k = 0; k < kParts; ++k) {
                const Vec d = load(y + j + k * L), z = excess_vec(load(x + j + k * L) + factor * d, b), scaled = z * f;
                slopes[k] += scaled * d;
                squares[k] += scaled * z;
            }
        }
    }
    *slope = reduce(slopes);
    *square = reduce(squares);
}

// d[i n + j] = a[i] m[i, j] v[j] - u[i n + j] and sum[i, j] += d[i n + j] for i, j < n. Reads up to 7 numbers past the
// end of u and writes up to 7 past the end of d; the padding of `sum` becomes arbitrary.
void pair_differences(const double* a, const double* m, const double* v, const double* u, int n, int stride, double* d,
                      double* sum) {
    for (int i = 0; i < n; ++i, m += stride, sum += stride) {
        const Vec f = broadcast(a[i]);
        for (int j = 0; j < n; j += L) {
            const Vec x = f * load(m + j) * load(v + j) - load(u + i * n + j);
            store(d + i * n + j, x);
            store(sum + j, load(sum + j) + x);
        }
    }
}
