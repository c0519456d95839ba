// From marginals to expectations of label n-grams, and what n-grams add to those of label pairs of base lists: summed
// by place and base list, then shared out over the features there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/inference/ngram_places.hpp"
#include "core/training/block_rows.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// Made for a feature set, used for any number of passes: begin, add every block, finish. Keeps references.
class NgramExpectations {
   public:
    NgramExpectations(const NgramTables& tables, const Corpus& corpus, const Plan& plan, int threads);

    // curvature: sums of squares are taken too.
    void begin(bool curvature);
    void add(std::size_t block, const BlockRows& rows);
    // Adds to g and, with curvature, to h: [K].
    void finish(std::span<double> g, std::span<double> h) const;

   private:
    // Positions with the same place and base list share their sums.
    struct Kind {
        std::uint32_t place, base;
        std::size_t first;  // its first node (arcs, then pairs) among the sums
    };
    void index(const Plan& plan, const std::vector<std::uint32_t>& kind_of);
    void share_out_pairs(const Kind& kind, std::span<double> g, std::span<double> h) const;

    const NgramTables& tables_;
    const Corpus& corpus_;
    const int threads_;
    bool curvature_ = false;
    std::vector<Kind> kinds_;
    std::vector<Occurrences> blocks_;  // rows by kind
    std::size_t n_sums_ = 0;           // nodes of all kinds
    std::vector<double> sum_,
        square_;  // arcs: sum_t w p and sum_t w p^2; pairs: of w (p - b) and w (p^2 - b^2), b without
};

}  // namespace sparsecrf
