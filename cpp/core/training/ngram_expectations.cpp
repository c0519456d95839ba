#include "core/training/ngram_expectations.hpp"

#include <algorithm>

#include "core/base/parallel.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kArcsAtATime = 512;  // a task: so many arcs of a place, over all its rows

}  // namespace

NgramExpectations::NgramExpectations(const NgramTables& tables, const Corpus& corpus, const Plan& plan, int threads)
    : tables_(tables), threads_(threads), blocks_(plan.blocks.size()), first_{0} {
    for (std::uint32_t id = 0; id < tables.places.size(); ++id) {
        first_.push_back(first_.back() + tables.places.place(id).n_arcs());
    }
    parallel_for(static_cast<std::int64_t>(blocks_.size()), threads, 1, [&](int, std::int64_t b) {
        const Block& block = plan.blocks[static_cast<std::size_t>(b)];
        std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // place, row
        std::uint32_t row = 0;
        for (std::int64_t k = block.first_item; k < block.last_item; ++k) {
            const std::int64_t i = plan.items[static_cast<std::size_t>(k)].sequence;
            for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t, ++row) {
                const std::uint32_t id = tables.of[static_cast<std::size_t>(t)];
                if (tables.places.place(id).n_arcs() > 0) found.emplace_back(id, row);
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
    sum_.assign(first_.back(), 0.0);
    square_.assign(curvature ? first_.back() : 0, 0.0);
}

// One thread adds up one arc of a place, in the order of the rows.
void NgramExpectations::add(std::size_t block, const BlockRows& rows) {
    const Occurrences& all = blocks_[block];
    struct Task {
        std::size_t key, first, last;
    };
    std::vector<Task> tasks;
    for (std::size_t key = 0; key < all.keys.size(); ++key) {
        const std::size_t n = tables_.places.place(all.keys[key]).n_arcs();
        for (std::size_t g = 0; g < n; g += kArcsAtATime) tasks.push_back({key, g, std::min(g + kArcsAtATime, n)});
    }
    parallel_for(static_cast<std::int64_t>(tasks.size()), threads_, 1, [&](int, std::int64_t k) {
        const Task& task = tasks[static_cast<std::size_t>(k)];
        const std::size_t first = first_[all.keys[task.key]];
        for (std::uint32_t o = all.ptr[task.key]; o < all.ptr[task.key + 1]; ++o) {
            const std::uint32_t r = all.rows[o], item = rows.item[r];
            const NgramLattice& of = rows.lattices[item].ngrams;
            const double* p = of.p.data() + of.arc_ptr[static_cast<std::size_t>(r - rows.first_row[item])];
            const double weight = rows.weight[r];
            for (std::size_t g = task.first; g < task.last; ++g) sum_[first + g] += weight * p[g];
            if (!curvature_) continue;
            for (std::size_t g = task.first; g < task.last; ++g) square_[first + g] += weight * p[g] * p[g];
        }
    });
}

// E[x, g] += v sum_t w p_t(g);  h[x, g] += v^2 sum_t w p_t(g) (1 - p_t(g))
void NgramExpectations::finish(std::span<double> g, std::span<double> h) const {
    const auto offset = static_cast<std::size_t>(tables_.places.features().first_ngram());
    for (std::uint32_t id = 0; id < tables_.places.size(); ++id) {
        for (const NgramPlace::Term& term : tables_.places.place(id).terms) {
            const std::size_t arc = first_[id] + term.arc;
            g[offset + term.feature] += term.value * sum_[arc];
            if (curvature_) h[offset + term.feature] += term.value * term.value * (sum_[arc] - square_[arc]);
        }
    }
}

}  // namespace sparsecrf
