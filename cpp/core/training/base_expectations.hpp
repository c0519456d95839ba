// From marginals to expectations of the features of base lists: summed by list, then shared out over its attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/in_turns.hpp"
#include "core/inference/base_pairs.hpp"
#include "core/inference/potentials.hpp"
#include "core/training/block_rows.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// Made for a feature set, used for any number of passes: begin, add every block, finish. Keeps references.
class BaseExpectations {
   public:
    BaseExpectations(const Corpus& corpus, const BasePairs& pairs, Kernel kernel, int threads);

    // curvature: sums of squares are taken too.
    void begin(bool curvature);
    // The rows are squared where curvature is wanted: nobody can use them afterwards.
    void add(const Potentials& potentials, const Block& block, BlockRows& rows, Turn& turn);
    // Adds to g and, with curvature, to h: [K], of the feature set that this was made for.
    void finish(const Potentials& potentials, const FeatureSet& features, std::span<double> g, std::span<double> h);

   private:
    // Where the sums of a list stand and what they are: of all pairs, [Y + 1, Yp] (last row: start), or parallel to
    // the pairs that have a feature. None for a list without features.
    struct List {
        std::size_t first = 0, n = 0;            // cells; first is a multiple of kLanes
        bool all_pairs = false;                  // outer products of all pairs, or pair by pair
        bool has_direct = false;                 // this pass put something into `direct`
        std::vector<std::uint16_t> previous, y;  // pair by pair: the labels y' < Y and y that occur, ascending
        std::vector<std::uint16_t> left, right;  // index of each pair with y' < Y into these
    };
    void lay(List& list, std::span<const std::uint32_t> pairs, Kernel kernel) const;
    // Index of a pair in the sums of a list; pairs that are not summed have none.
    std::optional<std::size_t> cell(std::uint32_t list, std::uint32_t pair) const;
    void add_products(const List& list, std::span<const std::uint32_t> rows, const BlockRows& block, int y0, int y1,
                      double* sums) const;
    static void add_pairs(const List& list, const double* const* a, const double* const* v, std::size_t n, int y0,
                          int y1, double* sums);
    void add_start(std::uint32_t list, std::span<const std::uint32_t> rows, const BlockRows& block, double* sums) const;
    void add_direct(const Potentials& potentials, std::uint32_t list, std::span<const std::uint32_t> rows,
                    const BlockRows& block);
    // Of the lists of one share or, where there are few lists, of a share of the labels y'.
    void add_share(std::size_t share, const Block& block, const BlockRows& rows, double* sums) const;
    void square(BlockRows& rows) const;
    void complete(std::uint32_t list, const Potentials& potentials);
    void finish_share(std::size_t share, const FeatureSet& features, std::span<double> g, std::span<double> h) const;

    const Corpus& corpus_;
    const BasePairs& pairs_;
    const int threads_, n_labels_, stride_;  // Y, Yp
    bool curvature_ = false;
    std::vector<List> lists_;  // [base lists]
    std::size_t n_cells_ = 0;  // of all lists
    // sum_t w alpha(y') v(y) before E is multiplied in, the same of squares, and what does not have that form (log
    // rows, corrections): [cells]. The last two hold something only for lists with has_direct.
    AlignedVector<double> product_, product2_, direct_, direct2_;
};

}  // namespace sparsecrf
