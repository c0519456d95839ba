// What each attribute adds to the score of a label sequence: a path's score is the sum of v mu[x, y_t] and
// v lambda[x, y_{t-1}, y_t] (DESIGN.md, section 2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"

namespace sparsecrf {

struct Contribution {
    static constexpr std::int32_t kNone = -1;  // as `previous`: the weight is of a label, not of a pair

    std::int64_t position;  // in the sequence
    std::uint32_t attribute;
    std::int32_t previous;  // the label before, Y: the start; or kNone
    std::int32_t label;
    double value, weight;  // their product is what is added; with the weights of parts and classes of the labels
};

// The terms that are not zero of sequence i with these labels, position by position: first those of labels, then those
// of pairs, by attribute; dense columns come after the other attributes. w: [K] of `features`, which have no longer n-grams. labels: [T].
std::vector<Contribution> contributions(const FeatureSet& features, std::span<const double> w, const Corpus& corpus,
                                        std::int64_t i, std::span<const std::int32_t> labels);

}  // namespace sparsecrf
