// Features of an attribute and a string of three or more labels, and their contribution to the label pairs of base
// lists. Sums are computed by arc, and by place and base list, then distributed over the features.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/inference/ngram_places.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/families/family.hpp"

namespace sparsecrf {

class NgramFamily final : public Family {
   public:
    explicit NgramFamily(SetTables& tables);
    static bool present(const Corpus&, const FeatureSet& features) { return features.n_ngram() > 0; }
    static void count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                      std::span<double> counts);

    void begin(const GradientPass& pass) override;
    void open(BlockRows& rows) override;
    void add(int thread, std::size_t block, BlockRows& rows, Turn& turn) override;
    void finish() override;

   private:
    // A pair of a kind (NgramTables) for which the base list has a feature.
    struct Listed {
        std::uint32_t pair;     // index in the place
        std::uint32_t feature;  // index in the set
        double value;           // value of its attribute
    };
    struct Pairs {
        std::vector<Listed> listed;
        std::size_t first;  // index of its first pair in the sums
    };
    // The leaves of the histories [first, last).
    struct Part {
        std::uint32_t arcs, first, last;
        std::uint32_t number;  // index among all parts
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
    void lay(const Plan& plan);
    void cut_parts();
    Occurrences index(const Block& block, const Plan& plan, const std::vector<std::uint32_t>& key_of) const;
    void add_arcs(const Part& part, std::span<const std::uint32_t> rows_of, const BlockRows& rows, Tile& tile);
    void add_tile(const Part& part, Tile& tile);
    void list_pairs(std::uint32_t kind);
    void add_sums(std::size_t share, std::size_t n_shares, const NgramSums& of);
    void add_pairs(std::uint32_t kind, std::span<const std::uint32_t> rows_of, const BlockRows& rows);

    NgramTables& ngrams_;
    const Kernels& kernels_;
    const int stride_;                                      // Yp
    std::vector<Pairs> kinds_;                              // [kinds]
    std::vector<Occurrences> rows_by_kind_, rows_by_arcs_;  // [blocks]; empty before the first pass
    std::vector<std::vector<Part>> parts_;                  // [arcs]
    std::vector<std::size_t> first_arc_;                    // [arc sets] index of the first arc in the sums
    std::size_t n_arcs_ = 0, n_pairs_ = 0;                  // totals over all arc sets and kinds
    // leaves_: sums for leaves in the linear domain, without their factors X and X^2. arcs_: sums for all other arcs.
    // pairs_: sums of w (p - b) and w (p^2 - b^2), where b is the probability without n-grams.
    Sums leaves_, arcs_, pairs_;
    std::vector<Tile> tiles_;  // [threads]
};

}  // namespace sparsecrf
