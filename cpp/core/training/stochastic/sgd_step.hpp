// Steps of stochastic gradient descent: runs forward-backward on some sequences at the same weights, in parallel, then
// applies their gradients, in order, to the weights of the features that occur in them. No other weights are read or
// written.
//
// The attributes are divided into as many shares as there are threads, and only the thread of a share changes the
// weights of its attributes, one sequence after another. No two threads write to the same value, and the order of
// additions does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/shares.hpp"
#include "core/inference/potentials.hpp"
#include "core/training/plan.hpp"
#include "core/training/stochastic/lazy_weights.hpp"
#include "core/training/stochastic/sgd_sequence.hpp"

namespace sparsecrf {

// Used for one pass. Keeps references to its arguments.
class SgdStep {
   public:
    using Items = std::span<const Item>;  // items of one sequence; at least one

    // w: [K], changed by `step`. `most`: maximum number of sequences per step. `order_factor`: factor on rho1 of a
    // label n-gram for each label beyond two.
    SgdStep(const Corpus& corpus, const Plan& plan, const FeatureSet& features, std::span<double> w, Kernel kernel,
            std::size_t most, int threads, double order_factor = 1.0);
    // The number of rows of weights that are settled together: unigrams, label pairs, class pairs and n-grams of every
    // attribute.
    static std::int64_t n_rows(const FeatureSet& features) {
        return (features.n_ngram() > 0 ? 4 : 3) * static_cast<std::int64_t>(features.n_attributes);
    }

    // Takes a step of size eta for each sequence, all with gradients at the weights before the first step. `weights`
    // wraps w; penalties are for a share 1/n of the data.
    void step(std::span<const Items> sequences, std::span<const double> eta, LazyWeights& weights, double n);
    // Sum of w_i { log Z - w.F } at the weights passed to the constructor.
    double loss(std::span<const Items> sequences);

    // Brings every weight up to date.
    void settle_all(LazyWeights& weights) const;

   private:
    // A unigram attribute with features at a position.
    struct Occurrence {
        std::int64_t begin;  // first of its n features; set when they are settled
        std::uint32_t n, x, t, sequence;
        double value;
    };
    bool owns(std::size_t share, std::uint32_t x) const { return share_of_attribute(x, shares_.size()) == share; }
    void find_lists(std::span<const Items> sequences);
    void settle(std::size_t share, std::span<const Items> sequences, LazyWeights& weights);
    void settle_unigrams(std::span<Occurrence> occurrences, LazyWeights& weights);
    // Settle the features of label pairs, class pairs and longer strings, for the attributes of a bigram list or for x.
    void settle_list(std::size_t share, const ListPool& lists, std::uint32_t list, LazyWeights& weights) const;
    void settle_strings(std::uint32_t x, LazyWeights& weights) const;
    void subtract(std::size_t share, std::size_t n_sequences);
    void subtract_unigrams(std::size_t share);
    void subtract_base(std::size_t share, const SgdSequence& of, double eta);
    void subtract_rest(std::size_t share, const SgdSequence& of, std::int64_t t, double eta);
    void subtract_classes(std::size_t share, const SgdSequence& of, std::int64_t t, double eta);
    void subtract_ngrams(std::size_t share, const SgdSequence& of, double eta);

    const Corpus& corpus_;
    const FeatureSet& features_;
    const std::span<double> w_;
    const int n_labels_, threads_;  // Y
    UnigramRows rows_;
    const BasePairs pairs_;
    Potentials potentials_;
    const std::shared_ptr<NgramTables> ngrams_;  // null if the set contains no n-grams
    std::vector<double> ngram_factor_;           // [n-grams] L1 penalty of each, in units of rho1

    // The current step.
    std::vector<SgdInference> inference_;          // [threads]
    std::vector<SgdSequence> sequences_;           // [most]
    std::vector<double> factor_;                   // [sequences] factor of their gradients
    std::vector<std::vector<Occurrence>> shares_;  // [threads] occurrences of the attributes of each share, in order
    ListsSeen unigram_lists_, base_lists_;         // unigram lists are included only if they are tabulated
    ListsSeen ngram_arcs_, ngram_kinds_;           // the same for label n-grams, if there are any
};

}  // namespace sparsecrf
