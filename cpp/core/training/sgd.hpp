// Stochastic gradient descent with an elastic net (Bottou's SGD for CRFs; with rho1 > 0 that of Tsuruoka, Tsujii and
// Ananiadou 2009): one sequence at a time, where every step needs the weights that the last one left; or some at once,
// with gradients at the same weights, which threads share. What is found does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/inference/transition.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// Keeps a reference to the corpus.
class Sgd {
   public:
    Sgd(const Corpus& corpus, Kernel kernel, int threads = 1);

    // The sequences that count (weight above 0), in an order that depends on the seed and the epoch alone.
    std::vector<std::int64_t> order(std::uint64_t seed, std::uint64_t epoch) const;
    // How many these are: the steps of an epoch, and N of P/N.
    std::size_t n_steps() const { return counting_.size(); }

    struct Options {
        double rho1, rho2;
        double eta0, decay;         // eta_t = eta0 / (1 + decay t/N), t counting the steps of all epochs
        double done;                // t of the first step
        std::int64_t at_once = 1;   // steps whose gradients are taken at the same weights
        double order_factor = 1.0;  // rho1 of a label n-gram is multiplied by it for each label beyond two
    };
    // Asked after the first step and then a few times a second, with the number of steps done; false ends the run.
    using GoOn = std::function<bool(std::size_t)>;
    // A step for each of `sequences`, on P/N. w and q [K] are changed in place, see lazy_weights.hpp. Returns u.
    double run(const FeatureSet& features, std::span<double> w, std::span<double> q, double u,
               std::span<const std::int64_t> sequences, const Options& options, const GoOn& go_on = nullptr) const;

    // sum of w_i { log Z - w.F } over `sequences`.
    double loss(const FeatureSet& features, std::span<const double> w, std::span<const std::int64_t> sequences) const;

   private:
    // The items of each sequence that has some.
    std::vector<std::span<const Item>> items_of(std::span<const std::int64_t> sequences) const;

    const Corpus& corpus_;
    const Kernel kernel_;
    const int threads_;
    const Plan plan_;
    std::vector<std::int64_t> first_item_;  // [N + 1] of every sequence
    std::vector<std::int64_t> counting_;    // the sequences with items
};

}  // namespace sparsecrf
