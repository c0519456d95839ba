#include "core/training/block_curvature.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"
#include "core/corpus/numbering.hpp"
#include "core/training/item_runs.hpp"

namespace sparsecrf {
namespace {

// A position whose labels are surer than this adds nothing that matters, nor does a feature that is less likely there.
constexpr double kSure = 1e-4, kUnlikely = 1e-5;
constexpr std::int64_t kItemsAtOnce = 256, kPartsOfThread = 4;

// What is above the diagonal becomes what is below it, in squares that fit into the first-level cache.  [n, n]
void mirror(std::span<double> h, std::size_t n, int threads) {
    constexpr std::size_t kSide = 32;
    const std::size_t n_squares = (n + kSide - 1) / kSide;
    parallel_for(static_cast<std::int64_t>(n_squares), threads, 1, [&](int, std::int64_t below) {
        const std::size_t first = static_cast<std::size_t>(below) * kSide, last = std::min(n, first + kSide);
        for (std::size_t left = 0; left <= first; left += kSide) {
            for (std::size_t b = left; b < std::min(n, left + kSide); ++b) {
                for (std::size_t a = std::max(first, b + 1); a < last; ++a) h[b * n + a] = h[a * n + b];
            }
        }
    });
}

}  // namespace

BlockCurvature::BlockCurvature(const Corpus& corpus, const Plan& plan, const FeatureSet& features,
                               std::span<const std::int64_t> block)
    : corpus_(corpus),
      plan_(plan),
      size_(block.size()),
      stride_(padded(corpus.n_labels)),
      strings_(features.strings),
      parts_(features.parts.get()) {
    unigram_.index(features.unigram_ptr, features.unigram_label, 0, block);
    bigram_.index(features.bigram_ptr, features.bigram_pair, features.n_unigram(), block);
    ngram_.assign(static_cast<std::size_t>(features.n_ngram()), kNoString);
    for (std::size_t k = block.size(); k-- > 0 && block[k] >= features.first_ngram();) {
        ngram_[static_cast<std::size_t>(block[k] - features.first_ngram())] = static_cast<std::uint32_t>(k);
    }
}

void BlockCurvature::sum(const Potentials& potentials, int every, int threads, std::span<double> h) {
    std::vector<std::size_t> chosen;
    for (std::size_t k = 0; k < plan_.items.size(); k += static_cast<std::size_t>(every)) {
        if (plan_.items[k].weight > 0.0) chosen.push_back(k);
    }
    ItemRuns runs(plan_, potentials, threads);
    std::vector<Firings> firings(static_cast<std::size_t>(kItemsAtOnce));
    for (std::size_t begin = 0; begin < chosen.size(); begin += static_cast<std::size_t>(kItemsAtOnce)) {
        const auto n =
            static_cast<std::int64_t>(std::min(chosen.size() - begin, static_cast<std::size_t>(kItemsAtOnce)));
        const auto number = [&](std::int64_t k) { return chosen[begin + static_cast<std::size_t>(k)]; };
        runs.run(n, number, [&](int, std::int64_t k, const Item& item, Recursion& recursion, const Lattice& lattice) {
            Firings& out = firings[static_cast<std::size_t>(k)];
            out.weight = item.weight;
            gather(recursion, lattice, out);
        });
        // A row of H belongs to one thread, which adds to it in the order of the positions. Some features fire far more
        // often than others: there are more parts than threads.
        const std::int64_t parts = threads == 1 ? 1 : kPartsOfThread * threads;
        parallel_for(parts, threads, 1, [&](int, std::int64_t part) {
            const auto cut = [&](std::int64_t p) {  // rows have as many cells below the diagonal as their number
                const double share = std::sqrt(static_cast<double>(p) / static_cast<double>(parts));
                return static_cast<std::uint32_t>(share * static_cast<double>(size_));
            };
            for (std::int64_t k = 0; k < n; ++k)
                add(firings[static_cast<std::size_t>(k)], cut(part), cut(part + 1), every, h);
        });
    }
    mirror(h, size_, threads);
}

void BlockCurvature::gather(Recursion& recursion, const Lattice& lattice, Firings& out) const {
    out.ptr.assign(1, 0);
    out.firing.clear();
    out.joint_ptr.clear();
    out.n_slots.clear();
    out.joint.clear();
    thread_local std::vector<double> likely, cells;
    if (parts_ != nullptr) cells.resize(static_cast<std::size_t>(parts_->n_cells()));
    bool sure_before = true;
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        const double* p = lattice.p + t * stride_;
        const bool sure = *std::max_element(p, p + corpus_.n_labels) > 1.0 - kSure;
        const bool skipped = sure && sure_before;
        sure_before = sure;
        if (skipped) continue;
        if (parts_ != nullptr) {
            // Without what is unlikely, so that all covariances are of one (sub-)distribution.
            likely.assign(p, p + corpus_.n_labels);
            for (double& q : likely) q = q > kUnlikely ? q : 0.0;
            parts_->unfold(likely.data(), cells.data());
            p = cells.data();
        }
        const std::int64_t position = lattice.first + t;
        const ListPool& lists = corpus_.unigram_lists;
        const std::uint32_t list = corpus_.unigram[position];
        for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
            const std::uint32_t x = lists.id(k);
            for (std::uint32_t r = unigram_.ptr[x]; r < unigram_.ptr[x + 1]; ++r) {
                const std::uint32_t y = unigram_.cell[r];
                if (p[y] > kUnlikely)
                    out.firing.push_back({unigram_.place[r], y, 0, 0, 0, lists.value(k), std::min(p[y], 1.0)});
            }
        }
        gather_pairs(recursion, lattice, t, corpus_.base_lists, corpus_.base[position], out);
        gather_pairs(recursion, lattice, t, corpus_.rest_lists, corpus_.rest[position], out);
        gather_ngrams(lattice, t, out);
        std::sort(out.firing.begin() + static_cast<std::ptrdiff_t>(out.ptr.back()), out.firing.end(),
                  [](const Firing& a, const Firing& b) { return a.place < b.place; });
        if (parts_ != nullptr) join_cells(likely.data(), out);
        out.ptr.push_back(out.firing.size());
    }
}

void BlockCurvature::gather_pairs(Recursion& recursion, const Lattice& lattice, std::int64_t t, const ListPool& lists,
                                  std::uint32_t list, Firings& out) const {
    const LabelPairs numbers(corpus_.n_labels);
    for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
        const std::uint32_t x = lists.id(k);
        const auto of_x = std::span(bigram_.cell).subspan(bigram_.ptr[x], bigram_.ptr[x + 1] - bigram_.ptr[x]);
        const auto pairs = numbers.at(of_x, t == 0);
        const std::uint32_t* place = bigram_.place.data() + (pairs.data() - bigram_.cell.data());
        recursion.pair_marginals(lattice, t, pairs, [&](std::size_t j, double p) {
            if (p <= kUnlikely) return;
            const std::uint32_t y = numbers.label(pairs[j]), previous = numbers.previous(pairs[j]);
            out.firing.push_back({place[j], y, previous + 1, 0, 0, lists.value(k), std::min(p, 1.0)});
        });
    }
}

void BlockCurvature::gather_ngrams(const Lattice& lattice, std::int64_t t, Firings& out) const {
    if (!lattice.ngrams.any() || lattice.ngrams.place[t] == nullptr) return;
    const NgramPlace& here = *lattice.ngrams.place[t];
    for (const NgramArcs::Term& term : here.arcs->terms) {
        const std::uint32_t place = ngram_[term.feature];
        if (place == kNoString) continue;
        const double p = lattice.ngrams.probability(t, term.arc);
        if (p <= kUnlikely) continue;
        const std::uint32_t pair = here.arcs->pair_of[term.arc];
        out.firing.push_back({place, here.pair_label[pair], here.pair_previous[pair] + 1u, here.arcs->string[term.arc],
                              0, term.value, std::min(p, 1.0)});
    }
}

// The cells of the firings of the last position get slots, and these a matrix: the probability that a label has both.
// p: [Y] of the likely labels, 0 of others.
void BlockCurvature::join_cells(const double* p, Firings& out) const {
    thread_local std::vector<std::uint32_t> slot_of;  // [Y + P] slot + 1, 0 between calls
    thread_local std::vector<std::uint32_t> used, own;
    slot_of.resize(static_cast<std::size_t>(parts_->n_cells()), 0);
    used.clear();
    for (std::size_t k = out.ptr.back(); k < out.firing.size(); ++k) {
        std::uint32_t& slot = slot_of[out.firing[k].label];
        if (slot == 0) {
            used.push_back(out.firing[k].label);
            slot = static_cast<std::uint32_t>(used.size());
        }
        out.firing[k].slot = slot - 1;
    }
    const std::size_t n = used.size(), first = out.joint.size();
    out.joint_ptr.push_back(first);
    out.n_slots.push_back(static_cast<std::uint32_t>(n));
    out.joint.resize(first + n * n, 0.0);
    for (std::uint32_t y = 0; y < static_cast<std::uint32_t>(corpus_.n_labels); ++y) {
        if (p[y] == 0.0) continue;
        own.clear();
        if (slot_of[y] != 0) own.push_back(slot_of[y] - 1);
        for (const std::uint32_t cell : parts_->cells_of(y)) {
            if (slot_of[cell] != 0) own.push_back(slot_of[cell] - 1);
        }
        for (const std::uint32_t a : own) {
            for (const std::uint32_t b : own) out.joint[first + a * n + b] += p[y];
        }
    }
    for (const std::uint32_t cell : used) slot_of[cell] = 0;
}

double BlockCurvature::both(const Firings& of, std::size_t k, const Firing& a, const Firing& b) const {
    const auto Y = static_cast<std::uint32_t>(corpus_.n_labels);
    if (a.label < Y && b.label < Y) return agree(a, b) ? std::min(a.p, b.p) : 0.0;
    const double joint = of.joint[of.joint_ptr[k] + a.slot * of.n_slots[k] + b.slot];
    if (a.previous == 0 && b.previous == 0) return joint;
    return joint > 0.0 ? (a.previous != 0 ? a.p : b.p) : 0.0;  // a pair of labels whose last one has the part
}

bool BlockCurvature::agree(const Firing& a, const Firing& b) const {
    if (a.label != b.label || (a.previous != 0 && b.previous != 0 && a.previous != b.previous)) return false;
    if (a.string == 0 || b.string == 0) return true;
    std::uint32_t longer = a.string, shorter = b.string;
    if (strings_.length(longer) < strings_.length(shorter)) std::swap(longer, shorter);
    while (strings_.length(longer) > strings_.length(shorter)) longer = strings_.suffix(longer);
    return longer == shorter;
}

void BlockCurvature::add(const Firings& of, std::uint32_t first, std::uint32_t last, double scale,
                         std::span<double> h) const {
    for (std::size_t t = 0; t + 1 < of.ptr.size(); ++t) {
        const Firing* begin = of.firing.data() + of.ptr[t];
        const Firing* end = of.firing.data() + of.ptr[t + 1];
        const auto below = [](const Firing& f, std::uint32_t place) { return f.place < place; };
        for (const Firing* a = std::lower_bound(begin, end, first, below); a != end && a->place < last; ++a) {
            double* row = h.data() + static_cast<std::size_t>(a->place) * size_;
            const double w = scale * of.weight * a->value;
            for (const Firing* b = begin; b <= a; ++b) {
                row[b->place] += w * b->value * (both(of, t, *a, *b) - a->p * b->p);
            }
        }
    }
}

}  // namespace sparsecrf
