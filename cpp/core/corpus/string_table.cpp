#include "core/corpus/string_table.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/utf8.hpp"

namespace sparsecrf {

bool equals(std::string_view text, std::span<const std::string_view> parts) {
    for (const std::string_view part : parts) {
        if (!text.starts_with(part)) return false;
        text.remove_prefix(part.size());
    }
    return text.empty();
}

void StringTable::grow() {
    std::vector<Slot> larger(std::max<std::size_t>(16, 2 * slots_.size()));
    for (const Slot& taken : slots_) {
        if (taken.id == 0) continue;
        std::size_t slot = taken.tag & (larger.size() - 1);
        while (larger[slot].id != 0) slot = (slot + 1) & (larger.size() - 1);
        larger[slot] = taken;
    }
    slots_.swap(larger);
}

std::uint32_t StringTable::intern(std::span<const std::string_view> parts, const TextHash& hash) {
    if (2 * (static_cast<std::size_t>(size()) + 1) > slots_.size()) grow();
    const std::uint32_t tag = tag_of(hash.value);
    Slot& slot = slots_[slot_of(tag, [&](std::string_view text) { return equals(text, parts); })];
    if (slot.id != 0) return slot.id - 1;
    if (size() == 0x7fffffffu) throw InputError("too many distinct strings: at most 2^31 - 1");
    const std::uint32_t id = size();
    const std::size_t before = bytes_.size();
    ptr_.push_back(0);
    try {
        for (const std::string_view part : parts) bytes_.insert(bytes_.end(), part.begin(), part.end());
    } catch (...) {  // out of memory: leave the table unchanged
        bytes_.resize(before);
        ptr_.pop_back();
        throw;
    }
    ptr_.back() = static_cast<std::int64_t>(bytes_.size());
    slot = {id + 1, tag};
    return id;
}

std::optional<std::uint32_t> StringTable::find(std::span<const std::string_view> parts, const TextHash& hash) const {
    return find_if(hash.value, [&](std::string_view text) { return equals(text, parts); });
}

StringTable::StringTable(std::span<const std::uint8_t> bytes, std::span<const std::int64_t> ptr) {
    const auto end = static_cast<std::int64_t>(bytes.size());
    if (ptr.empty() || ptr.front() != 0 || ptr.back() != end) {
        throw InputError("expected offsets of strings from 0 to ", end, ", found ",
                         ptr.empty() ? "none" : message(ptr.front(), " to ", ptr.back()));
    }
    for (std::size_t k = 0; k + 1 < ptr.size(); ++k) {
        if (ptr[k] > ptr[k + 1] || ptr[k + 1] > end) {
            throw InputError("string ", k, ": expected ascending offsets up to ", end, ", found ", ptr[k], " before ",
                             ptr[k + 1]);
        }
    }
    bytes_.reserve(bytes.size());
    ptr_.reserve(ptr.size());
    while (slots_.size() < 2 * ptr.size()) grow();
    const char* first = reinterpret_cast<const char*>(bytes.data());
    for (std::size_t k = 0; k + 1 < ptr.size(); ++k) {
        const std::string_view text(first + ptr[k], static_cast<std::size_t>(ptr[k + 1] - ptr[k]));
        if (const std::size_t at = utf8_error(text); at != std::string_view::npos) {
            throw InputError("string ", k, ": expected UTF-8, found byte ", hex_byte(text[at]));
        }
        const std::uint32_t id = intern(text);
        if (id != k) throw InputError("expected distinct strings, found '", text, "' as ", id, " and ", k);
    }
}

}  // namespace sparsecrf
