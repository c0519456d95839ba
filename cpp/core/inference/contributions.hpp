// The contribution of each attribute to the score of a label sequence. The score is the sum of the terms v mu[x, y_t]
// and v lambda[x, y_{t-1}, y_t] (DESIGN.md, section 2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"

namespace sparsecrf {

struct Contribution {
    static constexpr std::int32_t kNone = -1;  // value of `previous` if the weight belongs to a single label

    std::int64_t position;  // position in the sequence
    std::uint32_t attribute;
    std::int32_t previous;  // previous label, Y for the start, or kNone
    std::int32_t label;
    double value, weight;  // the product is added to the score; the weight includes label parts and classes
};

// The nonzero terms of sequence i with these labels, by position. The terms of single labels precede the terms of
// pairs; both are ordered by attribute, and dense columns follow all other attributes. w: [K] weights of `features`,
// which must not contain longer n-grams. labels: [T].
std::vector<Contribution> contributions(const FeatureSet& features, std::span<const double> w, const Corpus& corpus,
                                        std::int64_t i, std::span<const std::int32_t> labels);

}  // namespace sparsecrf
