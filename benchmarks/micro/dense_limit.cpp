// The machine's own dense limit: the multiply-adds of one loss + gradient pass of a dense linear chain, and nothing else.
//
//     forward    u(y)     += a(y') E(y', y)      P Y^2
//     backward   b(y')    += v(y) Et(y, y')      P Y^2
//     outer      G(y', y) += a(y') v(y)          P Y^2
//
// in float64, on one matrix and two vectors that stay in the first-level cache (Y = 51: E, Et and G have 22 KB each).
// No exponential, no scaling, no normaliser, no lists, no corpus: every real pass does more than this. The loops keep
// their sums in registers: kColumns columns are summed down all rows (the products), or a tile of kRows x kColumns is
// summed over kBatch positions (the outer product). The body stands once; the compiler makes its vectors, and the build
// decides on fused multiply-adds (-ffp-contract=fast or off).
//
// Usage: dense_limit Y P REPETITIONS      prints the seconds of each repetition, one a line.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")  // arrays of sums live in registers only when their loops are gone
#endif

namespace {

constexpr int kLanes = 8;        // labels are padded to this
constexpr int kVector = kLanes;  // doubles of one compiler vector
constexpr int kTile = 4;         // vectors summed at a time by a product
constexpr int kRows = 8;         // tile of the outer product: kRows x kPair vectors
constexpr int kPair = 2;
constexpr int kBatch = 32;  // positions an outer product's tile stays in registers

typedef double Vec __attribute__((vector_size(kVector * 8)));

Vec* filled(std::size_t n, double value) {
    auto* x = static_cast<Vec*>(::operator new(n * sizeof(Vec), std::align_val_t(sizeof(Vec))));
    for (std::size_t k = 0; k < n; ++k) x[k] = Vec{} + value;
    return x;
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// out[j] = sum_i a[i] m[i, j] for N vectors of columns; even and odd rows apart, to hide the latency of the additions.
template <int N>
void product_tile(const double* a, const Vec* m, int rows, int stride, Vec* out) {
    Vec even[N] = {}, odd[N] = {};
    int i = 0;
    for (; i + 2 <= rows; i += 2) {
        UNROLL
        for (int j = 0; j < N; ++j) even[j] += a[i] * m[i * stride + j];
        UNROLL
        for (int j = 0; j < N; ++j) odd[j] += a[i + 1] * m[(i + 1) * stride + j];
    }
    if (i < rows) {
        UNROLL
        for (int j = 0; j < N; ++j) even[j] += a[i] * m[i * stride + j];
    }
    UNROLL
    for (int j = 0; j < N; ++j) out[j] = even[j] + odd[j];
}

void product(const double* a, const Vec* m, int rows, int stride, Vec* out) {
    int j = 0;
    for (; j + 2 * kTile <= stride; j += 2 * kTile) product_tile<2 * kTile>(a, m + j, rows, stride, out + j);
    switch (stride - j) {
        case 7:
            return product_tile<7>(a, m + j, rows, stride, out + j);
        case 6:
            return product_tile<6>(a, m + j, rows, stride, out + j);
        case 5:
            return product_tile<5>(a, m + j, rows, stride, out + j);
        case 4:
            return product_tile<4>(a, m + j, rows, stride, out + j);
        case 3:
            return product_tile<3>(a, m + j, rows, stride, out + j);
        case 2:
            return product_tile<2>(a, m + j, rows, stride, out + j);
        case 1:
            return product_tile<1>(a, m + j, rows, stride, out + j);
        default:
            return;
    }
}

// g[i.., j..] += sum_k a_k[i..] v_k[j..] for an R x C tile.
template <int R, int C>
void outer_tile(const double* a, const Vec* v, int i, int j, int stride, Vec* g) {
    Vec sum[R][C];
    UNROLL
    for (int r = 0; r < R; ++r) {
        UNROLL
        for (int c = 0; c < C; ++c) sum[r][c] = g[(i + r) * stride + j + c];
    }
    for (int k = 0; k < kBatch; ++k) {
        UNROLL
        for (int r = 0; r < R; ++r) {
            UNROLL
            for (int c = 0; c < C; ++c) sum[r][c] += a[k * stride * kVector + i + r] * v[k * stride + j + c];
        }
    }
    UNROLL
    for (int r = 0; r < R; ++r) {
        UNROLL
        for (int c = 0; c < C; ++c) g[(i + r) * stride + j + c] = sum[r][c];
    }
}

template <int R>
void outer_rows(const double* a, const Vec* v, int i, int stride, Vec* g) {
    int j = 0;
    for (; j + kPair <= stride; j += kPair) outer_tile<R, kPair>(a, v, i, j, stride, g);
    for (; j < stride; ++j) outer_tile<R, 1>(a, v, i, j, stride, g);
}

void outer(const double* a, const Vec* v, int rows, int stride, Vec* g) {
    int i = 0;
    for (; i + kRows <= rows; i += kRows) outer_rows<kRows>(a, v, i, stride, g);
    for (; i < rows; ++i) outer_rows<1>(a, v, i, stride, g);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const int labels = std::atoi(argv[1]), positions = std::atoi(argv[2]), repetitions = std::atoi(argv[3]);
    const int stride = (labels + kVector - 1) / kVector;  // in vectors
    const auto cells = static_cast<std::size_t>(labels * stride), batch = static_cast<std::size_t>(kBatch * stride);
    // Rows of E sum to about one: nothing grows or vanishes on the way.
    Vec *e = filled(cells, 1.0 / labels), *et = filled(cells, 1.0 / labels), *g = filled(cells, 0.0);
    Vec *alpha = filled(batch, 1.0), *v = filled(batch, 1.0);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        const double begin = processor_seconds();
        for (int t = 0; t < positions; t += kBatch) {
            // Each position reads the row that the one before it wrote, as in the recursions.
            for (int k = 0; k < kBatch; ++k) {
                const auto* row = reinterpret_cast<const double*>(alpha + k * stride);
                product(row, e, labels, stride, alpha + (k + 1) % kBatch * stride);
            }
            for (int k = 0; k < kBatch; ++k) {
                const auto* row = reinterpret_cast<const double*>(v + k * stride);
                product(row, et, labels, stride, v + (k + 1) % kBatch * stride);
            }
            outer(reinterpret_cast<const double*>(alpha), v, labels, stride, g);
        }
        const double end = processor_seconds();
        // Without these two lines the compiler could drop the work.
        double sum = 0.0;
        for (std::size_t k = 0; k < cells; ++k) sum += g[k][0];
        if (!(sum >= 0.0)) return 3;
        std::printf("%.9f\n", end - begin);
    }
}
