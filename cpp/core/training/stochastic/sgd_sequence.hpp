// The contribution of one sequence to a step of stochastic gradient descent: forward-backward at fixed weights, and its
// gradient, before it is distributed over the attributes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/inference/potentials.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// Lists without duplicates, in the order of their first occurrence.
struct ListsSeen {
    explicit ListsSeen(std::size_t n) : seen(n, 0) {}
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

struct SgdSequence {
    std::int64_t first = 0, length = 0;  // its positions
    double count = 0.0;                  // weight of its own labels, 0 if some are missing
    std::vector<OwnedLattice> lattices;  // one per item; v is multiplied by the item's weight, except in the log domain
    std::vector<double> item_weight;     // parallel to lattices
    AlignedVector<double> difference;    // [T, Yp] sum over items of weight p_t(y), minus the count
    std::vector<double> cells;           // [T, Cp] the same for cells, if labels have parts
    const double* by_cell = nullptr;     // cells or, without parts, difference
    std::vector<double> classes;         // [T, C, C] the same for class pairs, at t = 0 [C]; or empty
    std::vector<double> ngrams;          // the same for the arcs of each position (NgramArcs); or empty
    std::vector<std::size_t> ngram_ptr;  // [T] index of the first arc of a position; or empty
    std::vector<std::uint32_t> base_lists;  // the base lists that occur, without duplicates
    std::vector<std::vector<double>> sums;  // [base lists] gradient by pair

    // The label pair at t; both labels are known.
    std::uint32_t pair_of_labels(const Corpus& corpus, std::int64_t t) const {
        const LabelPairs pairs(corpus.n_labels);
        const auto label = [&](std::int64_t s) { return static_cast<std::uint32_t>(corpus.labels[first + s]); };
        return pairs.pair(t == 0 ? pairs.start() : label(t - 1), label(t));
    }
};

// Not thread-safe, because it holds scratch space. Keeps references to its arguments.
class SgdInference {
   public:
    // The potentials must keep zeros, so that every feature has a place in the matrices.
    // `parts`: label parts, or null.
    SgdInference(const Corpus& corpus, const Plan& plan, const Potentials& potentials, const LabelParts* parts);

    // The gradient of a sequence, given its items.
    void gradient(std::span<const Item> items, SgdSequence& out);
    // w_i { log Z - w.F } of a sequence; `scratch` is overwritten.
    double loss(std::span<const Item> items, SgdSequence& scratch);

   private:
    void infer(std::span<const Item> items, bool backward, SgdSequence& out);
    void add_classes(double weight, const Lattice& lattice, SgdSequence& out);
    void add_ngrams(const NgramTables& tables, SgdSequence& out) const;
    void subtract_counts(SgdSequence& out) const;
    void sum_products(const SgdSequence& of, std::uint32_t list, std::vector<double>& out);
    void sum_direct(const SgdSequence& of, std::uint32_t list, std::vector<double>& out);
    double path_score(const SgdSequence& of) const;

    const Corpus& corpus_;
    const Plan& plan_;
    const Potentials& potentials_;
    const LabelParts* parts_;
    const int n_labels_, stride_, cell_stride_;  // Y, Yp, Cp
    Recursion recursion_;
    ListsSeen base_lists_;
    std::vector<std::int64_t> positions_;              // positions of one base list
    std::vector<const double*> left_, right_, start_;  // their alpha_{t-1} and v_t, and v_0
    AlignedVector<double> products_;                   // [Y, Yp]
    std::vector<double> classes_;                      // [C, C]
};

}  // namespace sparsecrf
