// Curvature between the features of a block: those that fire most often, whose weights cannot be found one by one.
//
//     H_ab = sum_t w_i Cov(f_a(t), f_b(t)) under p_t(y', y)
//
// f_a(t) is the value of feature a at position t: v if the labels there are its own, otherwise 0. With P(a) the
// probability of its labels and P(a, b) that of both (0 if they exclude each other),
// Cov = v_a v_b (P(a, b) - P(a) P(b)).
// That is the second derivative of the loss but for what couples different positions, and positive semidefinite. It is
// summed over every n-th item and multiplied by n: a model of the curvature needs no more.
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
    // block: places of features in the set, ascending.
    BlockCurvature(const Corpus& corpus, const Plan& plan, const FeatureSet& features,
                   std::span<const std::int64_t> block);

    // H, [M, M], zero on entry. Items of negative weight count for nothing.
    void sum(const Potentials& potentials, int every, int threads, std::span<double> h);

   private:
    // A block feature that fires at a position with some probability.
    struct Firing {
        FeatureLabels of;
        std::uint32_t place;  // in the block
        std::uint32_t slot;   // of its cell, among those of the position; where labels have parts
        double value, p;
    };
    // What fires at the positions of an item: position k has [ptr[k], ptr[k + 1]), by ascending place.
    struct Firings {
        std::vector<std::size_t> ptr;
        std::vector<Firing> firing;
        double weight;
        // Where labels have parts: probabilities of two cells at once, [slots, slots] for each position, which begin at
        // joint_ptr[k]; and how many slots it has.
        std::vector<std::size_t> joint_ptr;
        std::vector<std::uint32_t> n_slots;
        std::vector<double> joint;
    };

    void gather(ItemRun& run, Firings& out) const;
    void join_cells(const double* p, Firings& out) const;
    // P(a, b) at position k of those that are listed.
    double both(const Firings& of, std::size_t k, const Firing& a, const Firing& b) const;
    // Whether labels can end in those of both.
    bool agree(const Firing& a, const Firing& b) const;
    void add(const Firings& of, std::uint32_t first, std::uint32_t last, double scale, std::span<double> h) const;

    const Corpus& corpus_;
    const Plan& plan_;
    const FeatureSet& features_;
    const std::size_t size_;  // M
    const ListedFeatures listed_;
};

}  // namespace sparsecrf
