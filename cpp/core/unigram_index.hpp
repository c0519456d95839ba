// The part of a corpus's unigram lists that some attributes make up: by position, and turned around, by attribute.
//
// A feature set has features for a few of the attributes. Whatever a pass does for each occurrence of an attribute, it
// does for these alone, through tables as small as the set.
#pragma once

#include <cstdint>
#include <vector>

#include "features.hpp"
#include "plan.hpp"

namespace sparsecrf {

struct UnigramIndex {
    // The attributes x with keep[x], without features and without lists.
    UnigramIndex(const Corpus& corpus, const Plan& plan, const std::vector<bool>& keep, int threads);
    // The attributes with a unigram feature, those with many first: the branches of a sum over a list then agree.
    UnigramIndex(const Corpus& corpus, const Plan& plan, const FeatureSet& features, int threads);

    struct Range {
        std::int64_t begin, end;
    };
    std::vector<std::uint32_t> attributes;  // [R] the attribute of each row
    std::vector<Range> features;            // [R] the unigram features of each row
    ListPool lists;                         // the corpus's lists, entries named by row instead of attribute
    std::vector<Occurrences> blocks;        // [blocks of the plan] by row

   private:
    void make(const Corpus& corpus, const Plan& plan, int threads);
};

}  // namespace sparsecrf
