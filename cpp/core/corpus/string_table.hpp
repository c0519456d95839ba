// Strings to consecutive 32-bit ids and back; the bytes lie in one arena.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/hash.hpp"
#include "core/base/text_hash.hpp"

namespace sparsecrf {

class StringTable {
   public:
    std::uint32_t intern(std::string_view text) { return intern({&text, 1}, TextHash(text)); }
    std::optional<std::uint32_t> find(std::string_view text) const { return find({&text, 1}, TextHash(text)); }
    // The same for a text in parts, whose hash is known.
    std::uint32_t intern(std::span<const std::string_view> parts, const TextHash& hash);
    std::optional<std::uint32_t> find(std::span<const std::string_view> parts, const TextHash& hash) const;
    // Fetches the memory that a look-up of this hash begins with.
    void prefetch(const TextHash& hash) const {
#if defined(__GNUC__) || defined(__clang__)
        if (!slots_.empty()) __builtin_prefetch(&slots_[mix(hash.value) & (slots_.size() - 1)]);
#else
        (void)hash;
#endif
    }
    std::string_view operator[](std::uint32_t id) const {
        return {bytes_.data() + ptr_[id], static_cast<std::size_t>(ptr_[id + 1] - ptr_[id])};
    }
    std::uint32_t size() const { return static_cast<std::uint32_t>(ptr_.size() - 1); }

    StringTable() = default;
    // Distinct strings by id: string k is bytes[ptr[k]] .. bytes[ptr[k + 1] - 1]. Throws if the offsets do not fit, or
    // a string is not UTF-8 or occurs twice.
    StringTable(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> ptr);
    std::span<const char> bytes() const { return bytes_; }
    std::span<const std::int64_t> ptr() const { return ptr_; }

   private:
    // The slot that holds the text, or the free one where it belongs.
    std::size_t slot_of(std::span<const std::string_view> parts, std::uint64_t hash) const;
    void grow();

    std::vector<char> bytes_;
    std::vector<std::int64_t> ptr_{0};  // [strings + 1] offsets into bytes_
    struct Slot {
        std::uint32_t id = 0;    // of the string, plus 1; 0: free
        std::uint32_t high = 0;  // upper half of its hash, so that most others are told apart without a look at them
    };
    std::vector<Slot> slots_;  // open addressing; a power of two, at most half of it taken
};

}  // namespace sparsecrf
