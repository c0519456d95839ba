// Proximal dual coordinate ascent for the elastic net (Shalev-Shwartz & Zhang 2014; for l2 alone and sequences drawn by
// their duality gaps, see Le Priol, Piche & Lacoste-Julien 2018). For any distributions u_i over label sequences, with
// G = sum_i w_i (E_{u_i} F - F_i) and H the entropy,
//
//     D(u) = sum_i w_i H(u_i) - sum_k max(|G_k| - rho1, 0)^2 / (2 rho2)  <=  min P
//
// A step draws i and moves u_i towards p_i, the model at the theta of DualSpace:  u_i <- u_i + c (p_i - u_i). c comes
// from a line search on D (with the proximal term of DualSpace), which is concave in c. P - D with that term is the sum
// of the gaps w_i KL(u_i || p_i), and sequences are drawn in proportion to their gaps. Steps are taken in batches of a
// fixed size (dual_step.hpp), so that the result does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/training/dual/dual_step.hpp"

namespace sparsecrf {

// Keeps a reference to the corpus. Requires that every label is known and that tokens are not weighted.
class DualAscent {
   public:
    // `features`: the features of the model; null means all possible features. rho2 > 0. Starts with u = the labels of
    // the data.
    DualAscent(const Corpus& corpus, const FeatureSet* features, double rho1, double rho2, int threads = 1);

    // Starts from u_i = (1 - s) data + s model at these weights instead, with s chosen from a grid.
    void start(const FeatureSet& features, std::span<const double> w);

    // The sequences of an epoch, determined by seed and epoch: either a random permutation of all sequences with
    // positive weight, or a sample of the same size, drawn in proportion to their last known gaps.
    std::vector<std::int64_t> order(std::uint64_t seed, std::uint64_t epoch, bool by_gaps) const;
    // Called after the first batches and then a few times a second, with the number of steps done; returning false
    // stops the run.
    using GoOn = std::function<bool(std::size_t)>;
    void run(std::span<const std::int64_t> sequences, const GoOn& go_on = nullptr);

    // From now on, no batch lowers D (dual_step.hpp), and steps become shorter.
    void never_descend();

    // Moves the proximal center to theta (DualSpace); call it between epochs. kappa is `share` times the mean entropy
    // of a token times the mass of the attribute.
    void recenter(double share);

    // Loss and penalty at theta, D, and the recomputed sum of the gaps of all sequences: P - D with the proximal term.
    // rounding: the possible error of D and of this sum due to probabilities in single precision.
    struct Values {
        double loss, penalty, bound, inner_gap, rounding;
    };
    Values evaluate();
    // Makes the distributions exactly consistent, recomputes G from them, stores both and returns D.
    double certify();

    DualSpace::Weights weights() const { return space_.weights(); }

    // The loss at these weights, and the sum of |smallest subgradient| over all features of the model. This ends the
    // ascent, because it frees the distributions.
    struct Optimality {
        double loss, residual;
    };
    Optimality finish(const FeatureSet& features, std::span<const double> w);

    // From now on, pair probabilities are stored in double precision.
    void use_doubles() { u_.use_doubles(); }

    // The state that steps change, without pair probabilities and centers, for checkpoints.
    std::vector<std::span<double>> state();
    DualDistributions& distributions() { return u_; }
    DualSpace& space() { return space_; }

   private:
    std::size_t run_batches(std::span<const std::int64_t> sequences);
    void add_changes(DualSpace::Sums to, std::size_t n, int item);
    template <class Change>
    void sum_changes(DualSpace::Sums to, Change change);

    DualSpace space_;
    DualDistributions u_;
    PairMatrix common_;
    const int threads_, batch_;                // batch_: sequences per batch
    const std::vector<std::uint32_t> shares_;  // [shares + 1] ranges of the rows of Z (DualSpace)
    std::vector<DualStep> steps_;              // one per sequence of a batch; in evaluations one per thread
};

}  // namespace sparsecrf
