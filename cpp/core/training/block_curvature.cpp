// Curvature between the features of a block, i.e. the features that fire most often and must be optimized jointly.
//
//     H_ab = sum_t w_i Cov(f_a(t), f_b(t)) under p_t(y', y)
//
// f_a(t) is the value of feature a at position t: v if the labels there match the feature, otherwise 0. Let P(a) be the
// probability of the labels of a, and P(a, b) the joint probability of the labels of a and b (0 if they exclude each
// other). Then Cov = v_a v_b (P(a, b) - P(a) P(b)). H is the second derivative of the loss without the terms that
// couple different positions; it is positive semidefinite. It is summed over every n-th item and multiplied by n, which
// is accurate enough for a model of the curvature.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/item_runs.hpp"
#include "core/training/oracle.hpp"

namespace sparsecrf {
namespace {

// Positions with a label of probability above 1 - kSure and features with a probability of at most kUnlikely are
// skipped, because their contribution is negligible.
constexpr double kSure = 1e-4, kUnlikely = 1e-5;
constexpr std::int64_t kItemsAtOnce = 256, kPartsOfThread = 4;

// Copies the lower triangle into the upper triangle, in tiles that fit into the L1 cache. [n, n]
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

class BlockCurvature {
   public:
    // block: indices of features in the set, in ascending order.
    BlockCurvature(const Corpus& corpus, const Plan& plan, const FeatureSet& features,
                   std::span<const std::int64_t> block)
        : corpus_(corpus), plan_(plan), features_(features), size_(block.size()), listed_(features, block) {}

    // H, [M, M], zero on entry. Items with negative weight are ignored.
    void sum(const Potentials& potentials, int every, int threads, std::span<double> h) {
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
            runs.run(n, number, [&](int, std::int64_t k, const Item& item, ItemRun& run) {
                Firings& out = firings[static_cast<std::size_t>(k)];
                out.weight = item.weight;
                gather(run, out);
            });
            // Each row of H belongs to one thread, which adds to it in the order of the positions. Some features fire
            // far more often than others, so there are more parts than threads to balance the load.
            const std::int64_t parts = threads == 1 ? 1 : kPartsOfThread * threads;
            parallel_for(parts, threads, 1, [&](int, std::int64_t part) {
                const auto cut = [&](std::int64_t p) {  // row k has k cells below the diagonal
                    const double share = std::sqrt(static_cast<double>(p) / static_cast<double>(parts));
                    return static_cast<std::uint32_t>(share * static_cast<double>(size_));
                };
                for (std::int64_t k = 0; k < n; ++k)
                    add(firings[static_cast<std::size_t>(k)], cut(part), cut(part + 1), every, h);
            });
        }
        mirror(h, size_, threads);
    }

   private:
    // A feature of the block that fires at a position, and its probability.
    struct Firing {
        FeatureLabels of;
        std::uint32_t place;  // index in the block
        std::uint32_t slot;   // slot of its cell at the position, if labels have parts
        double value, p;
    };
    // The features that fire in an item: the entries of position k are [ptr[k], ptr[k + 1]), ascending by place.
    struct Firings {
        std::vector<std::size_t> ptr;
        std::vector<Firing> firing;
        double weight;
        // If labels have parts: joint probabilities of two cells, [slots, slots] for each position, starting at
        // joint_ptr[k]; and the number of slots.
        std::vector<std::size_t> joint_ptr;
        std::vector<std::uint32_t> n_slots;
        std::vector<double> joint;
    };

    void gather(ItemRun& run, Firings& out) const {
        out.ptr.assign(1, 0);
        out.firing.clear();
        out.joint_ptr.clear();
        out.n_slots.clear();
        out.joint.clear();
        thread_local std::vector<double> likely, cells;
        const Lattice& lattice = run.lattice;
        const int Y = corpus_.n_labels;
        bool sure_before = true;
        for (std::int64_t t = 0; t < lattice.length; ++t) {
            const double* p = lattice.p + t * padded(Y);
            const bool sure = *std::max_element(p, p + Y) > 1.0 - kSure;
            const bool skipped = sure && sure_before;
            sure_before = sure;
            if (skipped) continue;
            // Unlikely labels are left out, so that all covariances refer to one (sub-)distribution.
            likely.assign(p, p + Y);
            for (double& q : likely) q = q > kUnlikely ? q : 0.0;
            const double* of_cells = features_.cells().unfold(likely.data(), 1, Y, features_.n_cells(), cells);
            listed_.at(run.at(t, of_cells), [&](std::uint32_t place, double value, double q, bool, auto labels) {
                const FeatureLabels of = labels();
                if (q > kUnlikely && of.label != kNoLabel)
                    out.firing.push_back({of, place, 0, value, std::min(q, 1.0)});
            });
            std::sort(out.firing.begin() + static_cast<std::ptrdiff_t>(out.ptr.back()), out.firing.end(),
                      [](const Firing& a, const Firing& b) { return a.place < b.place; });
            if (features_.parts != nullptr) join_cells(likely.data(), out);
            out.ptr.push_back(out.firing.size());
        }
    }

    // Assigns slots to the cells that fire at the last position and fills the matrix of joint probabilities of two
    // cells, i.e. of the labels that have both. p: [Y], 0 for unlikely labels.
    void join_cells(const double* p, Firings& out) const {
        thread_local std::vector<std::uint32_t> slot_of;  // [Y + P] slot + 1, 0 between calls
        thread_local std::vector<std::uint32_t> used, own;
        slot_of.resize(static_cast<std::size_t>(features_.parts->n_cells()), 0);
        used.clear();
        for (std::size_t k = out.ptr.back(); k < out.firing.size(); ++k) {
            std::uint32_t& slot = slot_of[out.firing[k].of.label];
            if (slot == 0) {
                used.push_back(out.firing[k].of.label);
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
            for (const std::uint32_t cell : features_.parts->cells_of(y)) {
                if (slot_of[cell] != 0) own.push_back(slot_of[cell] - 1);
            }
            for (const std::uint32_t a : own) {
                for (const std::uint32_t b : own) out.joint[first + a * n + b] += p[y];
            }
        }
        for (const std::uint32_t cell : used) slot_of[cell] = 0;
    }

    // P(a, b) of two firing features at position k.
    double both(const Firings& of, std::size_t k, const Firing& a, const Firing& b) const {
        const auto Y = static_cast<std::uint32_t>(corpus_.n_labels);
        if (a.of.label < Y && b.of.label < Y) return agree(a, b) ? std::min(a.p, b.p) : 0.0;
        const double joint = of.joint[of.joint_ptr[k] + a.slot * of.n_slots[k] + b.slot];
        if (a.of.previous == 0 && b.of.previous == 0) return joint;
        return joint > 0.0 ? (a.of.previous != 0 ? a.p : b.p) : 0.0;  // a label pair whose last label has the part
    }

    // Whether a label sequence can end in the labels of both features.
    bool agree(const Firing& a, const Firing& b) const {
        if (a.of.label != b.of.label || (a.of.previous != 0 && b.of.previous != 0 && a.of.previous != b.of.previous))
            return false;
        if (a.of.string == 0 || b.of.string == 0) return true;
        const LabelStrings& strings = features_.strings;
        std::uint32_t longer = a.of.string, shorter = b.of.string;
        if (strings.length(longer) < strings.length(shorter)) std::swap(longer, shorter);
        while (strings.length(longer) > strings.length(shorter)) longer = strings.suffix(longer);
        return longer == shorter;
    }

    void add(const Firings& of, std::uint32_t first, std::uint32_t last, double scale, std::span<double> h) const {
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

    const Corpus& corpus_;
    const Plan& plan_;
    const FeatureSet& features_;
    const std::size_t size_;  // M
    const ListedFeatures listed_;
};

}  // namespace

void Oracle::block_curvature(const FeatureSet& features, std::span<const double> w, std::span<const std::int64_t> block,
                             int every, std::span<double> h) {
    check(features, w);
    check_places("block", features, block);
    if (every < 1) throw InputError("block: expected a step of 1 or more, found ", every);
    std::fill(h.begin(), h.end(), 0.0);
    BlockCurvature(corpus_, plan_, features, block).sum(*prepare(features, w).potentials, every, threads_, h);
}

}  // namespace sparsecrf
