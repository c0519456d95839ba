// Features of an attribute and a label pair. Features of base lists are summed by list, then distributed over its
// attributes; those of rest lists are summed position by position.
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
    // Squares the rows if curvature is needed: alpha and v must not be used afterwards.
    void add(int thread, std::size_t block, BlockRows& rows, Turn& turn) override;
    void finish() override;
    void release() override;

   private:
    // The location and layout of the sums of a list: all pairs, [Y + 1, Yp] (last row: start), or parallel to the pairs
    // that have a feature. Lists without features have no sums.
    struct List {
        std::size_t first = 0, n = 0;            // cells; first is a multiple of kLanes
        bool all_pairs = false;                  // outer products of all pairs instead of individual pairs
        bool has_direct = false;                 // this pass wrote to `direct`
        std::vector<std::uint16_t> previous, y;  // individual pairs: the labels y' < Y and y that occur, ascending
        std::vector<std::uint16_t> left, right;  // index of each pair with y' < Y into these
    };
    void lay_lists();
    void lay(List& list, std::span<const std::uint32_t> pairs) const;
    // Index of a pair in the sums of a list, if the pair is summed.
    std::optional<std::size_t> cell(std::uint32_t list, std::uint32_t pair) const;
    void add_products(const List& list, std::span<const std::uint32_t> rows, const BlockRows& block, int y0, int y1,
                      double* sums) const;
    static void add_pairs(const List& list, const double* const* a, const double* const* v, std::size_t n, int y0,
                          int y1, double* sums);
    void add_start(std::uint32_t list, std::span<const std::uint32_t> rows, const BlockRows& block, double* sums) const;
    void add_direct(std::uint32_t list, std::span<const std::uint32_t> rows, const BlockRows& block);
    void add_rest(const Block& block, const BlockRows& rows) const;
    // Processes the lists of one share or, if there are few lists, one share of the labels y'.
    void add_share(std::size_t share, const Block& block, const BlockRows& rows, double* sums) const;
    void square(BlockRows& rows) const;
    void complete(std::uint32_t list);
    void finish_share(std::size_t share) const;

    const int threads_, n_labels_, stride_;  // Y, Yp
    std::vector<List> lists_;                // [base lists]; empty before the first pass
    std::size_t n_cells_ = 0;                // total over all lists
    // sum_t w alpha(y') v(y) before multiplication by E, the same for squares, and terms that do not have this form
    // (log rows, corrections): [cells]. The last two are used only by lists with has_direct.
    AlignedVector<double> product_, product2_, direct_, direct2_;
};

}  // namespace sparsecrf
