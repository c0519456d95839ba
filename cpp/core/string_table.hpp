// Strings to consecutive 32-bit ids and back; the bytes lie in one arena.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sparsecrf {

class StringTable {
   public:
    std::uint32_t intern(std::string_view text);
    std::optional<std::uint32_t> find(std::string_view text) const;
    std::string_view operator[](std::uint32_t id) const {
        return {bytes_.data() + ptr_[id], static_cast<std::size_t>(ptr_[id + 1] - ptr_[id])};
    }
    std::uint32_t size() const { return static_cast<std::uint32_t>(ptr_.size() - 1); }

   private:
    // The slot that holds `text`, or the free one where it belongs.
    std::size_t slot_of(std::string_view text, std::uint64_t hash) const;
    void grow();

    std::vector<char> bytes_;
    std::vector<std::int64_t> ptr_{0};   // [strings + 1] offsets into bytes_
    std::vector<std::uint32_t> slots_;   // open addressing: id + 1, 0 = free; a power of two
    std::vector<std::uint32_t> hashes_;  // [strings] upper half of the hash
};

}  // namespace sparsecrf
