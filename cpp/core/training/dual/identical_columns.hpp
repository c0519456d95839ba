// Attributes that occur in the same lists with the same values, so that any sum over their positions is the same.
#pragma once

#include <cstdint>
#include <vector>

#include "core/corpus/list_pool.hpp"

namespace sparsecrf {

// Returns a class for each attribute: attributes have the same class if they have the same class in `given` and occur
// in the same lists with the same values. Classes are numbers below the number of attributes.
std::vector<std::uint32_t> identical_columns(const ListPool& lists, std::vector<std::uint32_t> given);

}  // namespace sparsecrf
