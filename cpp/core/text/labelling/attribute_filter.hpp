// A bitmap that rules out most hashes of texts that are not in a table, so that lookups of missing texts rarely read
// the table.
#pragma once

#include <cstdint>
#include <vector>

#include "core/corpus/string_table.hpp"

namespace sparsecrf {

class AttributeFilter {
   public:
    explicit AttributeFilter(const StringTable& table);

    // False only if no text of the table has this hash (TextHash::value).
    bool may_have(std::uint64_t hash) const {
        const std::uint64_t at = bit(hash);
        return (bits_[at / 64] >> at % 64 & 1) != 0;
    }

   private:
    std::uint64_t bit(std::uint64_t hash) const { return hash * 0x9e3779b97f4a7c15ull >> shift_; }

    int shift_ = 64;
    std::vector<std::uint64_t> bits_;  // 2^(64 - shift_) bits
};

}  // namespace sparsecrf
