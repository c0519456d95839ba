// All feature families. To add one, write a class as in family.hpp and add it to the list in families.cpp.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/training/families/family.hpp"

namespace sparsecrf {

// The families used by the set, in the order in which they must finish: label n-grams add to the pair features after
// these have finished. Blocks are added in reverse order, because pairs overwrite the rows.
std::vector<std::unique_ptr<Family>> make_families(SetTables& tables);

// Computes the weighted empirical counts C of all features.  weights: [N], counts: [K]
void count_features(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                    std::span<double> counts);

}  // namespace sparsecrf
