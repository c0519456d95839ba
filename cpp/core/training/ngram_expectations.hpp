// From marginals to expectations of label n-grams, and what n-grams add to those of label pairs of base lists: summed
// by arcs, and by place and base list, then shared out over the features there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/in_turns.hpp"
#include "core/inference/ngram_places.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/block_rows.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// Made for a feature set, used for any number of passes: begin, add every block, finish. Keeps references.
class NgramExpectations {
   public:
    // Lists the pairs of the tables.
    NgramExpectations(NgramTables& tables, const Corpus& corpus, const Plan& plan, int threads);

    // curvature: sums of squares are taken too.
    void begin(bool curvature);
    // Makes sums of a block ready for this pass.
    void clear(NgramSums& of) const { of.clear(tables_.places->n_arcs(), curvature_); }
    void add(int thread, std::size_t block, const BlockRows& rows, Turn& turn);
    // Adds to g and, with curvature, to h: [K].
    void finish(std::span<double> g, std::span<double> h) const;

   private:
    // A pair of a kind (NgramTables) that has a feature of the base list.
    struct Listed {
        std::uint32_t pair;     // in the place
        std::uint32_t feature;  // in the set, and
        double value;           // its value
    };
    struct Pairs {
        std::vector<Listed> listed;
        std::size_t first;  // the first of the pairs among the sums
    };
    // Some leaves of some arcs: those of the histories [first, last).
    struct Part {
        std::uint32_t arcs, first, last;
        std::uint32_t number;  // of all parts
    };
    // Sums of w p and w p^2.
    struct Sums {
        std::vector<double> p, square;
        void begin(std::size_t n, bool curvature) {
            p.assign(n, 0.0);
            square.assign(curvature ? n : 0, 0.0);
        }
    };
    // A tile of rows, by history and by node.
    struct Tile {
        AlignedVector<double> mass, mass2, flow, flow2;
    };
    void cut_parts();
    static Occurrences index(const Block& block, const Plan& plan, const Corpus& corpus,
                             const std::vector<std::uint32_t>& key_of);
    void add_arcs(const Part& part, std::span<const std::uint32_t> rows_of, const BlockRows& rows, Tile& tile);
    void add_tile(const Part& part, Tile& tile);
    void list_pairs(std::uint32_t kind);
    void add_sums(std::size_t share, std::size_t n_shares, const NgramSums& of);
    void add_pairs(std::uint32_t kind, std::span<const std::uint32_t> rows_of, const BlockRows& rows);

    NgramTables& tables_;
    const Corpus& corpus_;
    const Kernels& kernels_;
    const int threads_, stride_;  // stride_: Yp
    bool curvature_ = false;
    std::vector<Pairs> kinds_;                              // [kinds]
    std::vector<Occurrences> rows_by_kind_, rows_by_arcs_;  // [blocks]
    std::vector<std::vector<Part>> parts_;                  // [arcs]
    std::vector<std::size_t> first_arc_;                    // [arcs] the first arc of each among the sums
    std::size_t n_arcs_ = 0, n_pairs_ = 0;                  // of all arcs, of all kinds
    // leaves_: of leaves in the linear domain, without their factors X and X^2. arcs_: of all others.
    // pairs_: of w (p - b) and w (p^2 - b^2), b without n-grams.
    Sums leaves_, arcs_, pairs_;
    std::vector<Tile> tiles_;  // [threads]
};

}  // namespace sparsecrf
