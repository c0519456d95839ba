#include "core/text/labelling/attribute_filter.hpp"

#include "core/base/text_hash.hpp"

namespace sparsecrf {

AttributeFilter::AttributeFilter(const StringTable& table) {
    constexpr std::uint64_t kBitsAString = 32;  // at most one in 32 missing texts passes
    for (std::uint64_t n = 1; n < kBitsAString * table.size() || n < 64; n *= 2) --shift_;
    bits_.resize((std::size_t{1} << (64 - shift_)) / 64);
    for (std::uint32_t x = 0; x < table.size(); ++x) {
        const std::uint64_t at = bit(TextHash(table[x]).value);
        bits_[at / 64] |= std::uint64_t{1} << at % 64;
    }
}

}  // namespace sparsecrf
