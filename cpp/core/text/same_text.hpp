#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sparsecrf {

// Whether two texts are equal. Inlined because, for short texts, a call would take longer than the comparison.
inline bool same_text(std::string_view a, std::string_view b) {
    const std::size_t n = a.size();
    if (n != b.size()) return false;
    const auto differ = [&](auto x, std::size_t at) {
        auto y = x;
        std::memcpy(&x, a.data() + at, sizeof x);
        std::memcpy(&y, b.data() + at, sizeof y);
        return x != y;
    };
    if (n < 4) return std::equal(a.begin(), a.end(), b.begin());
    if (n < 8) return !differ(std::uint32_t{}, 0) && !differ(std::uint32_t{}, n - 4);
    for (std::size_t k = 0; k + 8 < n; k += 8) {
        if (differ(std::uint64_t{}, k)) return false;
    }
    return !differ(std::uint64_t{}, n - 8);
}

}  // namespace sparsecrf
