// Coordinate descent (the paper, Algorithms 1 and 2): updates one weight, or all weights of one attribute, at a time.
// Each block requires a forward-backward over the sequences that contain the attribute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/inference/potentials.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/plan.hpp"
#include "core/training/value_sizes.hpp"

namespace sparsecrf {

// Keeps a reference to the corpus.
class Sbcd {
   public:
    Sbcd(const Corpus& corpus, Kernel kernel, int threads);

    struct Options {
        double rho1, rho2;
        // 0: a joint step on the block with curvature q = damping max(h, unit |E - C|), where each lambda is coupled to
        // the mu of its last label. No weight moves by more than 1 / unit, where unit is the typical size of its
        // attribute's values. Each block has its own damping, which is raised until the objective does not increase.
        // > 0: the update printed in the paper. It changes every weight by equation (coord_update), with h times this
        // number as curvature, and does not check the objective.
        double as_printed;
        // Blocks of one weight instead of one attribute (Algorithm 1).
        bool coordinatewise;
    };
    // One sweep over the attributes of `features`; changes w in place. counts: C, [K]. Returns the number of
    // forward-backward runs, in units of a pass over all data.
    double sweep(const FeatureSet& features, std::span<double> w, std::span<const double> counts,
                 const Options& options);

    // [X] The state that sweeps carry over. A copy with the same state continues with identical results.
    const std::vector<double>& damping() const { return damping_; }
    void set_damping(std::span<const double> damping) { damping_.assign(damping.begin(), damping.end()); }

   private:
    // A block: some unigram features of an attribute, then some bigram features.
    struct Row {
        std::int64_t unigram, n_unigram, bigram, n_bigram;
    };
    struct Lists {
        std::vector<std::int64_t> ptr;  // [X + 1]
        std::vector<std::uint32_t> list;
        std::span<const std::uint32_t> of(std::uint32_t x) const {
            return std::span(list).subspan(static_cast<std::size_t>(ptr[x]),
                                           static_cast<std::size_t>(ptr[x + 1] - ptr[x]));
        }
    };
    static Lists lists_by_attribute(const ListPool& pool, std::uint32_t n_attributes);

    // Scratch of a thread.
    struct Worker {
        Recursion recursion;
        OwnedLattice lattice;
    };
    // Improves the weights of one block; returns the number of items processed.
    double improve(const FeatureSet& features, std::uint32_t x, const Row& row, std::vector<Worker>& workers,
                   UnigramRows& rows, Potentials& potentials, std::span<double> w, std::span<const double> counts,
                   const Options& options);
    // weight * log Z of the items of x; with g, also adds E to g and the curvature to h, for its features.
    double visit(const FeatureSet& features, std::uint32_t x, const Row& row, std::vector<Worker>& workers,
                 std::span<double> g, std::span<double> h) const;
    double add_item(const FeatureSet& features, std::uint32_t x, const Row& row, const Item& item, Worker& worker,
                    std::span<double> g, std::span<double> h) const;
    // The step of a block whose weights are `block`.
    std::vector<double> step(const FeatureSet& features, std::uint32_t x, const Row& row, std::span<const double> block,
                             std::span<const double> g, std::span<const double> h, const Options& options,
                             double damping) const;

    const Corpus& corpus_;
    const Kernel kernel_;
    const int threads_, n_labels_, stride_;  // Y, Yp
    const Plan plan_;
    Lists items_;                             // items by attribute
    const Lists unigram_lists_, base_lists_;  // lists by attribute
    const ValueSizes unit_;
    std::vector<double> damping_;  // [X]
};

}  // namespace sparsecrf
