// From marginals to expectations of label n-grams: summed by place, then shared out over the features there.
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
    const NgramTables& tables_;
    const int threads_;
    bool curvature_ = false;
    std::vector<Occurrences> blocks_;   // rows by place
    std::vector<std::size_t> first_;    // [places] their first arc among the sums
    std::vector<double> sum_, square_;  // [arcs of all places] sum_t w p, and of w p^2
};

}  // namespace sparsecrf
