// A dual point with a factor for each sequence, chosen to maximize the lower bound (src/sparsecrf/training/dual.py).
//
// Sequence i has the distribution u_i = (1 - s_i) delta(y_i) + s_i p_i, 0 <= s_i <= 1, where p_i is the model at w and
// y_i are its own labels. With g_i = E_{p_i} F - F(x_i, y_i), q = p_i(y_i) and a = 1 - s + s q,
//
//     G(s)   = sum_i s_i w_i g_i
//     H(u_i) = - a log a - s (1 - q) log s + s (H(p_i) + q log q)
//     D(s)   = sum_i w_i H(u_i) - sum_k max(|G_k(s)| - rho1, 0)^2 / (2 rho2)
//
// If the penalty is centered on weights w0, D has the additional term w0 . G(s), which is linear in s, so
// H(p_i) + w0 . g_i replaces H(p_i) above.
//
// D is concave. Any s gives a bound, and coordinate ascent (factor_ascent.hpp) finds a good s, where each step reads
// the features of one sequence only. For this purpose, the gradients g_i are stored in single precision and without
// small terms; an ordinary pass recomputes G(s) at the final factors. Items are sequences, or layers of a sequence with
// token weights.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/lanes.hpp"
#include "core/corpus/numbering.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/factor_ascent.hpp"
#include "core/training/item_runs.hpp"
#include "core/training/oracle.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kSequencesAtOnce = 256;
constexpr double kSmall = 3e-4;      // fraction of a threshold: smaller parts of G are dropped
constexpr double kSurelyOwn = 0.98;  // a sequence whose labels are more probable than this keeps s = 1

class SequenceFactors {
   public:
    // listed: indices of features in the set, in ascending order; every other feature of the set has weight 0.
    SequenceFactors(const Corpus& corpus, const Plan& plan, const FeatureSet& features, std::span<const double> w,
                    std::span<const std::int64_t> listed, std::span<const double> centre)
        : corpus_(corpus),
          plan_(plan),
          features_(features),
          listed_(features, listed),
          w_(listed.size()),
          centred_(!centre.empty()),
          entropy_(plan.items.size()),
          s_(plan.items.size(), 1.0) {
        for (std::size_t k = 0; k < listed.size(); ++k) w_[k] = w[static_cast<std::size_t>(listed[k])];
        d_ = w_;
        for (std::size_t k = 0; k < centre.size(); ++k) d_[k] -= centre[k];
    }

    // Computes gradients and entropies, and raises the factors that may change. G: [L], updated approximately.
    void ascend(const Potentials& potentials, const FactorOptions& options, int threads, std::span<double> G) {
        std::vector<SequenceGradient> gradients;
        std::vector<std::size_t> free = gradients_of_free(potentials, options, threads, gradients);
        ascend_factors(std::move(free), std::move(gradients), entropy_, options.thresholds, options.rho2, threads,
                       options.sweeps, s_, G);
    }

    std::span<double> factors() { return s_; }  // [items]
    void reset() { s_.assign(s_.size(), 1.0); }
    std::span<const MixedEntropy> entropies() const { return entropy_; }  // [items] h includes w0 . g_i
    // sum_i w_i H(u_i), plus w0 . G(s)
    double entropy() const {
        double sum = 0.0;
        for (std::size_t i = 0; i < s_.size(); ++i) sum += entropy_[i].at(s_[i]);
        return sum;
    }

   private:
    // Scratch of a thread.
    struct Sums {
        std::vector<double> g;               // [L] zero between items
        std::vector<std::uint32_t> touched;  // indices with a term
        std::vector<char> seen;              // [L]
        std::vector<double> cells;           // [Y + P] probabilities at a position, if labels have parts
    };
    // The items whose factor may change, with the gradient of each. Frees its scratch, so that the ascent can reuse the
    // memory.
    std::vector<std::size_t> gradients_of_free(const Potentials& potentials, const FactorOptions& options, int threads,
                                               std::vector<SequenceGradient>& gradients) {
        ItemRuns runs(plan_, potentials, threads);
        std::vector<Sums> sums(static_cast<std::size_t>(threads));
        for (Sums& of : sums) {
            of.g.assign(w_.size(), 0.0);
            of.seen.assign(w_.size(), 0);
        }
        const std::size_t n_items = plan_.items.size();
        std::vector<SequenceGradient> found(kSequencesAtOnce);
        std::vector<std::size_t> free;
        std::int64_t kept = 0;
        for (std::size_t begin = 0; begin < n_items; begin += kSequencesAtOnce) {
            const std::size_t n = std::min(n_items - begin, kSequencesAtOnce);
            const auto number = [&](std::int64_t k) { return begin + static_cast<std::size_t>(k); };
            runs.run(static_cast<std::int64_t>(n), number,
                     [&](int thread, std::int64_t k, const Item& item, ItemRun& run) {
                         std::tie(found[static_cast<std::size_t>(k)], entropy_[number(k)]) =
                             gradient(item, run, options.thresholds, sums[static_cast<std::size_t>(thread)]);
                     });
            for (std::size_t k = 0; k < n; ++k) {
                const auto size = static_cast<std::int64_t>(found[k].place.size());
                if (entropy_[begin + k].q > kSurelyOwn || kept + size > options.max_entries) continue;
                kept += size;
                free.push_back(begin + k);
                gradients.push_back(std::move(found[k]));
            }
        }
        return free;
    }

    // The gradient on the listed features, and the entropy.
    // g_i = sum_t sum_x v (p_t(y) - [y = y_t]) for unigram features; the same for pairs. Loss and entropy:
    // -log q = log Z - w . F, H(p) = -log q - w . g, H(p) + w0 . g = -log q - d . g.
    std::pair<SequenceGradient, MixedEntropy> gradient(const Item& item, ItemRun& run,
                                                       std::span<const double> thresholds, Sums& sums) const {
        const Lattice& lattice = run.lattice;
        const int stride = padded(corpus_.n_labels);
        double own = 0.0, of_classes = 0.0;  // w . F of its own labels, and of class pairs at a position
        const auto add = [&](std::uint32_t place, double value, double p, bool mine, auto labels) {
            if (!sums.seen[place]) {
                sums.seen[place] = 1;
                sums.touched.push_back(place);
            }
            sums.g[place] += value * (p - (mine ? 1.0 : 0.0));
            if (mine) (labels().label == kNoLabel ? of_classes : own) += value * w_[place];
        };
        std::uint32_t previous = LabelPairs(corpus_.n_labels).start();
        for (std::int64_t t = 0; t < lattice.length; ++t) {
            ListedPosition here =
                run.at(t, features_.cells().unfold(lattice.p + t * stride, 1, stride, features_.n_cells(), sums.cells));
            here.previous = previous;
            here.y = previous = static_cast<std::uint32_t>(corpus_.labels[lattice.first + t]);
            listed_.at(here, add);
            own += std::exchange(of_classes, 0.0);
        }
        const auto is_small = [&](std::uint32_t place) {
            return std::fabs(item.weight * sums.g[place]) <= kSmall * thresholds[place];
        };
        SequenceGradient out;
        const std::size_t n = sums.touched.size() - static_cast<std::size_t>(std::count_if(
                                                        sums.touched.begin(), sums.touched.end(), is_small));
        out.place.reserve(n);
        out.value.reserve(n);
        double along = 0.0;  // d . g
        for (const std::uint32_t place : sums.touched) {
            const double value = item.weight * sums.g[place];
            along += d_[place] * value;
            if (!is_small(place)) {
                out.place.push_back(place);
                out.value.push_back(static_cast<float>(value));
            }
            sums.g[place] = 0.0;
            sums.seen[place] = 0;
        }
        sums.touched.clear();
        const double loss = std::max(item.weight * (lattice.log_z - own), 0.0);
        const double entropy = centred_ ? loss - along : std::max(loss - along, 0.0);
        if (!(item.weight > 0.0)) return {std::move(out), {0.0, 0.0, 1.0}};
        return {std::move(out), {item.weight, entropy / item.weight, std::exp(-loss / item.weight)}};
    }

    const Corpus& corpus_;
    const Plan& plan_;
    const FeatureSet& features_;
    const ListedFeatures listed_;
    std::vector<double> w_, d_;  // [L] weights, and w - w0
    const bool centred_;         // whether w0 is given

    std::vector<MixedEntropy> entropy_;  // [items]
    std::vector<double> s_;              // [items] factors
};

}  // namespace

double Oracle::sequence_factors(const FeatureSet& features, std::span<const double> w,
                                std::span<const std::int64_t> listed, const FactorOptions& options,
                                std::span<double> G) {
    check(features, w);
    check_places("listed", features, listed);
    if (!(options.rho2 > 0.0)) throw InputError("rho2: expected a number above 0, found ", options.rho2);
    if (!options.centre.empty() && options.centre.size() != listed.size()) {
        throw InputError("centre: expected ", listed.size(), " numbers, found ", options.centre.size());
    }
    if (corpus_.n_dense > 0 || !signs_agree()) {
        throw InputError("one factor per sequence: not supported with vectors, negative values or missing labels");
    }
    SequenceFactors factors(corpus_, plan_, features, w, listed, options.centre);
    const std::vector<double> total(G.begin(), G.end());
    const auto own = [&] {  // G of this corpus, at the listed indices
        const std::vector<double> whole = gradient_with_factors(features, w, factors.factors());
        std::vector<double> g(listed.size());
        for (std::size_t k = 0; k < g.size(); ++k) g[k] = whole[static_cast<std::size_t>(listed[k])];
        return g;
    };
    const std::vector<double> at_1 = options.alone ? total : own();
    Prepared& of = prepare(features, w);
    release_sums(of);  // the gradients of all sequences need the memory
    factors.ascend(*of.potentials, options, threads_, G);
    const std::vector<double> found = own();
    // The small terms omitted from the gradients may have misled the ascent.
    std::vector<double> all(listed.size());
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = total[k] - at_1[k] + found[k];
    const auto bound = [&](std::span<const double> at) {
        return factor_bound(factors.entropies(), factors.factors(), options.thresholds, options.rho2, at, threads_);
    };
    const double at_s = bound(all), entropy = factors.entropy();
    factors.reset();
    const bool better = at_s > bound(total);
    std::copy_n(better ? found.begin() : at_1.begin(), listed.size(), G.begin());
    return better ? entropy : factors.entropy();
}

}  // namespace sparsecrf
