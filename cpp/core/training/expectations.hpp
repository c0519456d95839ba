// From marginals to expectations of the features that are summed position by position: those of unigram and rest lists.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/in_turns.hpp"
#include "core/corpus/features.hpp"
#include "core/training/block_rows.hpp"
#include "core/training/plan.hpp"
#include "core/training/unigram_index.hpp"

namespace sparsecrf {

class Expectations {
   public:
    // g, h: [K] (h may be empty); values are added to what they hold. Curvature is for weights >= 0 only.
    Expectations(const FeatureSet& features, const UnigramIndex& index, std::span<double> g, std::span<double> h,
                 int threads);

    // `unigrams`: the block's part of the index.
    void add(const Block& block, const Occurrences& unigrams, const BlockRows& rows, Turn& turn);

   private:
    void add_unigrams(const Occurrences& all, std::size_t key, const BlockRows& rows);
    void add_rest(const Block& block, const BlockRows& rows);

    const FeatureSet& features_;
    const UnigramIndex& index_;
    std::span<double> g_, h_;
    const int threads_, n_labels_, stride_;  // Y, Cp
};

}  // namespace sparsecrf
