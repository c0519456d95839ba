// A CRF with fixed weights: probabilities and best label sequences for a corpus, with or without constraints.
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

// Thread-safe: nothing changes after construction except caches protected by a mutex.
class Chain {
   public:
    Chain(std::shared_ptr<const FeatureSet> features, std::vector<double> w, Kernel kernel, int threads);

    const FeatureSet& features() const { return *features_; }
    const UnigramRows& rows() const { return weights_->rows; }
    std::span<const double> w() const { return weights_->w; }    // [K]
    double largest_weight() const { return weights_->largest; }  // max |w|
    // A copy that uses this many threads (0 means all cores) and shares the weights.
    Chain with_threads(int threads) const;
    // The weights, laid out for a corpus, which must outlive the result.
    Potentials potentials(const Corpus& corpus, const Constraints& constraints) const;

    // out: [N]
    void log_partition(const Corpus& corpus, const Constraints& constraints, std::span<double> out) const;
    // Score of the corpus's own labels, all of which must be known. out: [N]
    void score(const Corpus& corpus, std::span<double> out) const;
    // score_t(y_{t-1}, y_t) of each token, given the labels. labels, out: [P]
    void token_scores(const Corpus& corpus, std::span<const std::int32_t> labels, std::span<double> out) const;
    // log P(known labels | x, constraints), summed over missing labels; -infinity if the labels violate the
    // constraints. out: [N]
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
    // The k best paths of one sequence, best first; fewer if fewer exist.
    std::vector<Labelling> nbest(const Corpus& corpus, std::int64_t sequence, std::int64_t k,
                                 const Constraints& constraints) const;
    // The same for every sequence; the result is [N].
    std::vector<std::vector<Labelling>> nbest(const Corpus& corpus, std::int64_t k,
                                              const Constraints& constraints) const;

   private:
    int threads_for(const Corpus& corpus) const;
    template <class Answer>
    void for_each_lattice(const Corpus& corpus, const Constraints& constraints, const Answer& answer) const;
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
    // N-gram places left by earlier calls. A call takes one NgramPlaces object and returns it at the end. If no object
    // is left, or the mutex is locked, the call creates its own object instead of waiting, because a forked child must
    // never wait for a mutex held by a thread of its parent.
    struct IdlePlaces {
        std::mutex mutex;
        std::vector<std::unique_ptr<NgramPlaces>> places;
        std::uint64_t bytes = 0;
    };
    struct LentPlaces;
    std::shared_ptr<IdlePlaces> idle_;
};

}  // namespace sparsecrf
