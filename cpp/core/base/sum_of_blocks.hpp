// Parallel sums. Blocks of fixed size are summed separately and their sums added in order, so that the result is
// bit-identical for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/compensated_sum.hpp"
#include "core/base/parallel.hpp"

namespace sparsecrf {

inline constexpr std::size_t kSumBlock = 1024;  // numbers per block; the blocks of four vectors fit in the L1 cache

// The sum of part(first, n) over all blocks, where n is the length of a block. A thread takes `at_a_time` blocks at a
// time. part may modify its block. `sums`: scratch space.
template <class Part>
double sum_of_blocks(std::size_t size, int threads, int at_a_time, std::vector<double>& sums, Part part) {
    const std::size_t n_blocks = (size + kSumBlock - 1) / kSumBlock;
    sums.resize(n_blocks);
    parallel_for(static_cast<std::int64_t>(n_blocks), threads, at_a_time, [&](int, std::int64_t b) {
        const std::size_t first = static_cast<std::size_t>(b) * kSumBlock;
        sums[static_cast<std::size_t>(b)] = part(first, std::min(kSumBlock, size - first));
    });
    CompensatedSum sum;
    for (const double x : sums) sum.add(x);
    return sum.value();
}

}  // namespace sparsecrf
