// Every kernel of every instruction set on made-up numbers: all give the same bits. Prints a digest of these bits,
// which is also the same for every compiler, processor and system: `make wheels` compares them.
#include "core/simd/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/hash.hpp"
#include "core/base/infinity.hpp"
#include "core/base/shuffle.hpp"

namespace sparsecrf::arrays {
const Kernels& table();  // kernels_arrays.cpp
}

using namespace sparsecrf;

namespace {

using Row = AlignedVector<double>;

// n numbers in (-scale, scale), 53 random bits each.
Row numbers(Splitmix& random, std::size_t n, double scale) {
    Row row(n);
    for (double& x : row) x = (static_cast<double>(random.next() >> 11) * 0x1p-52 - 1.0) * scale;
    return row;
}

Row positive(Row row) {
    for (double& x : row) x = std::fabs(x);
    return row;
}

std::vector<const double*> pointers(const std::vector<Row>& rows) {
    std::vector<const double*> all;
    for (const Row& row : rows) all.push_back(row.data());
    return all;
}

// All that the kernels compute of numbers by `seed`, for n labels (a multiple of kLanes).
std::vector<double> results(const Kernels& k, int n, int rows, std::uint64_t seed) {
    Splitmix random(seed);
    const auto size = static_cast<std::size_t>(n), height = static_cast<std::size_t>(rows);
    std::vector<double> all;
    const auto keep = [&](const Row& row) { all.insert(all.end(), row.begin(), row.end()); };
    const Row a = numbers(random, height, 3.0), m = numbers(random, height * size, 3.0);
    Row out(size);
    k.matvec(a.data(), m.data(), rows, n, out.data());
    keep(out);
    k.maxplus(a.data(), m.data(), rows, n, out.data());
    keep(out);

    std::vector<Row> lefts, rights;  // the vectors of outer products: lefts[r][i] rights[r][j]
    for (int r = 0; r < 5; ++r) {
        lefts.push_back(numbers(random, height, 1.0));
        rights.push_back(numbers(random, size, 1.0));
    }
    Row g = numbers(random, height * size, 1.0);
    k.rank_update(pointers(lefts).data(), pointers(rights).data(), lefts.size(), rows / 3, rows, n, g.data());
    keep(g);
    Row sum = numbers(random, size, 1.0);
    k.sum_rows(a.data(), pointers(rights).data(), std::min(rows, 5), n, sum.data());
    keep(sum);

    Row x = numbers(random, size, 900.0);  // exp of it leaves the range of doubles on both sides
    x[1] = -kInfinity;
    k.exp_shifted(x.data(), 0.25, n, out.data());
    keep(out);
    double low, high;
    k.range(x.data(), n, &low, &high);
    all.insert(all.end(), {low, high});

    const Row e = positive(numbers(random, size, 1.0)), u = positive(numbers(random, size, 1.0));
    Row alpha(size), v(size), p(size);
    all.push_back(k.forward_finish(e.data(), u.data(), n, alpha.data(), v.data()));
    keep(alpha);
    keep(v);
    all.push_back(k.backward_finish(alpha.data(), u.data(), n, v.data(), p.data()));
    keep(v);
    keep(p);
    all.push_back(k.dot(e.data(), sum.data(), n));
    double slope, curvature;
    k.excess(sum.data(), rights[0].data(), e.data(), 1e-3, n, &slope, &curvature);
    all.insert(all.end(), {slope, curvature});
    k.axpy(0.7, e.data(), n, sum.data());
    keep(sum);
    k.axpy_variance(0.7, alpha.data(), n, sum.data());
    keep(sum);
    return all;
}

std::uint64_t digest(const std::vector<double>& numbers) {
    std::uint64_t hash = 0;
    for (const double x : numbers) {
        std::uint64_t bits;
        std::memcpy(&bits, &x, sizeof bits);
        hash = mix(hash ^ bits);
    }
    return hash;
}

}  // namespace

int main() {
    std::vector<const Kernels*> clones{&arrays::table()};
    for (const std::string& name : instruction_sets()) {
        set_instruction_set(name);
        clones.push_back(&kernels());
    }
    std::uint64_t all = 0;
    for (int n = kLanes; n <= 12 * kLanes; n += kLanes) {
        for (const int rows : {1, 2, 7, 8, 33}) {
            const std::uint64_t seed = static_cast<std::uint64_t>(1000 * n + rows);
            const std::uint64_t expected = digest(results(*clones[0], n, rows, seed));
            for (const Kernels* clone : clones) {
                if (digest(results(*clone, n, rows, seed)) == expected) continue;
                std::fprintf(stderr, "kernels: expected the bits of %s, found others with %s, %d labels, %d rows\n",
                             clones[0]->name, clone->name, n, rows);
                return 1;
            }
            all = mix(all ^ expected);
        }
    }
    std::printf("kernels:");
    for (const Kernels* clone : clones) std::printf(" %s", clone->name);
    std::printf(": digest %016llx\n", static_cast<unsigned long long>(all));
}
