// The second half of a block: from marginals to expectations of features.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "lattice.hpp"
#include "plan.hpp"
#include "potentials.hpp"
#include "unigram_index.hpp"

namespace sparsecrf {

// The rows of a block after forward-backward. Row r of item k is lattice k's position r - first row of k.
struct BlockRows {
    AlignedVector<double> alpha, v, p;    // [rows, Yp]; v scaled by the item's weight unless logarithmic
    std::vector<double> weight;           // [rows] of the item
    std::vector<std::uint32_t> item;      // [rows] index into lattices
    std::vector<Lattice> lattices;        // [items of the block]
    std::vector<std::int64_t> first_row;  // [items of the block]
};

class Expectations {
   public:
    // g, h: [K] (h may be empty); values are added to what they hold. Curvature is for weights >= 0 only.
    Expectations(const Potentials& potentials, const FeatureSet& features, const UnigramIndex& index,
                 std::span<double> g, std::span<double> h, int threads);

    // `unigrams`: the block's part of the index.
    void add(const Block& block, const Occurrences& unigrams, BlockRows& rows);
    // Distributes the sums of the base lists over their attributes; after the last block.
    void finish();

   private:
    void add_unigrams(const Occurrences& all, const BlockRows& rows);
    void add_rest(const Block& block, const BlockRows& rows);
    void add_base(const Block& block, BlockRows& rows);
    void add_products(std::uint32_t list, std::span<const std::uint32_t> rows, const BlockRows& block, int y0, int y1,
                      double* sums) const;
    void add_pairs(std::uint32_t list, const double* const* a, const double* const* v, std::size_t n, int y0, int y1,
                   double* sums) const;
    void add_direct(std::uint32_t list, std::span<const std::uint32_t> rows, const BlockRows& block);
    void square(BlockRows& rows) const;

    const Potentials& potentials_;
    const Corpus& corpus_;
    const FeatureSet& features_;
    const UnigramIndex& index_;
    std::span<double> g_, h_;
    const int threads_, n_labels_, stride_;  // Y, Yp

    // By base list: sum_t w alpha(y') v(y) before E is multiplied in, the same of squares, and what does not have
    // that form (log rows, corrections). All pairs: each [Y + 1, Yp] (last row: start). Pair by pair: parallel to
    // `pair`. Empty for lists without features.
    struct ListSums {
        bool all_pairs = false;                  // outer products of all pairs, or pair by pair
        std::vector<std::uint32_t> pair;         // pair by pair: y' Y + y of the candidates, ascending
        std::vector<std::uint16_t> previous, y;  // the labels y' < Y and y that occur in them, ascending
        std::vector<std::uint16_t> left, right;  // index of each pair with y' < Y into these
        AlignedVector<double> product, product2, direct, direct2;
    };
    // Index of a pair in the sums of a list; pairs that are no candidates have none.
    std::optional<std::size_t> cell(const ListSums& of, std::uint32_t pair) const;
    std::vector<ListSums> lists_;
};

}  // namespace sparsecrf
