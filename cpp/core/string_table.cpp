#include "string_table.hpp"

#include <algorithm>
#include <cstring>

#include "error.hpp"
#include "hash.hpp"

namespace sparsecrf {
namespace {

std::uint64_t hash(std::string_view text) {
    std::uint64_t h = text.size();
    std::size_t k = 0;
    for (; k + 8 <= text.size(); k += 8) {
        std::uint64_t word;
        std::memcpy(&word, text.data() + k, 8);
        h = mix(h ^ word);
    }
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + k, text.size() - k);
    return mix(h ^ word);
}

}  // namespace

std::size_t StringTable::slot_of(std::string_view text, std::uint64_t hash) const {
    const auto high = static_cast<std::uint32_t>(hash >> 32);
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
        const std::uint32_t id = slots_[slot] - 1;
        if (hashes_[id] == high && (*this)[id] == text) break;
    }
    return slot;
}

void StringTable::grow() {
    slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), 0);
    for (std::uint32_t id = 0; id < size(); ++id) {
        std::size_t slot = hash((*this)[id]) & (slots_.size() - 1);
        while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = id + 1;
    }
}

std::uint32_t StringTable::intern(std::string_view text) {
    if (2 * (static_cast<std::size_t>(size()) + 1) > slots_.size()) grow();
    const std::uint64_t h = hash(text);
    const std::size_t slot = slot_of(text, h);
    if (slots_[slot] != 0) return slots_[slot] - 1;
    if (size() == 0x7fffffffu) throw InputError("too many distinct strings: at most 2^31 - 1");
    const std::uint32_t id = size();
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    ptr_.push_back(static_cast<std::int64_t>(bytes_.size()));
    hashes_.push_back(static_cast<std::uint32_t>(h >> 32));
    slots_[slot] = id + 1;
    return id;
}

std::optional<std::uint32_t> StringTable::find(std::string_view text) const {
    if (slots_.empty()) return std::nullopt;
    const std::size_t slot = slot_of(text, hash(text));
    if (slots_[slot] == 0) return std::nullopt;
    return slots_[slot] - 1;
}

}  // namespace sparsecrf
