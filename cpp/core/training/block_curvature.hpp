// Curvature between the features of a block: those that fire most often, whose weights must be optimized jointly.
//
//     H_ab = sum_t w_i Cov(f_a(t), f_b(t)) under p_t(y', y)
//
// f_a(t) is the value of feature a at position t: v if the labels there match the feature, otherwise 0. With P(a) the
// probability of its labels and P(a, b) that of both (0 if they exclude each other), Cov = v_a v_b (P(a, b) - P(a)
// P(b)). This is the second derivative of the loss without the terms that couple different positions; it is positive
// semidefinite. It is summed over every n-th item and multiplied by n, which is accurate enough for a model of the
// curvature.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/inference/potentials.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/item_runs.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

class BlockCurvature {
   public:
    // block: indices of features in the set, ascending.
    BlockCurvature(const Corpus& corpus, const Plan& plan, const FeatureSet& features,
                   std::span<const std::int64_t> block);

    // H, [M, M], zero on entry. Items with negative weight are ignored.
    void sum(const Potentials& potentials, int every, int threads, std::span<double> h);

   private:
    // A feature of the block that fires at a position, and its probability.
    struct Firing {
        FeatureLabels of;
        std::uint32_t place;  // index in the block
        std::uint32_t slot;   // slot of its cell at the position, if labels have parts
        double value, p;
    };
    // The features that fire in an item: position k has entries [ptr[k], ptr[k + 1]), ascending by place.
    struct Firings {
        std::vector<std::size_t> ptr;
        std::vector<Firing> firing;
        double weight;
        // If labels have parts: joint probabilities of two cells, [slots, slots] for each position, starting at
        // joint_ptr[k]; and the number of slots.
        std::vector<std::size_t> joint_ptr;
        std::vector<std::uint32_t> n_slots;
        std::vector<double> joint;
    };

    void gather(ItemRun& run, Firings& out) const;
    void join_cells(const double* p, Firings& out) const;
    // P(a, b) of two firing features at position k.
    double both(const Firings& of, std::size_t k, const Firing& a, const Firing& b) const;
    // Whether a label sequence can end in the labels of both features.
    bool agree(const Firing& a, const Firing& b) const;
    void add(const Firings& of, std::uint32_t first, std::uint32_t last, double scale, std::span<double> h) const;

    const Corpus& corpus_;
    const Plan& plan_;
    const FeatureSet& features_;
    const std::size_t size_;  // M
    const ListedFeatures listed_;
};

}  // namespace sparsecrf
