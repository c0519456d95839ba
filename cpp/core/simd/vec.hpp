// One native vector of doubles. The including file defines SPARSECRF_LANES (2, 4 or 8) and SPARSECRF_CLONE, the
// namespace of its clone. No name here may be shared with the object file of another clone. SPARSECRF_ARRAYS selects
// the fallback for compilers without vector extensions; cpp/tests/kernels.cpp compares the two.
#pragma once

#include <cstdint>
#include <cstring>

namespace sparsecrf::SPARSECRF_CLONE {

inline constexpr int L = SPARSECRF_LANES;

#if defined(__GNUC__) || defined(__clang__)
#define SPARSECRF_INLINE inline __attribute__((always_inline))
#else
#define SPARSECRF_INLINE __forceinline
#endif

#if (defined(__GNUC__) || defined(__clang__)) && !defined(SPARSECRF_ARRAYS)
typedef double Vec __attribute__((vector_size(L * 8)));
typedef std::int64_t IntVec __attribute__((vector_size(L * 8)));
SPARSECRF_INLINE Vec select(IntVec mask, Vec yes, Vec no) { return mask ? yes : no; }
SPARSECRF_INLINE IntVec select(IntVec mask, IntVec yes, IntVec no) { return mask ? yes : no; }
SPARSECRF_INLINE IntVec bits(Vec x) { return reinterpret_cast<IntVec>(x); }
SPARSECRF_INLINE Vec from_bits(IntVec x) { return reinterpret_cast<Vec>(x); }
#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define SPARSECRF_SHUFFLES
#endif
#endif
SPARSECRF_INLINE Vec broadcast(double x) { return x - Vec{}; }  // x - 0 is x, even for -0; the subtraction is optimized
                                                                // away
SPARSECRF_INLINE IntVec broadcast_int(std::int64_t x) { return x - IntVec{}; }
#else
// Fallback for compilers without vector extensions: small arrays with the same operators, left to the optimizer.
template <class T>
struct Lanes {
    T x[L];
    SPARSECRF_INLINE T& operator[](int i) { return x[i]; }
    SPARSECRF_INLINE T operator[](int i) const { return x[i]; }
};
using Vec = Lanes<double>;
using IntVec = Lanes<std::int64_t>;
template <class T, class F>
SPARSECRF_INLINE Lanes<T> zip(const Lanes<T>& a, const Lanes<T>& b, F f) {
    Lanes<T> r;
    for (int i = 0; i < L; ++i) r[i] = f(a[i], b[i]);
    return r;
}
template <class F>
SPARSECRF_INLINE IntVec compare(const Vec& a, const Vec& b, F f) {
    IntVec r;
    for (int i = 0; i < L; ++i) r[i] = f(a[i], b[i]) ? -1 : 0;
    return r;
}
template <class T>
SPARSECRF_INLINE Lanes<T> operator+(Lanes<T> a, Lanes<T> b) {
    return zip(a, b, [](T x, T y) { return x + y; });
}
template <class T>
SPARSECRF_INLINE Lanes<T> operator-(Lanes<T> a, Lanes<T> b) {
    return zip(a, b, [](T x, T y) { return x - y; });
}
SPARSECRF_INLINE Vec operator*(Vec a, Vec b) {
    return zip(a, b, [](double x, double y) { return x * y; });
}
SPARSECRF_INLINE Vec operator/(Vec a, Vec b) {
    return zip(a, b, [](double x, double y) { return x / y; });
}
SPARSECRF_INLINE Vec& operator+=(Vec& a, Vec b) { return a = a + b; }
SPARSECRF_INLINE IntVec operator<<(IntVec a, int s) {
    for (int i = 0; i < L; ++i) a[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(a[i]) << s);
    return a;
}
SPARSECRF_INLINE IntVec operator>>(IntVec a, int s) {  // arithmetic shift, guaranteed by C++20
    for (int i = 0; i < L; ++i) a[i] = a[i] >> s;
    return a;
}
SPARSECRF_INLINE IntVec operator>(Vec a, Vec b) {
    return compare(a, b, [](double x, double y) { return x > y; });
}
SPARSECRF_INLINE IntVec operator<(Vec a, Vec b) {
    return compare(a, b, [](double x, double y) { return x < y; });
}
SPARSECRF_INLINE IntVec operator>=(Vec a, Vec b) {
    return compare(a, b, [](double x, double y) { return x >= y; });
}
SPARSECRF_INLINE Vec select(IntVec mask, Vec yes, Vec no) {
    for (int i = 0; i < L; ++i) no[i] = mask[i] ? yes[i] : no[i];
    return no;
}
SPARSECRF_INLINE IntVec select(IntVec mask, IntVec yes, IntVec no) {
    for (int i = 0; i < L; ++i) no[i] = mask[i] ? yes[i] : no[i];
    return no;
}
SPARSECRF_INLINE IntVec bits(Vec x) {
    IntVec r;
    std::memcpy(&r, &x, sizeof r);
    return r;
}
SPARSECRF_INLINE Vec from_bits(IntVec x) {
    Vec r;
    std::memcpy(&r, &x, sizeof r);
    return r;
}
SPARSECRF_INLINE Vec broadcast(double x) {
    Vec v;
    for (int i = 0; i < L; ++i) v[i] = x;
    return v;
}
SPARSECRF_INLINE IntVec broadcast_int(std::int64_t x) {
    IntVec v;
    for (int i = 0; i < L; ++i) v[i] = x;
    return v;
}
#endif

SPARSECRF_INLINE Vec load(const double* p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
SPARSECRF_INLINE void store(double* p, Vec v) { std::memcpy(p, &v, sizeof v); }

// Whether a > b in some lane. A loop over the lanes would be compiled to 20 instructions.
SPARSECRF_INLINE bool any_greater(Vec a, Vec b) {
#if defined(__AVX512F__) && SPARSECRF_LANES == 8 && !defined(SPARSECRF_ARRAYS) && !defined(_MSC_VER)
    constexpr int kGreater = 30, kNoRounding = 4;
    return __builtin_ia32_cmppd512_mask(a, b, kGreater, 0xff, kNoRounding) != 0;
#elif defined(__AVX__) && SPARSECRF_LANES == 4 && !defined(SPARSECRF_ARRAYS) && !defined(_MSC_VER)
    return __builtin_ia32_movmskpd256(reinterpret_cast<Vec>(a > b)) != 0;
#else
    const IntVec greater = a > b;
    bool found = false;
    for (int i = 0; i < L; ++i) found |= greater[i] != 0;
    return found;
#endif
}

// Whether a >= b in some lane.
SPARSECRF_INLINE bool any_at_least(Vec a, Vec b) {
#if defined(__AVX512F__) && SPARSECRF_LANES == 8 && !defined(SPARSECRF_ARRAYS) && !defined(_MSC_VER)
    constexpr int kAtLeast = 29, kNoRounding = 4;
    return __builtin_ia32_cmppd512_mask(a, b, kAtLeast, 0xff, kNoRounding) != 0;
#elif defined(__AVX__) && SPARSECRF_LANES == 4 && !defined(SPARSECRF_ARRAYS) && !defined(_MSC_VER)
    return __builtin_ia32_movmskpd256(reinterpret_cast<Vec>(a >= b)) != 0;
#else
    const IntVec at_least = a >= b;
    bool found = false;
    for (int i = 0; i < L; ++i) found |= at_least[i] != 0;
    return found;
#endif
}
}  // namespace sparsecrf::SPARSECRF_CLONE
