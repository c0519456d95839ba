#include "core/training/sbcd.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/parallel.hpp"
#include "core/training/quadratic/quadratic.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kItemsAtATime = 64;  // one sum per chunk; fixed, so that results do not depend on the number of
                                           // threads
constexpr double kMoreDamping = 4.0, kLessDamping = 0.8, kMostDamping = 1e9;

// The value of attribute x in a list, or 0.
double value_in(const ListPool& lists, std::uint32_t list, std::uint32_t x) {
    const std::span<const std::uint32_t> ids = lists.of(list);
    const auto found = std::lower_bound(ids.begin(), ids.end(), x);
    return found != ids.end() && *found == x ? lists.value(lists.begin(list) + (found - ids.begin())) : 0.0;
}

// s(z, rho): soft thresholding.
double soft(double z, double rho) { return z > rho ? z - rho : z < -rho ? z + rho : 0.0; }

}  // namespace

Sbcd::Lists Sbcd::lists_by_attribute(const ListPool& pool, std::uint32_t n_attributes) {
    Lists made;
    made.ptr.assign(static_cast<std::size_t>(n_attributes) + 1, 0);
    for (std::int64_t k = 0; k < pool.n_entries(); ++k) ++made.ptr[pool.id(k) + 1];
    for (std::uint32_t x = 0; x < n_attributes; ++x) made.ptr[x + 1] += made.ptr[x];
    made.list.resize(static_cast<std::size_t>(pool.n_entries()));
    std::vector<std::int64_t> next(made.ptr.begin(), made.ptr.end() - 1);
    for (std::uint32_t list = 0; list < pool.size(); ++list) {
        for (std::int64_t k = pool.begin(list); k < pool.end(list); ++k)
            made.list[static_cast<std::size_t>(next[pool.id(k)]++)] = list;
    }
    return made;
}

Sbcd::Sbcd(const Corpus& corpus, Kernel kernel, int threads)
    : corpus_(corpus),
      kernel_(kernel),
      threads_(resolve_threads(threads)),
      n_labels_(corpus.n_labels),
      stride_(padded(corpus.n_labels)),
      plan_(corpus),
      unigram_lists_(lists_by_attribute(corpus.unigram_lists, corpus.n_attributes)),
      base_lists_(lists_by_attribute(corpus.base_lists, corpus.n_attributes)),
      unit_(corpus, plan_),
      damping_(corpus.n_attributes, 1.0) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> holds;  // attribute, item
    std::vector<std::int64_t> last(corpus.n_attributes, -1);
    for (std::size_t k = 0; k < plan_.items.size(); ++k) {
        const auto add = [&](std::uint32_t x, double) {
            if (last[x] == static_cast<std::int64_t>(k)) return;
            last[x] = static_cast<std::int64_t>(k);
            holds.emplace_back(x, static_cast<std::uint32_t>(k));
        };
        const std::int64_t i = plan_.items[k].sequence;
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
            corpus.for_each_unigram(t, add);
            corpus.for_each_bigram(t, add);
        }
    }
    items_.ptr.assign(static_cast<std::size_t>(corpus.n_attributes) + 1, 0);
    for (const auto& [x, item] : holds) ++items_.ptr[x + 1];
    for (std::uint32_t x = 0; x < corpus.n_attributes; ++x) items_.ptr[x + 1] += items_.ptr[x];
    items_.list.resize(holds.size());
    std::vector<std::int64_t> next(items_.ptr.begin(), items_.ptr.end() - 1);
    for (const auto& [x, item] : holds) items_.list[static_cast<std::size_t>(next[x]++)] = item;
}

double Sbcd::sweep(const FeatureSet& features, std::span<double> w, std::span<const double> counts,
                   const Options& options) {
    features.check_fits(corpus_);
    features.check_pairs_at_most("sbcd");
    features.check_whole_labels("sbcd");
    features.check_weights(w);
    features.check_weights(counts);
    UnigramRows rows(features, w, true);
    const BasePairs pairs(corpus_, features);
    Potentials potentials(corpus_, corpus_.unigram_lists, kernel_, threads_, &pairs);
    potentials.assign(features, w, rows);
    std::vector<Worker> workers;
    for (int k = 0; k < threads_; ++k) workers.push_back({Recursion(potentials), {}});
    double visited = 0.0;
    for (std::uint32_t x = 0; x < corpus_.n_attributes; ++x) {
        const Row all{features.unigram_ptr[x], features.unigram_ptr[x + 1] - features.unigram_ptr[x],
                      features.bigram_ptr[x] + features.n_unigram(),
                      features.bigram_ptr[x + 1] - features.bigram_ptr[x]};
        const auto visit_block = [&](const Row& row) {
            visited += improve(features, x, row, workers, rows, potentials, w, counts, options);
        };
        if (!options.coordinatewise) {
            if (all.n_unigram + all.n_bigram > 0) visit_block(all);
            continue;
        }
        for (std::int64_t k = 0; k < all.n_unigram; ++k) visit_block({all.unigram + k, 1, all.bigram, 0});
        for (std::int64_t k = 0; k < all.n_bigram; ++k) visit_block({all.unigram, 0, all.bigram + k, 1});
    }
    return visited / static_cast<double>(plan_.items.size());
}

double Sbcd::improve(const FeatureSet& features, std::uint32_t x, const Row& row, std::vector<Worker>& workers,
                     UnigramRows& rows, Potentials& potentials, std::span<double> w, std::span<const double> counts,
                     const Options& options) {
    const auto n_unigram = static_cast<std::size_t>(row.n_unigram),
               n = n_unigram + static_cast<std::size_t>(row.n_bigram);
    const auto number = [&](std::size_t k) {
        return k < n_unigram ? static_cast<std::size_t>(row.unigram) + k
                             : static_cast<std::size_t>(row.bigram) + k - n_unigram;
    };
    std::vector<double> g(n), h(n, 0.0), block(n);
    for (std::size_t k = 0; k < n; ++k) {
        g[k] = -counts[number(k)];
        block[k] = w[number(k)];
    }
    const auto n_items = static_cast<double>(items_.of(x).size());
    const double log_z = visit(features, x, row, workers, g, h);
    double visited = n_items;
    const auto apply = [&](const std::vector<double>& d) {
        for (std::size_t k = 0; k < n; ++k) w[number(k)] = block[k] + d[k];
        rows.update(features, w, x);
        potentials.refresh(unigram_lists_.of(x), base_lists_.of(x));
    };
    for (;;) {
        const std::vector<double> d = step(features, x, row, block, g, h, options, damping_[x]);
        if (std::all_of(d.begin(), d.end(), [](double change) { return change == 0.0; })) return visited;
        apply(d);
        if (options.as_printed > 0.0) return visited;
        // The change of the objective, in three terms: log Z over the items of x, counts and penalty.
        double change = visit(features, x, row, workers, {}, {}) - log_z;
        visited += 0.5 * n_items;
        for (std::size_t k = 0; k < n; ++k) {
            const double z = block[k] + d[k];
            change += options.rho1 * (std::fabs(z) - std::fabs(block[k])) +
                      0.5 * options.rho2 * (z * z - block[k] * block[k]) - d[k] * counts[number(k)];
        }
        if (change <= 1e-13 * std::fabs(log_z)) {
            damping_[x] = std::max(1.0, kLessDamping * damping_[x]);
            return visited;
        }
        apply(std::vector<double>(n, 0.0));
        damping_[x] *= kMoreDamping;
        if (damping_[x] > kMostDamping) {
            damping_[x] = 1.0;
            return visited;
        }
    }
}

double Sbcd::visit(const FeatureSet& features, std::uint32_t x, const Row& row, std::vector<Worker>& workers,
                   std::span<double> g, std::span<double> h) const {
    const std::span<const std::uint32_t> items = items_.of(x);
    const std::size_t n = g.size(), parts = (items.size() + kItemsAtATime - 1) / kItemsAtATime;
    std::vector<double> sums(2 * n * parts, 0.0), log_z(parts, 0.0);  // g, then h, for each part
    parallel_for(static_cast<std::int64_t>(parts), threads_, 1, [&](int thread, std::int64_t part) {
        const std::size_t first = static_cast<std::size_t>(part) * kItemsAtATime;
        const std::span<double> own(sums.data() + 2 * n * static_cast<std::size_t>(part), 2 * n);
        Worker& worker = workers[static_cast<std::size_t>(thread)];
        for (std::size_t k = first; k < std::min(first + kItemsAtATime, items.size()); ++k) {
            log_z[static_cast<std::size_t>(part)] +=
                add_item(features, x, row, plan_.items[items[k]], worker, own.first(n), own.last(n));
        }
    });
    double sum = 0.0;
    for (std::size_t part = 0; part < parts; ++part) {
        sum += log_z[part];
        for (std::size_t k = 0; k < n; ++k) {
            g[k] += sums[2 * n * part + k];
            h[k] += sums[2 * n * part + n + k];
        }
    }
    return sum;
}

// E and curvature of the features of x over one item.
double Sbcd::add_item(const FeatureSet& features, std::uint32_t x, const Row& row, const Item& item, Worker& worker,
                      std::span<double> g, std::span<double> h) const {
    OwnedLattice& lattice = worker.lattice;
    lattice.take(corpus_, item.sequence, stride_);
    lattice.fixed = plan_.fixed_labels(item);
    worker.recursion.forward(lattice);
    if (g.empty()) return item.weight * lattice.log_z;
    const auto holds = [&](std::int64_t t) {
        const std::int64_t position = lattice.first + t;
        return value_in(corpus_.unigram_lists, corpus_.unigram[position], x) != 0.0 ||
               value_in(corpus_.base_lists, corpus_.base[position], x) != 0.0 ||
               value_in(corpus_.rest_lists, corpus_.rest[position], x) != 0.0;
    };
    std::int64_t first = 0;
    while (first < lattice.length && !holds(first)) ++first;
    worker.recursion.backward(lattice, first);
    const double weight = item.weight, curved = std::max(item.weight, 0.0);
    const auto add = [&](std::size_t k, double value, double p) {
        g[k] += weight * value * p;
        h[k] += curved * value * value * p * (1.0 - p);
    };
    const std::uint32_t* pairs = features.bigram_pair.data() + (row.bigram - features.n_unigram());
    const auto split =
        static_cast<std::int64_t>(LabelPairs(n_labels_).count_inner({pairs, static_cast<std::size_t>(row.n_bigram)}));
    for (std::int64_t t = first; t < lattice.length; ++t) {
        const std::int64_t position = lattice.first + t;
        const double u = value_in(corpus_.unigram_lists, corpus_.unigram[position], x);
        for (std::int64_t k = 0; u != 0.0 && k < row.n_unigram; ++k) {
            add(static_cast<std::size_t>(k), u, lattice.p[t * stride_ + features.unigram_label[row.unigram + k]]);
        }
        const double b = value_in(corpus_.base_lists, corpus_.base[position], x) +
                         value_in(corpus_.rest_lists, corpus_.rest[position], x);
        if (b == 0.0) continue;
        const std::int64_t begin = t == 0 ? split : 0, end = t == 0 ? row.n_bigram : split;
        worker.recursion.pair_marginals(
            lattice, t, {pairs + begin, static_cast<std::size_t>(end - begin)},
            [&](std::size_t k, double p) { add(static_cast<std::size_t>(row.n_unigram + begin) + k, b, p); });
    }
    return item.weight * lattice.log_z;
}

std::vector<double> Sbcd::step(const FeatureSet& features, std::uint32_t x, const Row& row,
                               std::span<const double> block, std::span<const double> g, std::span<const double> h,
                               const Options& options, double damping) const {
    const std::size_t n = g.size(), n_unigram = static_cast<std::size_t>(row.n_unigram);
    std::vector<double> d(n, 0.0);
    if (options.as_printed > 0.0) {
        for (std::size_t k = 0; k < n; ++k) {
            const double curvature = options.as_printed * h[k];
            if (curvature + options.rho2 == 0.0) continue;
            d[k] = soft(curvature * block[k] - g[k], options.rho1) / (curvature + options.rho2) - block[k];
        }
        return d;
    }
    std::vector<double> q(n), diagonal(n), coupling(n, 0.0), shared(n, 0.0), unit(n, unit_.unigram[x]);
    std::fill(unit.begin() + row.n_unigram, unit.end(), unit_.bigram[x]);
    std::vector<std::int32_t> parent(n, -1);
    const std::uint16_t* labels = features.unigram_label.data() + row.unigram;
    const std::uint32_t* pairs = features.bigram_pair.data() + (row.bigram - features.n_unigram());
    for (std::size_t k = 0; k < n; ++k) {
        q[k] = damping * std::max(h[k], unit[k] * std::fabs(g[k]));
        if (k < n_unigram) continue;
        const auto y = static_cast<std::uint16_t>(LabelPairs(n_labels_).label(pairs[k - n_unigram]));
        const auto found = static_cast<std::size_t>(std::lower_bound(labels, labels + n_unigram, y) - labels);
        if (found == n_unigram || labels[found] != y) continue;
        parent[k] = static_cast<std::int32_t>(found);
        coupling[k] = q[k];
        shared[found] += q[k];
    }
    for (std::size_t k = 0; k < n; ++k) diagonal[k] = std::max(q[k], shared[k]) + kRidge * unit[k] * unit[k] * damping;
    const Quadratic model{g, block, diagonal, parent, coupling,     {},           {}, 1.0,
                          0, {},    0,        0,      options.rho1, options.rho2, {}, unit};
    minimize_quadratic(model, kRadius, 1e-3, 50, d);
    return d;
}

}  // namespace sparsecrf
