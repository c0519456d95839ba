// One step of stochastic gradient descent: forward-backward of one sequence, and its gradient into the weights of the
// features that occur in it. Nothing else is read or written.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/inference/potentials.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/lazy_weights.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// Lives for one pass; references are kept.
class SgdStep {
   public:
    // w: [K], changed by `step`.
    SgdStep(const Corpus& corpus, const Plan& plan, const FeatureSet& features, std::span<double> w, Kernel kernel);

    // A step with the items of one sequence; `weights` are those of w, penalties for a share 1/n of the data.
    void step(std::span<const Item> items, LazyWeights& weights, double eta, double n);
    // w_i { log Z - w.F } of one sequence, at the weights this was made with.
    double loss(std::span<const Item> items);

    // Brings every weight up to date.
    void settle_all(LazyWeights& weights) const;

   private:
    void prepare(std::int64_t sequence, LazyWeights& weights);
    void settle_bigrams(const ListPool& lists, std::uint32_t list, LazyWeights& weights) const;
    void infer(std::span<const Item> items, bool backward);
    void subtract_unigrams(double eta);
    void subtract_base(std::uint32_t list, double eta);
    void subtract_rest(std::int64_t t, double eta);
    void sum_products(std::uint32_t list);
    void sum_direct(std::uint32_t list);
    double path_score(const Lattice& lattice) const;
    std::uint32_t pair_of_labels(std::int64_t t) const;

    // Lists that occur in the sequence, each once.
    struct Lists {
        explicit Lists(std::size_t n) : seen(n, 0) {}
        void add(std::uint32_t list) {
            if (!seen[list]) found.push_back(list);
            seen[list] = 1;
        }
        void clear() {
            for (const std::uint32_t list : found) seen[list] = 0;
            found.clear();
        }
        std::vector<std::uint8_t> seen;
        std::vector<std::uint32_t> found;
    };
    // A unigram attribute with features at a position.
    struct Occurrence {
        std::int64_t begin;  // its features
        std::uint32_t n, t;
        double value;
    };

    const Corpus& corpus_;
    const Plan& plan_;
    const FeatureSet& features_;
    const std::span<double> w_;
    const int n_labels_, stride_;  // Y, Yp
    UnigramRows rows_;
    const BasePairs pairs_;
    Potentials potentials_;
    Recursion recursion_;

    // The sequence at hand.
    std::int64_t first_ = 0, length_ = 0;
    double count_ = 0.0;                  // weight of its own labels, 0 if some are missing
    std::vector<OwnedLattice> lattices_;  // one for each item; v of linear ones is multiplied by the item's weight
    std::vector<double> item_weight_;     // parallel
    Lists unigram_lists_, base_lists_;    // unigram lists only where they are tabulated
    std::vector<Occurrence> occurrences_;
    AlignedVector<double> difference_;                 // [T, Yp] sum over items of weight p_t(y), less the count
    std::vector<double> cells_;                        // [T, Y + P] the same for the cells, where labels have parts
    std::vector<std::int64_t> positions_;              // of one base list
    std::vector<const double*> left_, right_, start_;  // their alpha_{t-1} and v_t, and v_0
    AlignedVector<double> products_;                   // [Y, Yp] scratch
    std::vector<double> sums_;                         // the gradient by pair of one base list
};

}  // namespace sparsecrf
