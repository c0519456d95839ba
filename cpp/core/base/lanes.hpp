// How rows of numbers by label are padded.
#pragma once

namespace sparsecrf {

// Label counts are padded to a multiple of this many doubles; padded cells hold zeros.
inline constexpr int kLanes = 8;

inline int padded(int n_labels) { return (n_labels + kLanes - 1) / kLanes * kLanes; }

}  // namespace sparsecrf
