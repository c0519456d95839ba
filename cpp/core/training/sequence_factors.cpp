// A dual point with a factor for each sequence, chosen to maximize the lower bound (src/sparsecrf/training/dual.py).
//
// Sequence i has the distribution u_i = (1 - s_i) delta(y_i) + s_i p_i, 0 <= s_i <= 1, where p_i is the model at w and
// y_i are its own labels. With g_i = E_{p_i} F - F(x_i, y_i), q = p_i(y_i) and a = 1 - s + s q,
//
//     G(s)   = sum_i s_i w_i g_i
//     H(u_i) = - a log a - s (1 - q) log s + s (H(p_i) + q log q)
//     D(s)   = sum_i w_i H(u_i) - sum_k max(|G_k(s)| - rho1, 0)^2 / (2 rho2)
//
// If the penalty is centered on weights w0, D has the additional term w0 . G(s), linear in s: H(p_i) + w0 . g_i
// replaces H(p_i) above.
//
// D is concave. Any s gives a bound, and coordinate ascent finds a good one: each step reads the features of one
// sequence only. The gradients g_i are stored for this purpose in single precision and without small terms; G(s) at the
// final factors is recomputed by an ordinary pass. Items are sequences, or layers of a sequence with token weights.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/error.hpp"
#include "core/base/lanes.hpp"
#include "core/corpus/numbering.hpp"
#include "core/inference/recursion.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/item_runs.hpp"
#include "core/training/oracle.hpp"

namespace sparsecrf {
namespace {

constexpr std::int64_t kSequencesAtOnce = 256;
constexpr int kNewtonSteps = 4;
constexpr double kSmallestStep = 1e-4;  // of s
constexpr double kSmall = 3e-4;         // fraction of a threshold: smaller parts of G are dropped
constexpr double kSurelyOwn = 0.98;     // a sequence whose labels are more probable than this keeps s = 1
constexpr double kEnough = 1e-4;        // stop after a full sweep that raises D by a smaller fraction
constexpr int kAllEvery = 5;            // one sweep in kAllEvery is full; others skip sequences that stayed at s = 1

double x_log_x(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }

// H(u) and its derivative in s; h = H(p), q = p(y).
double mixed_entropy(double s, double h, double q) {
    return -x_log_x(1.0 - s + s * q) - (1.0 - q) * x_log_x(s) + s * (h + x_log_x(q));
}
double mixed_entropy_slope(double s, double h, double q) {
    constexpr double kTiny = 1e-300;
    return h + x_log_x(q) + (1.0 - q) * (std::log(std::max(1.0 - s + s * q, kTiny)) - std::log(std::max(s, kTiny)));
}

// The features of one sequence, stored contiguously.
class OneSequence {
   public:
    void take(std::span<const std::uint32_t> place, std::span<const float> part, std::span<const double> rho1,
              std::span<const double> G) {
        const auto n = static_cast<std::size_t>(padded(static_cast<int>(place.size())));
        for (AlignedVector<double>* x : {&G_, &part_, &rho1_}) x->assign(n, 0.0);
        for (std::size_t e = 0; e < place.size(); ++e) {
            G_[e] = G[place[e]];
            part_[e] = part[e];
            rho1_[e] = rho1[place[e]];
        }
    }

    // Derivative and curvature of |S(G + change part)|^2 / 2 in `change`.
    std::pair<double, double> excess(double change) const {
        double slope, curvature;
        kernels().excess(G_.data(), part_.data(), rho1_.data(), change, static_cast<int>(G_.size()), &slope,
                         &curvature);
        return {slope, curvature};
    }

   private:
    AlignedVector<double> G_, part_, rho1_;
};

class SequenceFactors {
   public:
    // listed: indices of features in the set, in ascending order; every other feature of the set has weight 0.
    SequenceFactors(const Corpus& corpus, const Plan& plan, const FeatureSet& features, std::span<const double> w,
                    std::span<const std::int64_t> listed, std::span<const double> centre);

    // Computes and stores the gradients; sets all s to 1.
    void collect(const Potentials& potentials, const FactorOptions& options, int threads);
    // Improves the factors. G: [L] at the current factors, including other data, which keep s = 1; updated
    // approximately.
    void ascend(const FactorOptions& options, std::span<double> G);
    // Frees the gradients, which take most of the memory; keeps the factors.
    void release_gradients();

    std::span<const double> factors() const { return s_; }  // [items]
    void reset() { s_.assign(s_.size(), 1.0); }
    double entropy() const;                                                       // sum_i w_i H(u_i), plus w0 . G(s)
    double bound(const FactorOptions& options, std::span<const double> G) const;  // D, given G(s)

   private:
    // w_i g_i on the listed features, without small terms; loss w_i (-log q) and entropy w_i H(p_i) of an item,
    // including w_i w0 . g_i.
    struct Gradient {
        std::vector<std::uint32_t> place;
        std::vector<float> value;
        double loss, entropy;
    };
    // Scratch of a thread.
    struct Sums {
        std::vector<double> g;               // [L] zero between items
        std::vector<std::uint32_t> touched;  // indices with a term
        std::vector<char> seen;              // [L]
        std::vector<double> cells;           // [Y + P] probabilities at a position, if labels have parts
    };
    void gradient(const Item& item, ItemRun& run, std::span<const double> thresholds, Sums& sums, Gradient& out) const;

    const Corpus& corpus_;
    const Plan& plan_;
    const FeatureSet& features_;
    const ListedFeatures listed_;
    std::vector<double> w_, d_;  // [L] weights, and w - w0
    const bool centred_;         // whether there is a w0

    std::vector<double> entropy_, own_, s_;  // [items] H(p), q, factor
    // The items whose factor may change.
    std::vector<std::size_t> free_;
    std::vector<std::vector<std::uint32_t>> place_;
    std::vector<std::vector<float>> value_;
};

SequenceFactors::SequenceFactors(const Corpus& corpus, const Plan& plan, const FeatureSet& features,
                                 std::span<const double> w, std::span<const std::int64_t> listed,
                                 std::span<const double> centre)
    : corpus_(corpus),
      plan_(plan),
      features_(features),
      listed_(features, listed),
      w_(listed.size()),
      centred_(!centre.empty()) {
    for (std::size_t k = 0; k < listed.size(); ++k) w_[k] = w[static_cast<std::size_t>(listed[k])];
    d_ = w_;
    for (std::size_t k = 0; k < centre.size(); ++k) d_[k] -= centre[k];
}

void SequenceFactors::collect(const Potentials& potentials, const FactorOptions& options, int threads) {
    ItemRuns runs(plan_, potentials, threads);
    std::vector<Sums> sums(static_cast<std::size_t>(threads));
    for (Sums& of : sums) {
        of.g.assign(w_.size(), 0.0);
        of.seen.assign(w_.size(), 0);
    }
    std::vector<Gradient> gradients(static_cast<std::size_t>(kSequencesAtOnce));
    std::int64_t kept = 0;
    const auto n_items = static_cast<std::int64_t>(plan_.items.size());
    for (std::int64_t begin = 0; begin < n_items; begin += kSequencesAtOnce) {
        const std::int64_t n = std::min(n_items - begin, kSequencesAtOnce);
        const auto number = [&](std::int64_t k) { return static_cast<std::size_t>(begin + k); };
        runs.run(n, number, [&](int thread, std::int64_t k, const Item& item, ItemRun& run) {
            gradient(item, run, options.thresholds, sums[static_cast<std::size_t>(thread)],
                     gradients[static_cast<std::size_t>(k)]);
        });
        for (std::int64_t k = 0; k < n; ++k) {
            const Gradient& of = gradients[static_cast<std::size_t>(k)];
            const double weight = plan_.items[static_cast<std::size_t>(begin + k)].weight;
            entropy_.push_back(weight > 0.0 ? of.entropy / weight : 0.0);
            own_.push_back(weight > 0.0 ? std::exp(-of.loss / weight) : 1.0);
            const auto size = static_cast<std::int64_t>(of.place.size());
            if (own_.back() > kSurelyOwn || kept + size > options.max_entries) continue;
            kept += size;
            free_.push_back(static_cast<std::size_t>(begin + k));
            place_.emplace_back(of.place.begin(), of.place.end());
            value_.emplace_back(of.value.begin(), of.value.end());
        }
    }
    s_.assign(plan_.items.size(), 1.0);
}

void SequenceFactors::release_gradients() {
    free_ = {};
    place_ = {};
    value_ = {};
}

double SequenceFactors::entropy() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < s_.size(); ++i) {
        sum += plan_.items[i].weight * mixed_entropy(s_[i], entropy_[i], own_[i]);
    }
    return sum;
}

double SequenceFactors::bound(const FactorOptions& options, std::span<const double> G) const {
    double excess = 0.0;
    for (std::size_t k = 0; k < G.size(); ++k) {
        const double over = std::fabs(G[k]) - options.thresholds[k];
        if (over > 0.0) excess += over * over;
    }
    return entropy() - excess / (2.0 * options.rho2);
}

// g_i = sum_t sum_x v (p_t(y) - [y = y_t]) for unigram features, likewise for pairs; loss and entropy:
// -log q = log Z - w . F, H(p) = -log q - w . g, H(p) + w0 . g = -log q - d . g.
void SequenceFactors::gradient(const Item& item, ItemRun& run, std::span<const double> thresholds, Sums& sums,
                               Gradient& out) const {
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
    out.place.clear();
    out.value.clear();
    double along = 0.0;  // d . g
    for (const std::uint32_t place : sums.touched) {
        const double value = item.weight * sums.g[place];
        along += d_[place] * value;
        if (std::fabs(value) > kSmall * thresholds[place]) {
            out.place.push_back(place);
            out.value.push_back(static_cast<float>(value));
        }
        sums.g[place] = 0.0;
        sums.seen[place] = 0;
    }
    sums.touched.clear();
    out.loss = std::max(item.weight * (lattice.log_z - own), 0.0);
    out.entropy = out.loss - along;
    if (!centred_) out.entropy = std::max(out.entropy, 0.0);
}

void SequenceFactors::ascend(const FactorOptions& options, std::span<double> G) {
    const double rho2 = options.rho2;
    const std::span<const double> rho1 = options.thresholds;
    double highest = bound(options, G);
    std::vector<double> best_s = s_, best_G(G.begin(), G.end());
    OneSequence here;
    std::vector<char> resting(free_.size(), 0);  // stayed at s = 1 in the last full sweep
    for (int sweep = 0; sweep < options.sweeps; ++sweep) {
        const bool all = sweep % kAllEvery == 0;
        for (std::size_t j = 0; j < free_.size(); ++j) {
            if (!all && resting[j]) continue;
            const std::size_t i = free_[j];
            const std::vector<std::uint32_t>& place = place_[j];
            const std::vector<float>& part = value_[j];  // w_i g_i
            const double old = s_[i], weight = plan_.items[i].weight, q = own_[i];
            double s = old, low = 0.0, high = 1.0;
            here.take(place, part, rho1, G);
            // Newton's method for one factor, safeguarded by the last points where D rose and fell.
            for (int step = 0; step < kNewtonSteps; ++step) {
                auto [slope, curvature] = here.excess(s - old);
                slope = weight * mixed_entropy_slope(s, entropy_[i], q) - slope / rho2;
                if (s == 1.0 && slope >= 0.0) break;
                (slope > 0.0 ? low : high) = s;
                constexpr double kTiny = 1e-9;
                curvature =
                    curvature / rho2 +
                    weight * (1.0 - q) * ((1.0 - q) / std::max(1.0 - s + s * q, kTiny) + 1.0 / std::max(s, kTiny));
                if (!(curvature > 0.0)) break;
                double next = s + slope / curvature;
                if (next >= high) next = high == 1.0 ? 1.0 : 0.5 * (s + high);
                if (next <= low) next = 0.5 * (s + low);
                const bool settled = std::fabs(next - s) < kSmallestStep;
                s = next;
                if (settled) break;
            }
            resting[j] = s == 1.0 && old == 1.0;
            if (s == old) continue;
            for (std::size_t e = 0; e < place.size(); ++e) G[place[e]] += (s - old) * part[e];
            s_[i] = s;
        }
        const double now = bound(options, G), gained = now - highest;
        if (!(gained > 0.0)) break;
        best_s = s_;
        std::copy(G.begin(), G.end(), best_G.begin());
        highest = now;
        if (all && gained <= kEnough * std::fabs(highest)) break;
    }
    s_ = best_s;
    std::copy(best_G.begin(), best_G.end(), G.begin());
}

}  // namespace

double Oracle::sequence_factors(const FeatureSet& features, std::span<const double> w,
                                std::span<const std::int64_t> listed, const FactorOptions& options,
                                std::span<double> G) {
    check(features, w);
    check_places("listed", features, listed);
    if (!(options.rho2 > 0.0)) throw InputError(message("rho2: expected a number above 0, found ", options.rho2));
    if (!options.centre.empty() && options.centre.size() != listed.size()) {
        throw InputError(message("centre: expected ", listed.size(), " numbers, found ", options.centre.size()));
    }
    if (corpus_.n_dense > 0 || !signs_agree()) {
        throw InputError("one factor per sequence: not supported with vectors, negative values or missing labels");
    }
    SequenceFactors factors(corpus_, plan_, features, w, listed, options.centre);
    Prepared& of = prepare(features, w);
    release_sums(of);  // the gradients of all sequences need the memory
    factors.collect(*of.potentials, options, threads_);
    const auto own = [&] {  // G of this corpus, at the listed indices
        const std::vector<double> whole = gradient_with_factors(features, w, factors.factors());
        std::vector<double> g(listed.size());
        for (std::size_t k = 0; k < g.size(); ++k) g[k] = whole[static_cast<std::size_t>(listed[k])];
        return g;
    };
    const std::vector<double> total(G.begin(), G.end()), at_1 = options.alone ? total : own();
    factors.ascend(options, G);
    factors.release_gradients();
    const std::vector<double> found = own();
    // The small terms omitted from the gradients may have misled the ascent.
    std::vector<double> all(listed.size());
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = total[k] - at_1[k] + found[k];
    const double bound = factors.bound(options, all), entropy = factors.entropy();
    factors.reset();
    const bool better = bound > factors.bound(options, total);
    std::copy_n(better ? found.begin() : at_1.begin(), listed.size(), G.begin());
    return better ? entropy : factors.entropy();
}

}  // namespace sparsecrf
