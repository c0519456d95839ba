// Groups of attributes that never occur at the same position, e.g. the attributes of one template line, so that their
// weights can be updated together after one pass over the data.
#pragma once

#include <cstdint>
#include <vector>

#include "core/corpus/corpus.hpp"

namespace sparsecrf {

inline constexpr int kMaxGroups = 64;

// [X] the group of each attribute. Greedy coloring: attributes are visited from most to least frequent, and each
// attribute gets the lowest group that is still free at all its positions. If no group is free, the attribute gets the
// last group, where attributes may share positions.
std::vector<std::uint8_t> disjoint_groups(const Corpus& corpus);

// [X] the number of sequences that contain each attribute.
std::vector<std::int64_t> sequences_by_attribute(const Corpus& corpus);

}  // namespace sparsecrf
