#include "core/training/ngram_expectations.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/base/parallel.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kNodesAtATime = 512;  // a task: so many nodes of a kind, over all its rows
constexpr std::uint32_t kNoKind = 0xffffffffu;

}  // namespace

NgramExpectations::NgramExpectations(const NgramTables& tables, const Corpus& corpus, const Plan& plan, int threads)
    : tables_(tables), corpus_(corpus), threads_(threads), blocks_(plan.blocks.size()) {
    std::unordered_map<std::uint64_t, std::uint32_t> found;
    std::vector<std::uint32_t> kind_of(tables.of.size(), kNoKind);  // [P]
    for (std::size_t p = 0; p < tables.of.size(); ++p) {
        const std::uint32_t place = tables.of[p], base = corpus.base[p];
        if (place == 0) continue;
        const auto next = static_cast<std::uint32_t>(kinds_.size());
        const auto [at, is_new] = found.try_emplace(std::uint64_t{place} << 32 | base, next);
        if (is_new) {
            kinds_.push_back({place, base, n_sums_});
            n_sums_ += tables.places.place(place).n_nodes();
        }
        kind_of[p] = at->second;
    }
    index(plan, kind_of);
}

void NgramExpectations::index(const Plan& plan, const std::vector<std::uint32_t>& kind_of) {
    parallel_for(static_cast<std::int64_t>(blocks_.size()), threads_, 1, [&](int, std::int64_t b) {
        const Block& block = plan.blocks[static_cast<std::size_t>(b)];
        std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // kind, row
        std::uint32_t row = 0;
        for (std::int64_t k = block.first_item; k < block.last_item; ++k) {
            const std::int64_t i = plan.items[static_cast<std::size_t>(k)].sequence;
            for (std::int64_t t = corpus_.offsets[i]; t < corpus_.offsets[i + 1]; ++t, ++row) {
                const std::uint32_t kind = kind_of[static_cast<std::size_t>(t)];
                if (kind != kNoKind) found.emplace_back(kind, row);
            }
        }
        std::sort(found.begin(), found.end());
        Occurrences& made = blocks_[static_cast<std::size_t>(b)];
        for (std::size_t k = 0; k < found.size(); ++k) {
            if (k == 0 || found[k].first != found[k - 1].first) {
                if (k > 0) made.ptr.push_back(static_cast<std::uint32_t>(k));
                made.keys.push_back(found[k].first);
            }
            made.rows.push_back(found[k].second);
        }
        if (!found.empty()) made.ptr.push_back(static_cast<std::uint32_t>(found.size()));
    });
}

void NgramExpectations::begin(bool curvature) {
    curvature_ = curvature;
    sum_.assign(n_sums_, 0.0);
    square_.assign(curvature ? n_sums_ : 0, 0.0);
}

// One thread adds up one node of a kind, in the order of the rows.
void NgramExpectations::add(std::size_t block, const BlockRows& rows) {
    const Occurrences& all = blocks_[block];
    struct Task {
        std::size_t key, first, last;
    };
    std::vector<Task> tasks;
    for (std::size_t key = 0; key < all.keys.size(); ++key) {
        const std::size_t n = tables_.places.place(kinds_[all.keys[key]].place).n_nodes();
        for (std::size_t k = 0; k < n; k += kNodesAtATime) tasks.push_back({key, k, std::min(k + kNodesAtATime, n)});
    }
    parallel_for(static_cast<std::int64_t>(tasks.size()), threads_, 1, [&](int, std::int64_t k) {
        const Task& task = tasks[static_cast<std::size_t>(k)];
        const Kind& kind = kinds_[all.keys[task.key]];
        const std::size_t n_arcs = tables_.places.place(kind.place).n_arcs();
        const std::size_t split = std::clamp(n_arcs, task.first, task.last);  // arcs before it, pairs from it on
        double* sum = sum_.data() + kind.first;
        double* square = curvature_ ? square_.data() + kind.first : nullptr;
        for (std::uint32_t o = all.ptr[task.key]; o < all.ptr[task.key + 1]; ++o) {
            const std::uint32_t r = all.rows[o], item = rows.item[r];
            const NgramLattice& of = rows.lattices[item].ngrams;
            const auto t = static_cast<std::size_t>(r - rows.first_row[item]);
            const double weight = rows.weight[r];
            const double* p = of.p.data() + of.arc_ptr[t];
            for (std::size_t g = task.first; g < split; ++g) sum[g] += weight * p[g];
            for (std::size_t g = task.first; curvature_ && g < split; ++g) square[g] += weight * p[g] * p[g];
            const double* more = of.extra.data() + of.pair_ptr[t];
            const double* pair_p = of.pair_p.data() + of.pair_ptr[t];
            for (std::size_t j = split; j < task.last; ++j) sum[j] += weight * more[j - n_arcs];
            for (std::size_t j = split; curvature_ && j < task.last; ++j) {
                const double e = more[j - n_arcs];  // p - b: p^2 - b^2 = e (2 p - e)
                square[j] += weight * e * (2.0 * pair_p[j - n_arcs] - e);
            }
        }
    });
}

// E[x, g] += v sum_t w p_t(g);  h[x, g] += v^2 sum_t w p_t(g) (1 - p_t(g))
void NgramExpectations::finish(std::span<double> g, std::span<double> h) const {
    const auto offset = static_cast<std::size_t>(tables_.places.features().first_ngram());
    for (const Kind& kind : kinds_) {
        for (const NgramPlace::Term& term : tables_.places.place(kind.place).terms) {
            const std::size_t arc = kind.first + term.arc, f = offset + term.feature;
            g[f] += term.value * sum_[arc];
            if (curvature_) h[f] += term.value * term.value * (sum_[arc] - square_[arc]);
        }
        share_out_pairs(kind, g, h);
    }
}

void NgramExpectations::share_out_pairs(const Kind& kind, std::span<double> g, std::span<double> h) const {
    const FeatureSet& features = tables_.places.features();
    const NgramPlace& place = tables_.places.place(kind.place);
    const ListPool& pool = corpus_.base_lists;
    for (std::int64_t e = pool.begin(kind.base); e < pool.end(kind.base); ++e) {
        const std::uint32_t x = pool.id(e);
        const double value = pool.value(e);
        const std::span<const std::uint32_t> row = features.bigram_pairs_of(x);
        const auto first = static_cast<std::size_t>(features.n_unigram() + features.bigram_ptr[x]);
        std::size_t j = 0;
        for (std::size_t k = 0; k < place.pair.size(); ++k) {
            while (j < row.size() && row[j] < place.pair[k]) ++j;
            if (j == row.size()) break;
            if (row[j] != place.pair[k]) continue;
            const std::size_t node = kind.first + place.n_arcs() + k;
            g[first + j] += value * sum_[node];
            if (curvature_) h[first + j] += value * value * (sum_[node] - square_[node]);
        }
    }
}

}  // namespace sparsecrf
