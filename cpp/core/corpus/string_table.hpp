// Maps strings to consecutive 32-bit ids and back; the bytes are stored in one arena.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/hash.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/text_hash.hpp"

namespace sparsecrf {

class StringTable {
   public:
    std::uint32_t intern(std::string_view text) { return intern({&text, 1}, TextHash(text)); }
    std::optional<std::uint32_t> find(std::string_view text) const { return find({&text, 1}, TextHash(text)); }
    // `intern` and `find` for a text that is given in parts and whose hash is known.
    std::uint32_t intern(std::span<const std::string_view> parts, const TextHash& hash);
    std::optional<std::uint32_t> find(std::span<const std::string_view> parts, const TextHash& hash) const;
    // `find` for a text that need not exist in memory: same(other) returns whether it equals `other`.
    template <class Same>
    std::optional<std::uint32_t> find_if(std::uint64_t hash, Same same) const {
        if (slots_.empty()) return std::nullopt;
        const std::uint32_t id = slots_[slot_of(tag_of(hash), same)].id;
        if (id == 0) return std::nullopt;
        return id - 1;
    }
    // Three functions that prefetch the memory for a lookup of this hash (TextHash::value): the slot, the offsets and
    // the bytes. Call them in this order, some time apart.
    SPARSECRF_PREFETCHES void prefetch(std::uint64_t hash) const {
        if (!slots_.empty()) sparsecrf::prefetch(&slots_[tag_of(hash) & (slots_.size() - 1)]);
    }
    SPARSECRF_PREFETCHES void prefetch_offset(std::uint64_t hash) const {
        if (const std::uint32_t id = likely(hash); id != 0) sparsecrf::prefetch(&ptr_[id - 1]);
    }
    SPARSECRF_PREFETCHES void prefetch_text(std::uint64_t hash) const {
        if (const std::uint32_t id = likely(hash); id != 0) sparsecrf::prefetch(bytes_.data() + ptr_[id - 1]);
    }
    std::string_view operator[](std::uint32_t id) const {
        return {bytes_.data() + ptr_[id], static_cast<std::size_t>(ptr_[id + 1] - ptr_[id])};
    }
    std::uint32_t size() const { return static_cast<std::uint32_t>(ptr_.size() - 1); }

    StringTable() = default;
    // Distinct strings by id: string k is bytes[ptr[k]] .. bytes[ptr[k + 1] - 1]. Throws if the offsets are invalid, or
    // if a string is not UTF-8 or occurs twice.
    StringTable(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> ptr);
    std::span<const char> bytes() const { return bytes_; }
    std::span<const std::int64_t> ptr() const { return ptr_; }

   private:
    // The lowest bits of the tag choose the slot, so the table can grow without reading the texts.
    struct Slot {
        std::uint32_t id = 0;   // id of the string plus 1; 0 if free
        std::uint32_t tag = 0;  // part of the hash; only one in 2^32 other texts has the same tag and must be read
    };
    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(mix(hash) >> 32); }
    // The slot of the text with this tag for which same(text) holds, or the free slot for it.
    template <class Same>
    std::size_t slot_of(std::uint32_t tag, Same same) const {
        const std::size_t last = slots_.size() - 1;
        std::size_t slot = tag & last;
        for (; slots_[slot].id != 0; slot = (slot + 1) & last) {
            if (slots_[slot].tag == tag && same((*this)[slots_[slot].id - 1])) break;
        }
        return slot;
    }
    // The id plus 1 of the first string with this tag, nearly always the only one; 0 if no string has it.
    std::uint32_t likely(std::uint64_t hash) const {
        if (slots_.empty()) return 0;
        return slots_[slot_of(tag_of(hash), [](std::string_view) { return true; })].id;
    }
    void grow();

    std::vector<char> bytes_;
    std::vector<std::int64_t> ptr_{0};  // [strings + 1] offsets into bytes_
    std::vector<Slot> slots_;           // open addressing; the size is a power of two, at most half full
};

// Whether the concatenated parts equal `text`.
bool equals(std::string_view text, std::span<const std::string_view> parts);

}  // namespace sparsecrf
