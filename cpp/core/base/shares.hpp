// Which of n shares a number belongs to. Loops whose sums belong to numbers (attributes) give each thread a share: it
// looks at everything and adds up what is its own, in order, so that no sum depends on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sparsecrf {

inline std::size_t share_of(std::uint32_t x, std::size_t n) {
    constexpr std::uint32_t kScatter = 2654435769u;  // neighbours go to different shares
    return n == 1 ? 0 : static_cast<std::size_t>(std::uint64_t{x * kScatter} * n >> 32);
}

// The same for attributes x whose numbers (weights, sums) are side by side in memory: neighbours belong together, since
// lines of the cache that two threads write to go back and forth between their cores.
inline std::size_t share_of_attribute(std::uint32_t x, std::size_t n) {
    constexpr std::uint32_t kTogether = 64;
    return share_of(x / kTogether, n);
}

// Into how many shares sums are divided that several threads add to in turns: each share is a turn of its own, so that
// no thread waits for the whole of what another one adds.
inline std::size_t shares_in_turns(int threads) {
    constexpr int kMost = 8;
    return static_cast<std::size_t>(threads < kMost ? threads : kMost);
}

}  // namespace sparsecrf
