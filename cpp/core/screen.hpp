// Which features outside a working set could violate their optimality condition at weight zero.
//
// For non-negative values p_t(y', y) <= min(p_{t-1}(y'), p_t(y)), so
//     E[x, y', y] <= min(A_x(y'), B_x(y)),   A_x(y') = sum_t |w v| p_{t-1}(y'),   B_x(y) = sum_t |w v| p_t(y),
// and only pairs for which both exceed the bound need to be looked at. O(Y) a position, exact.
#pragma once

#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "block_rows.hpp"
#include "plan.hpp"
#include "unigram_index.hpp"

namespace sparsecrf {

// Sums of w v of every attribute over the positions where it occurs: unigram lists, bigram lists of first and of other
// positions. Under uniform labels a feature's expectation is 1/Y, 1/Y, 1/Y^2 of its attribute's. `absolute`: of |w v|.
struct Masses {
    std::vector<double> unigram, start, inner;  // [X]
};
Masses attribute_masses(const Corpus& corpus, const Plan& plan, bool absolute);

class Screen {
   public:
    // Candidates are the features whose expectation could exceed `bound` > 0.
    Screen(const Corpus& corpus, const Plan& plan, double bound, int threads);

    // Block b of the plan, in the order of the plan.
    void add(std::size_t b, const BlockRows& rows);
    // Numbers of the candidates (FeatureSet::from_numbers), ascending; after the last block, once.
    std::vector<std::int64_t> candidates();

   private:
    // Sums by attribute, for those with enough mass to exceed the bound at all: others have no row.
    struct Rows {
        std::vector<std::uint32_t> row_of;  // [X] or kNoRow
        std::vector<std::uint32_t> keys;    // attribute of each row
        AlignedVector<double> sums;         // [rows, Yp]
    };
    Screen(const Corpus& corpus, const Plan& plan, const Masses& mass, double bound, int threads);
    static Rows make_rows(const std::vector<double>& mass, double bound, int stride);

    const Corpus& corpus_;
    const Plan& plan_;
    const double bound_;
    const int threads_, n_labels_, stride_;  // Y, Yp
    Rows unigram_;                           // unigram attributes: sum |w v| p_t(y)
    // Their occurrences in the block at hand and the next ones, a block for each thread. An index of all blocks would
    // be as large as the corpus, and is needed only once.
    std::vector<Occurrences> occurrences_;
    std::vector<RowSorter> sorters_;  // [threads]
    Rows previous_, label_;           // bigram attributes: A_x and B_x at inner positions
    Rows start_;                      // bigram attributes: B_x at first positions
    std::vector<AlignedVector<double>> list_previous_, list_label_, list_start_;  // the same by base list, [Yp]
};

}  // namespace sparsecrf
