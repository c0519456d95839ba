#pragma once

#include <limits>

namespace sparsecrf {

// The score of an impossible label or label pair is -kInfinity.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace sparsecrf
