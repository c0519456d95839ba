// The restriction of a corpus's unigram lists to some attributes: by position and, inverted, by attribute.
//
// A feature set contains features for only a few of the attributes. These tables are as small as the set, and let a
// pass visit only the occurrences of these attributes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// Inverts the unigram lists of a block by a counting sort. Not thread-safe, because it holds scratch space.
class RowSorter {
   public:
    // The occurrences of the attributes that have a row, by row. Entry x of `lists` (the corpus's unigram lists,
    // possibly renumbered) is in row row_of[x] or dropped if row_of[x] is kDropped; without `row_of`, in row x.
    Occurrences sort(const Corpus& corpus, const Plan& plan, const Block& block, const ListPool& lists,
                     const std::uint32_t* row_of, std::size_t n_rows);

   private:
    struct Found {
        std::uint32_t row, position;
    };
    std::vector<Found> found_;
    std::vector<double> values_;       // parallel to found_ if the lists have values
    std::vector<std::uint32_t> next_;  // [rows] all zero between calls
    std::vector<std::uint64_t> seen_;  // [rows / 64] one bit per row that occurs in the block
};

struct UnigramIndex {
    // Rows for the attributes with a unigram feature. Attributes with many features come first, which makes the
    // branches of a sum over a list predictable.
    UnigramIndex(const Corpus& corpus, const FeatureSet& features, int threads);

    struct Range {
        std::int64_t begin, end;
    };
    std::vector<std::uint32_t> attributes;  // [R] the attribute of each row
    std::vector<Range> features;            // [R] the unigram features of each row
    ListPool lists;                         // the corpus's lists with entries numbered by row instead of attribute

    // The occurrences in each block of a plan, by row.
    std::vector<Occurrences> turned(const Corpus& corpus, const Plan& plan, int threads) const;
};

}  // namespace sparsecrf
