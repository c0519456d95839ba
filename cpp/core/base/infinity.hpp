#pragma once

#include <limits>

namespace sparsecrf {

// As a score, -kInfinity is that of an impossible label or label pair.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace sparsecrf
