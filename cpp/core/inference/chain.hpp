// A CRF with fixed weights: probabilities and decodings of the sequences of a corpus, with or without constraints.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/inference/constraints.hpp"
#include "core/inference/decode.hpp"
#include "core/inference/potentials.hpp"

namespace sparsecrf {

// Safe to share between threads: nothing changes after construction except caches behind a lock.
class Chain {
   public:
    Chain(std::shared_ptr<const FeatureSet> features, std::vector<double> w, Kernel kernel, int threads);

    const FeatureSet& features() const { return *features_; }
    const UnigramRows& rows() const { return weights_->rows; }
    std::span<const double> w() const { return weights_->w; }    // [K]
    double largest_weight() const { return weights_->largest; }  // max |w|
    // The same with this number of threads (0: all cores); nothing is copied.
    Chain with_threads(int threads) const;
    // The weights laid out for a corpus, which must stay as long as they are used.
    Potentials potentials(const Corpus& corpus, const Constraints& constraints) const;

    // out: [N]
    void log_partition(const Corpus& corpus, const Constraints& constraints, std::span<double> out) const;
    // Score of the corpus's own labels, all of which must be known; out: [N]
    void score(const Corpus& corpus, std::span<double> out) const;
    // score_t(y_{t-1}, y_t) of each token with these labels; labels, out: [P]
    void token_scores(const Corpus& corpus, std::span<const std::int32_t> labels, std::span<double> out) const;
    // log P(known labels | x, constraints), missing ones summed over; -infinity if the labels break them.  out: [N]
    void log_prob(const Corpus& corpus, const Constraints& constraints, std::span<double> out) const;
    // p_t(y); out: [P, Y]
    void marginals(const Corpus& corpus, const Constraints& constraints, std::span<double> out) const;
    // p_t(y', y) of one sequence; out: [T, Y + 1, Y]
    void edge_marginals(const Corpus& corpus, std::int64_t sequence, const Constraints& constraints,
                        std::span<double> out) const;
    // log P(y_start, y_{start+1}, ... = labels)
    double span_log_prob(const Corpus& corpus, std::int64_t sequence, std::int64_t start,
                         std::span<const std::int32_t> labels, const Constraints& constraints) const;
    // Best path; labels: [P], scores: [N]
    void viterbi(const Corpus& corpus, const Constraints& constraints, std::span<std::int32_t> labels,
                 std::span<double> scores) const;
    // The k best paths of one sequence, best first; fewer if there are fewer.
    std::vector<Labelling> nbest(const Corpus& corpus, std::int64_t sequence, std::int64_t k,
                                 const Constraints& constraints) const;
    // The same of every sequence; out: [N]
    std::vector<std::vector<Labelling>> nbest(const Corpus& corpus, std::int64_t k,
                                              const Constraints& constraints) const;

   private:
    int threads_for(const Corpus& corpus) const;
    std::shared_ptr<NgramTables> ngram_tables(const Corpus& corpus) const;
    std::unique_ptr<NgramPlaces> take_places() const;

    std::shared_ptr<const FeatureSet> features_;
    struct Weights {
        Weights(const FeatureSet& features, std::vector<double> all);
        std::vector<double> w;
        UnigramRows rows;
        double largest = 0.0;
    };
    std::shared_ptr<const Weights> weights_;
    Kernel kernel_;
    int threads_;
    // Places of label n-grams of earlier calls. A call takes some and gives them back; one that finds none, or the lock
    // taken, makes its own instead of waiting, so that the child of a fork never waits for a thread that it lacks.
    struct IdlePlaces {
        std::mutex mutex;
        std::vector<std::unique_ptr<NgramPlaces>> places;
        std::uint64_t bytes = 0;
    };
    struct LentPlaces;
    std::shared_ptr<IdlePlaces> idle_;
};

}  // namespace sparsecrf
