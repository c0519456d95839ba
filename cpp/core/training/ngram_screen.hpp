// Finds the label n-grams, one label longer than the current ones, that could violate their optimality condition.
//
// If g has n labels, a label b in front of it is at position s = t - n of the string that ends at t, followed by g's
// first label y. For an attribute x of value v at t,
//
//     E[x, b g]  <=  U[x, b g] = sum_t w v min( p_t(g), p_{s+1}(b, y) )
//
// where p is the probability of the strings that end there. So a string is a candidate only if its parts are likely at
// the same positions, which is far more selective than comparing sums. Probabilities below kUnlikelyString are added
// for every b. The counts C[x, b g] are computed along the way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/inference/potentials.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/item_runs.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

class NgramScreen {
   public:
    // listed: indices in the set, ascending, of features with at least two labels that do not begin with the start
    // label.
    NgramScreen(const Corpus& corpus, const Plan& plan, const FeatureSet& features,
                std::span<const std::int64_t> listed);

    // U and C, [L, Y + 1] by listed feature and preceding label (Y: the start), zero on entry.
    void sum(const Potentials& potentials, int threads, std::span<double> bound, std::span<double> counts);

   private:
    // A listed feature that is likely at a position: contributes w v times min(p, column), where the column holds pair
    // probabilities.
    struct Firing {
        std::uint32_t place, column;
        double weight, p;
    };
    struct Found {
        std::vector<Firing> firing;
        std::vector<double> column;                              // [columns, Y + 1]
        std::vector<std::pair<std::uint32_t, double>> unlikely;  // place, w v p
        std::vector<std::uint32_t> column_of;                    // [T, Y] kNoString if not needed
    };
    void gather(const Item& item, ItemRun& run, Found& out) const;
    void add(std::int64_t t, std::uint32_t place, double weight, double p, Found& out) const;
    void count(std::span<double> counts) const;

    const Corpus& corpus_;
    const Plan& plan_;
    const FeatureSet& features_;
    const ListedFeatures listed_;
    const ListedRows bigram_;                  // listed pairs by attribute
    std::vector<std::uint32_t> ngram_;         // [n-grams] index in the list, or kNoString
    std::vector<std::uint32_t> first_, size_;  // [L] first label, number of labels
    std::uint32_t longest_ = 2;                // largest number of labels of a listed feature
};

}  // namespace sparsecrf
