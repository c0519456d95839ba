// What forward-backward leaves of a block of a pass, for code that sums over its positions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/inference/lattice.hpp"

namespace sparsecrf {

// Row r of item k is lattice k's position r - first row of k.
struct BlockRows {
    AlignedVector<double> alpha, v, p;    // [rows, Yp]; v scaled by the item's weight unless logarithmic
    std::vector<double> weight;           // [rows] of the item
    std::vector<std::uint32_t> item;      // [rows] index into lattices
    std::vector<Lattice> lattices;        // [items of the block]
    std::vector<std::int64_t> first_row;  // [items of the block]
};

}  // namespace sparsecrf
