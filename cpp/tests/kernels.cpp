// Runs every kernel of every instruction set on synthetic numbers: all must give the same bits. Prints a digest of
// these bits, which is also the same for every compiler, processor and system: `make wheels` compares them.
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
#include "core/simd/dual_rows.hpp"
#include "core/simd/ngram_rows.hpp"

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

// Everything that the kernels compute from random numbers with this seed, for n labels (a multiple of kLanes).
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
    const std::vector<int> of{rows - 1, 0, rows / 2, 0};
    k.maxplus_of(a.data(), m.data(), of.data(), 4, n, out.data());
    keep(out);

    std::vector<Row> lefts, rights;  // vectors of outer products: lefts[r][i] rights[r][j]
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

    Row x = numbers(random, size, 900.0);  // exp overflows and underflows
    x[1] = -kInfinity;
    x[2] = 0.0;
    k.exp_shifted(x.data(), 0.25, n, out.data());
    keep(out);
    double low, high;
    k.range(x.data(), n, &low, &high);
    std::vector<int> found(size);
    all.push_back(k.largest(x.data(), n));
    const int n_above = k.above(x.data(), m.data(), 100.0, n, found.data());
    all.insert(all.end(), found.begin(), found.begin() + n_above);
    const int n_nonzero = k.nonzero(x.data(), n, found.data());
    all.insert(all.end(), found.begin(), found.begin() + n_nonzero);
    double best, second;
    all.push_back(k.best_two(x.data(), m.data(), n, &best, &second));
    all.push_back(best);
    all.push_back(second);
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

// The same for dual ascent, with four attributes at seven positions; some attributes occur twice.
std::vector<double> dual_results(const Kernels& k, int n, std::uint64_t seed) {
    Splitmix random(seed);
    const auto size = static_cast<std::size_t>(n);
    std::vector<double> all;
    const auto keep = [&](const Row& row) { all.insert(all.end(), row.begin(), row.end()); };
    Row Z = numbers(random, 6 * size, 0.3), du = numbers(random, 7 * size, 0.5), s = numbers(random, 7 * size, 1.0);
    const Row scale = positive(numbers(random, 6, 1.0)), value = numbers(random, 6, 1.0);
    const std::vector<DualRow> of_row{{scale[0], 1.0}, {scale[1], 1.0}, {scale[2], 1.5},
                                      {scale[3], 2.0}, {scale[4], 1.0}, {scale[5], 4.5}};
    std::fill_n(Z.begin(), size, 0.0);
    std::vector<std::uint8_t> active{0, 1, 1, 1, 0, 1}, allowed(6 * size / kLanes);
    for (std::uint8_t& byte : allowed) byte = static_cast<std::uint8_t>(random.next());
    const std::vector<std::uint32_t> attribute{0, 1, 3, 5}, ptr{0, 1, 3, 4, 6}, at{6, 0, 3, 2, 1, 5};
    for (const bool plain : {true, false}) {
        const DualRows of{4,   attribute.data(), ptr.data(),    at.data(),     plain ? nullptr : value.data(),  n,
                          0.1, Z.data(),         of_row.data(), active.data(), plain ? nullptr : allowed.data()};
        Row d(4 * size), again(4 * size), near_Z(5 * size), near_d(5 * size);
        std::vector<DualRow> near_of(5);
        k.dual_scores(of, s.data());
        keep(s);
        k.dual_differences(of, du.data(), 0.7, d.data());
        keep(d);
        const std::size_t near =
            k.dual_near(of, du.data(), 0.7, again.data(), near_Z.data(), near_d.data(), near_of.data());
        keep(again);
        double slope, square;
        k.conjugate(near_Z.data(), near_d.data(), near_of.data(), near, size, 0.1, 0.3, &slope, &square);
        all.insert(all.end(), {static_cast<double>(near), slope, square});
        k.dual_add(of, d.data(), 0.3, 0, 3);
        k.dual_add(of, d.data(), 0.3, 3, 4);
        keep(Z);
        for (const std::uint8_t is_active : active) all.push_back(is_active);
    }
    const int labels = n - 3;
    const auto square = static_cast<std::size_t>(labels * labels);
    const Row a = positive(numbers(random, size, 1.0)), m = positive(numbers(random, size * size, 1.0));
    Row u = positive(numbers(random, square + 2 * kLanes, 1.0)), d(square + 2 * kLanes);
    u[1] = 0.0;
    u[2] = 1e-310;
    Row sum = numbers(random, size * size, 1.0);
    k.pair_differences(a.data(), m.data(), a.data(), u.data(), labels, n, d.data(), sum.data());
    for (std::size_t i = 0; i + 3 < size; ++i) {  // without the padding, which is arbitrary
        all.insert(all.end(), &sum[i * size], &sum[i * size] + labels);
    }
    std::fill(d.begin() + static_cast<std::ptrdiff_t>(square), d.end(), 0.0);
    keep(d);
    const std::vector<float> next(u.size());
    for (const double small : {0.0, 0.5}) {
        double slope, value_of;
        const std::size_t rounded = (square + kLanes - 1) / kLanes * kLanes;
        k.entropy(u.data(), d.data(), 0.4, small, rounded, next.data(), &slope, &value_of);
        all.insert(all.end(), {slope, value_of});
        std::vector<float> stored(rounded);
        Row read(rounded);
        k.store_floats(u.data(), d.data(), 0.4, static_cast<float>(small), rounded, stored.data());
        k.read_floats(stored.data(), rounded, read.data());
        keep(read);
    }
    return all;
}

// The same for label n-grams at eight positions: n histories, 2 n leaves, n / 2 inner arcs, n / 2 pairs of n labels.
std::vector<double> ngram_results(const Kernels& k, int n, std::uint64_t seed) {
    Splitmix random(seed);
    const auto size = static_cast<std::size_t>(n);
    const std::size_t n_inner = size / 2, n_own = size / 2, n_leaves = 2 * size, n_arcs = n_leaves + n_inner;
    const auto below = [&](std::size_t bound) { return static_cast<std::uint32_t>(random.next() % bound); };
    std::vector<std::uint32_t> parent, history, pair_of, suffix;
    std::vector<std::uint16_t> previous, label, first, last;
    for (std::size_t g = 0; g < n_arcs; ++g) {  // parents follow their children
        const std::size_t least = g < n_leaves ? 0 : g - n_leaves + 1;
        parent.push_back(static_cast<std::uint32_t>(least) + below(n_inner + n_own - least));
        history.push_back(below(size));
        pair_of.push_back(below(n_own));
    }
    for (std::size_t h = 0; h < size; ++h) {
        first.push_back(static_cast<std::uint16_t>(below(size + 1)));
        last.push_back(static_cast<std::uint16_t>(below(size)));
        suffix.push_back(h % 3 == 0 ? NgramRows::kNone : below(std::max<std::size_t>(h, 1)));
    }
    for (std::size_t q = 0; q < n_own; ++q) {
        previous.push_back(static_cast<std::uint16_t>(below(size)));
        label.push_back(static_cast<std::uint16_t>(below(size)));
    }
    const auto rows = [&](std::size_t count) { return positive(numbers(random, count * kLanes, 1.0)); };
    const Row x = positive(numbers(random, n_arcs, 1.0)), x_parent = positive(numbers(random, n_arcs, 1.0)),
              more = numbers(random, n_arcs, 0.1), item = rows(1);
    Row mass = rows(size), rise = rows(size), leaves = rows(n_arcs), node = rows(n_arcs), weight = rows(n_own),
        alpha = rows(size + 1), u = rows(size + 1), v = rows(size + 1), value = rows(n_arcs), node_sum = rows(n_arcs),
        beta = rows(size + 1), scaled = rows(size + 1), p = rows(size + 1), step = rows(size + 1), steps = rows(size),
        safe(kLanes, 1.0), sum = numbers(random, n_arcs + kLanes, 1.0), square = sum, term = rows(n_arcs + kLanes),
        term_square = term;
    NgramRows of{};
    of.n_histories = size;
    of.n_history_pairs = size - size / 4;
    of.n_leaves = n_leaves;
    of.n_inner = n_inner;
    of.n_own = n_own;
    of.parent = parent.data();
    of.history = history.data();
    of.pair_of = pair_of.data();
    of.x = x.data();
    of.x_parent = x_parent.data();
    of.more = more.data();
    of.pair_previous = previous.data();
    of.pair_label = label.data();
    of.first = first.data();
    of.label = last.data();
    of.suffix = suffix.data();
    of.mass = mass.data();
    of.rise = rise.data();
    of.leaves = leaves.data();
    of.node = node.data();
    of.weight = weight.data();
    of.alpha = alpha.data();
    of.u = u.data();
    of.v = v.data();
    of.value = value.data();
    of.node_sum = node_sum.data();
    of.beta = beta.data();
    of.scaled = scaled.data();
    of.p = p.data();
    of.step = step.data();
    of.steps = steps.data();
    of.safe = safe.data();
    of.least = 0.1;
    of.most = 0.9;  // some lanes are below it, some above
    of.item = item.data();
    of.sum = sum.data();
    of.square = square.data();
    of.term = term.data();
    of.term_square = term_square.data();
    k.ngram_masses(of);
    k.ngram_forward(of, n);
    k.ngram_values(of);
    Row at_nodes = value;
    k.ngram_backward(of);
    k.ngram_histories(of, n);
    k.ngram_steps(of, n);
    std::vector<double> all;
    for (const Row* row : {&mass, &rise, &leaves, &node, &u, &p, &step, &steps, &safe, &sum, &square, &at_nodes})
        all.insert(all.end(), row->begin(), row->end());
    const std::size_t width = size + 3;
    std::vector<Row> lanes;
    for (int l = 0; l < kLanes; ++l) lanes.push_back(numbers(random, width, 1.0));
    Row side(width * kLanes);
    k.spread(lanes[0].data(), width, side.data());
    all.insert(all.end(), side.begin(), side.end());
    k.to_rows(pointers(lanes).data(), static_cast<int>(width), side.data());
    all.insert(all.end(), side.begin(), side.end());
    std::vector<double*> back;
    for (Row& lane : lanes) back.push_back(lane.data());
    for (double& y : side) y += 1.0;
    k.from_rows(side.data(), n, back.data());
    for (const Row& lane : lanes) all.insert(all.end(), lane.begin(), lane.end());
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
            const auto both = [&](const Kernels& clone) {
                return mix(digest(results(clone, n, rows, seed)) ^ digest(ngram_results(clone, n, seed)) ^
                           digest(dual_results(clone, n, seed)));
            };
            const std::uint64_t expected = both(*clones[0]);
            for (const Kernels* clone : clones) {
                if (both(*clone) == expected) continue;
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
