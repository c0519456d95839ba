// Finds the features outside a working set that could violate their optimality condition at weight zero.
//
// For nonnegative values p_t(y', y) <= min(p_{t-1}(y'), p_t(y)), so
//     E[x, y', y] <= min(A_x(y'), B_x(y)),   A_x(y') = sum_t |w v| p_{t-1}(y'),   B_x(y) = sum_t |w v| p_t(y),
// and only pairs for which both exceed the bound are candidates. This costs O(Y) per position and never misses a
// feature. The same holds for pairs of classes; the sum of a class is the sum over its labels. With many labels, pairs
// of base-list attributes have an additional, tighter bound (pair_bounds.hpp).
//
// A sharded corpus needs the sums over all shards, but each shard can compute only its own sum a_s. Let m_s be the mass
// of x in shard s (the sum of |w v|) and M the mass in all shards; a_s / m_s is then a mean probability. Shard s
// reports a_s if it exceeds the share c b m_s / M of the bound b, for a fixed 0 < c <= 1. Then, regardless of the other
// shards,
//     sum_s a_s  <=  sum_{s that report} a_s  +  c b (1 - sum_{s that report} m_s / M)  =: U,
// and a cell that no shard reports has U = c b <= b. The cells with U > b therefore include all cells whose sum exceeds
// b, and few others. The number of reported cells depends on the mean probabilities of the cells, not on the number of
// shards. A single shard has share 1, and U is its sum.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/in_turns.hpp"
#include "core/training/block_rows.hpp"
#include "core/training/families/family.hpp"
#include "core/training/plan.hpp"
#include "core/training/screening/pair_bounds.hpp"
#include "core/training/screening/sparse_sums.hpp"
#include "core/training/unigram_index.hpp"

namespace sparsecrf {

// Sums of w v for every attribute over the positions where it occurs: in unigram lists, and in bigram lists of first
// and of later positions. Under uniform labels, the expectation of a feature is 1/Y, 1/Y or 1/Y^2 times its attribute's
// sum, respectively. `absolute`: sums of |w v|.
struct Masses {
    std::vector<double> unigram, start, inner;  // [X]
};
Masses attribute_masses(const Corpus& corpus, const Plan& plan, bool absolute, int threads);

// Sums of a shard by cell (x, y), in ascending order: four consecutive ranges, each numbered like unigram features
// (only the first range includes label parts), for unigram attributes, A, B, and B at first positions.
struct ShardSums {
    std::vector<std::int64_t> cell;
    std::vector<double> sum;    // a_s
    std::vector<double> share;  // m_s / M
};

class Screen final : public BlockSums {
   public:
    // Candidates are the features whose expectation could exceed `bound` > 0. `whole`: absolute masses of all shards.
    // `parts`: label parts, or null; the expectation of a part is the sum over its labels.
    Screen(const Corpus& corpus, const Plan& plan, const LabelParts* parts, double bound, int threads,
           const Masses* whole = nullptr);

    // Adds block b of the plan.
    void add(int thread, std::size_t b, BlockRows& rows, Turn& turn) override;
    // Call once after the last block.
    void finish(const Potentials& potentials);
    // Numbers of the candidates (FeatureSet::from_numbers), in ascending order, for a corpus with a single shard.
    std::vector<std::int64_t> candidates() const;
    // The sums that a shard reports, which exceed `fraction` (c) times its share of the bound.
    ShardSums sums_above(double fraction) const;

   private:
    // Sums by attribute. Attributes whose mass is too small to exceed the bound are omitted.
    struct Rows {
        std::vector<std::uint32_t> row_of;  // [X] or kNoRow
        std::vector<std::uint32_t> keys;    // attribute of each row
        std::vector<double> share;          // [rows] share of the attribute's mass in all shards
        AlignedVector<double> sums;         // [rows, Yp]; for unigram attributes [rows, Cp]
    };
    Screen(const Corpus& corpus, const Plan& plan, const LabelParts* parts, const Masses& mass, const Masses* whole,
           double bound, int threads);
    // Rows of the attributes whose mass is above `least` and at most `most`.
    static Rows make_rows(const std::vector<double>& mass, const std::vector<double>& whole, double least, double most,
                          int stride);
    void add_bigrams(const Block& block, const BlockRows& rows);
    void add_frequent(const Occurrences& all, std::int64_t key, const BlockRows& rows);
    void add_rare(const Occurrences& all, std::int64_t key, const BlockRows& rows, const SparseSums::Likely& likely,
                  SparseSums::Scratch& scratch);
    // The base lists that contain an attribute with enough mass, if there are many labels and few lists; otherwise
    // none.
    std::vector<std::uint32_t> lists_to_bound() const;
    // By row of previous_: the base lists of its attribute, with |value|; empty if their bounds are not known.
    std::vector<std::vector<std::pair<std::uint32_t, double>>> base_lists_of_attributes() const;
    // Calls visit(rows, row, cell, upper bound of the sum) for unigram attributes, in ascending order.
    template <class Visit>
    void each_unigram(Visit visit) const;

    const Corpus& corpus_;
    const Plan& plan_;
    const LabelParts* parts_;  // label parts, or null
    const double bound_;
    const int threads_, n_labels_, stride_;  // Y, Yp
    const int n_cells_, cell_stride_;        // Y + P, Cp: the cells of a unigram row
    Rows unigram_;                           // unigram attributes: sum |w v| p_t(y)
    // With many labels: the attributes that are not frequent. Their sums are in `rare_`.
    Rows rare_keys_;
    SparseSums rare_;
    std::vector<std::uint32_t> row_of_;  // [X] row of unigram_, then of rare_; or kNoRow
    // Scratch space of a thread for the current block.
    struct Scratch {
        RowSorter sorter;
        // Occurrences of unigram attributes. They are not precomputed for all blocks, because this would take as much
        // memory as the corpus for a single use.
        Occurrences unigrams;
        SparseSums::Likely likely;
        SparseSums::Scratch sums;
    };
    std::vector<Scratch> scratch_;  // [threads]
    Rows previous_, label_;         // bigram attributes: A_x and B_x at inner positions
    Rows start_;                    // bigram attributes: B_x at first positions
    std::vector<AlignedVector<double>> list_previous_, list_label_, list_start_;  // the same by base list, [Yp]
    PairBounds pairs_;
};

}  // namespace sparsecrf
