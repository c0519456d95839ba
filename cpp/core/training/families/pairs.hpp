// Features of an attribute and a pair of labels. Those of base lists are summed by list, then shared out over its
// attributes; those of rest lists position by position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/training/families/family.hpp"

namespace sparsecrf {

class PairFamily final : public Family {
   public:
    explicit PairFamily(SetTables& tables);
    static bool present(const Corpus&, const FeatureSet&) { return true; }
    static void count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                      std::span<double> counts);

    void begin(const GradientPass& pass) override;
    // The rows are squared where curvature is wanted: alpha and v are of no use afterwards.
    void add(int thread, std::size_t block, BlockRows& rows, Turn& turn) override;
    void finish() override;
    void release() override;

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
    void lay_lists();
    void lay(List& list, std::span<const std::uint32_t> pairs) const;
    // Index of a pair in the sums of a list; pairs that are not summed have none.
    std::optional<std::size_t> cell(std::uint32_t list, std::uint32_t pair) const;
    void add_products(const List& list, std::span<const std::uint32_t> rows, const BlockRows& block, int y0, int y1,
                      double* sums) const;
    static void add_pairs(const List& list, const double* const* a, const double* const* v, std::size_t n, int y0,
                          int y1, double* sums);
    void add_start(std::uint32_t list, std::span<const std::uint32_t> rows, const BlockRows& block, double* sums) const;
    void add_direct(std::uint32_t list, std::span<const std::uint32_t> rows, const BlockRows& block);
    void add_rest(const Block& block, const BlockRows& rows) const;
    // Of the lists of one share or, where there are few lists, of a share of the labels y'.
    void add_share(std::size_t share, const Block& block, const BlockRows& rows, double* sums) const;
    void square(BlockRows& rows) const;
    void complete(std::uint32_t list);
    void finish_share(std::size_t share) const;

    const int threads_, n_labels_, stride_;  // Y, Yp
    std::vector<List> lists_;                // [base lists]; empty before the first pass
    std::size_t n_cells_ = 0;                // of all lists
    // sum_t w alpha(y') v(y) before E is multiplied in, the same of squares, and what does not have that form (log
    // rows, corrections): [cells]. The last two hold something only for lists with has_direct.
    AlignedVector<double> product_, product2_, direct_, direct2_;
};

}  // namespace sparsecrf
