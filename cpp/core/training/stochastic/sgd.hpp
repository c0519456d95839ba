// Stochastic gradient descent with an elastic net (Bottou's SGD for CRFs; with rho1 > 0, the method of Tsuruoka, Tsujii
// and Ananiadou 2009). Steps process one sequence at a time, starting from the weights of the previous step, or
// minibatches, whose gradients are computed at the same weights in parallel. The result does not depend on the number
// of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/inference/transitions/transition.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// Keeps a reference to the corpus.
class Sgd {
   public:
    Sgd(const Corpus& corpus, Kernel kernel, int threads = 1);

    // The sequences with positive weight, in an order that depends only on the seed and the epoch.
    std::vector<std::int64_t> order(std::uint64_t seed, std::uint64_t epoch) const;
    // The number of these sequences, which is the number of steps of an epoch and the N of P/N.
    std::size_t n_steps() const { return counting_.size(); }

    struct Options {
        double rho1, rho2;
        double eta0, decay;         // eta_t = eta0 / (1 + decay t/N), t counting the steps of all epochs
        double done;                // t of the first step
        std::int64_t at_once = 1;   // number of steps whose gradients are taken at the same weights
        double order_factor = 1.0;  // factor on rho1 of a label n-gram for each label beyond two
    };
    // Called after the first step and then a few times a second, with the number of steps done; returning false stops
    // the run.
    using GoOn = std::function<bool(std::size_t)>;
    // Takes a step on P/N for each of `sequences`. Changes w and q [K] in place (lazy_weights.hpp). Returns u.
    double run(const FeatureSet& features, std::span<double> w, std::span<double> q, double u,
               std::span<const std::int64_t> sequences, const Options& options, const GoOn& go_on = nullptr) const;

    // sum of w_i { log Z - w.F } over `sequences`.
    double loss(const FeatureSet& features, std::span<const double> w, std::span<const std::int64_t> sequences) const;

   private:
    // The items of each sequence that has at least one item.
    std::vector<std::span<const Item>> items_of(std::span<const std::int64_t> sequences) const;

    const Corpus& corpus_;
    const Kernel kernel_;
    const int threads_;
    const Plan plan_;
    std::vector<std::int64_t> first_item_;  // [N + 1] per sequence
    std::vector<std::int64_t> counting_;    // sequences with items
};

}  // namespace sparsecrf
