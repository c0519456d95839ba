// Groups of attributes that never meet at a position, as those of one template do: their weights can be updated
// together after one pass over the data.
#pragma once

#include <cstdint>
#include <vector>

#include "core/corpus/corpus.hpp"

namespace sparsecrf {

inline constexpr int kMaxGroups = 64;

// [X] the group of each attribute. Frequent attributes choose first, each the lowest group that none of its positions
// has yet. What finds all groups taken goes into the last one, where attributes may meet.
std::vector<std::uint8_t> disjoint_groups(const Corpus& corpus);

// [X] the number of sequences that hold each attribute.
std::vector<std::int64_t> sequences_by_attribute(const Corpus& corpus);

}  // namespace sparsecrf
