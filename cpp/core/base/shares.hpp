// Assigns numbers to n shares. In loops that sum by number (e.g. attribute), each thread owns one share: it reads all
// the data but adds only the terms of its own share, in order. The sums then do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sparsecrf {

inline std::size_t share_of(std::uint32_t x, std::size_t n) {
    constexpr std::uint32_t kScatter = 2654435769u;  // neighbours go to different shares
    return n == 1 ? 0 : static_cast<std::size_t>(std::uint64_t{x * kScatter} * n >> 32);
}

// The same for attributes x whose data (weights, sums) are adjacent in memory: neighbours stay in one share, because a
// cache line written by two threads would bounce between their cores.
inline std::size_t share_of_attribute(std::uint32_t x, std::size_t n) {
    constexpr std::uint32_t kTogether = 64;
    return share_of(x / kTogether, n);
}

// The number of shares for sums that several threads add to in turns (in_turns.hpp). Each share is a separate turn, so
// a thread does not have to wait until another has added everything.
inline std::size_t shares_in_turns(int threads) {
    constexpr int kMost = 8;
    return static_cast<std::size_t>(threads < kMost ? threads : kMost);
}

}  // namespace sparsecrf
