// Online learning from errors, one sequence at a time: the averaged perceptron (Collins 2002), passive-aggressive
// updates (Crammer et al. 2006) and adaptive regularization of weights, AROW (Crammer, Kulesza and Dredze 2009). None
// of them maximizes a likelihood. This class needs plain transitions, and is single-threaded because every step needs
// the weights of the previous step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/inference/unigram_rows.hpp"

namespace sparsecrf {

// Keeps references to the corpus and the features.
class Online {
   public:
    enum class Rule { perceptron, passive_aggressive, arow };
    struct Options {
        Rule rule = Rule::perceptron;
        int type = 1;                 // passive_aggressive: 0, I or II
        double c = 1.0;               // passive_aggressive: aggressiveness
        bool error_sensitive = true;  // passive_aggressive: the margin grows with the number of wrong labels
        double variance = 1.0;        // arow: initial variance of every weight
        double gamma = 1.0;           // arow: how strongly the weights resist changes
    };

    Online(const Corpus& corpus, const FeatureSet& features, const Options& options);

    // All sequences, in an order that depends only on the seed and the epoch.
    std::vector<std::int64_t> order(std::uint64_t seed, std::uint64_t epoch) const;
    // Takes a step for each of `sequences`. Returns the sum of their losses, each measured before its step. The loss is
    // the fraction of wrong labels (perceptron) or the margin violation.
    double run(std::span<const std::int64_t> sequences);

    std::span<const double> weights() const { return w_; }  // [K] after the last step
    std::vector<double> average() const;                    // [K] over all steps

   private:
    void check_corpus();
    void decode(std::int64_t sequence);
    void collect(std::int64_t sequence);
    void add(std::int64_t k, double value);
    void add_unigrams(std::uint32_t list, std::int32_t label, double sign);
    void update(double cost);
    void apply();

    const Corpus& corpus_;
    const FeatureSet& features_;
    const Options options_;
    const int n_labels_, stride_;  // Y, Yp

    std::vector<double> w_;                 // [K]
    std::vector<double> sum_;               // [K] sum of the changes, each times its step number; not for arow
    std::vector<double> variance_;          // [K] arow
    double step_ = 1.0;                     // number of the next step
    UnigramRows rows_;                      // w_ laid out for sums
    AlignedVector<double> lambda_;          // [Y, Yp] w_ of the transitions
    std::vector<std::int64_t> transition_;  // [Y, Y] feature of each pair, or -1

    // The current sequence.
    AlignedVector<double> score_, epsilon_;  // [T, Yp] unigram scores; best path scores up to each label
    std::vector<std::int32_t> path_;         // [T] best path
    double best_ = 0.0;                      // its score
    std::vector<double> delta_;              // [K] F(labels) - F(path), 0 except at `touched_`
    std::vector<std::size_t> touched_;       // without duplicates
    std::vector<std::uint8_t> is_touched_;   // [K]
    std::vector<std::uint32_t> attributes_;  // attributes with a touched feature
};

}  // namespace sparsecrf
