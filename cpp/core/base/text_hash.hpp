// A hash of text that can be combined from the hashes of its parts.
//
//   H(s) = sum_k s_k B^(n-1-k) mod 2^64,  B odd;     H(a b) = H(a) B^|b| + H(b)
//
// Many attributes contain the same cells, and each cell is hashed only once. Lookups compare the full text, so hash
// collisions cost time but never correctness.
#pragma once

#include <cstdint>
#include <string_view>

namespace sparsecrf {

struct TextHash {
    std::uint64_t value = 0;
    std::uint64_t power = 1;  // B^n

    static constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15ull;

    TextHash() = default;
    explicit TextHash(std::string_view text) {
        constexpr std::uint64_t B = kBase, B2 = B * B, B3 = B2 * B, B4 = B3 * B;
        const auto at = [&](std::size_t k) { return static_cast<std::uint64_t>(static_cast<unsigned char>(text[k])); };
        std::size_t k = 0;
        for (; k + 4 <= text.size(); k += 4) {  // four bytes at a time, with independent products
            value = value * B4 + (at(k) * B3 + at(k + 1) * B2 + (at(k + 2) * B + at(k + 3)));
            power *= B4;
        }
        for (; k < text.size(); ++k) {
            value = value * B + at(k);
            power *= B;
        }
    }

    TextHash& operator+=(const TextHash& next) {
        value = value * next.power + next.value;
        power *= next.power;
        return *this;
    }
    friend TextHash operator+(TextHash first, const TextHash& next) { return first += next; }
};

// A text and its hash.
struct HashedText {
    std::string_view text;
    TextHash hash;
};

}  // namespace sparsecrf
