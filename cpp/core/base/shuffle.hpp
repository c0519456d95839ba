// Random permutations that are the same on every platform, unlike the results of std::shuffle.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace sparsecrf {

// splitmix64 (Steele, Lea and Flood 2014)
class Splitmix {
   public:
    explicit Splitmix(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

   private:
    std::uint64_t state_;
};

// Fisher-Yates; the result depends only on the seed and the epoch. The remainder of a 64-bit number is uniform to
// within N / 2^64.
inline void shuffle(std::vector<std::int64_t>& order, std::uint64_t seed, std::uint64_t epoch) {
    Splitmix random(Splitmix(seed).next() + epoch);
    for (std::size_t k = order.size(); k > 1; --k) {
        std::swap(order[k - 1], order[static_cast<std::size_t>(random.next() % k)]);
    }
}

}  // namespace sparsecrf
