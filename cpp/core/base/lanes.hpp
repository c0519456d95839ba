// Padding of rows indexed by label.
#pragma once

namespace sparsecrf {

// Rows are padded to a multiple of this many doubles; the padding holds zeros.
inline constexpr int kLanes = 8;

inline int padded(int n_labels) { return (n_labels + kLanes - 1) / kLanes * kLanes; }

}  // namespace sparsecrf
