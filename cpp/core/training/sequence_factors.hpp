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
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/inference/potentials.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/item_runs.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

struct FactorOptions {
    std::span<const double> thresholds;  // [L] rho1 or, with feature groups, its replacement for each feature
    double rho2;                         // > 0
    int sweeps;                          // maximum number of sweeps over the sequences
    std::int64_t max_entries;            // maximum number of stored gradient entries; sequences beyond it keep s = 1
    bool alone;                          // whether there are no other data
    std::span<const double> centre;      // [L] w0; empty: 0
};

class SequenceFactors {
   public:
    // listed: indices of features in the set, ascending; every other feature of the set has weight 0.
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

}  // namespace sparsecrf
