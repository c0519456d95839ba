#include "core/text/labelling/known_rows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/text/columns.hpp"
#include "core/text/same_text.hpp"

namespace sparsecrf {

// Hashes eight bytes at a time; the last eight may overlap the previous ones.
std::uint64_t KnownRows::hash(std::string_view line) {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ull;
    const char* p = line.data();
    std::size_t n = line.size();
    std::uint64_t h = n * kFactor, word = 0;
    const auto add = [&](std::uint64_t x) {
        h = (h ^ x) * kFactor;
        h ^= h >> 32;
    };
    if (n < 8) {
        for (std::size_t k = 0; k < n; ++k) word = word << 8 | static_cast<unsigned char>(p[k]);
        add(word);
        return h;
    }
    for (; n > 8; n -= 8, p += 8) {
        std::memcpy(&word, p, 8);
        add(word);
    }
    std::memcpy(&word, p + n - 8, 8);
    add(word);
    return h;
}

std::uint32_t KnownRows::find(std::string_view line, std::uint64_t hash) {
    const auto tag = static_cast<std::uint32_t>(hash);
    const std::size_t last = slots_.size() - 1;
    std::size_t at = tag & last;
    for (; slots_[at].row != 0; at = (at + 1) & last) {
        if (slots_[at].tag != tag) continue;
        const Row& row = rows_[slots_[at].row - 1];
        if (same_text(line, {row.line, row.size})) return slots_[at].row - 1;
    }
    add(line);
    slots_[at] = {static_cast<std::uint32_t>(rows_.size()), tag};
    if (2 * rows_.size() > slots_.size()) grow();
    return static_cast<std::uint32_t>(rows_.size()) - 1;
}

void KnownRows::add(std::string_view line) {
    const char* const copy = lines_.copy(line.data(), line.size());
    split_.clear();
    each_column({copy, line.size()}, [&](std::string_view cell) { split_.push_back({cell, TextHash(cell)}); });
    rows_.push_back({copy, static_cast<std::uint32_t>(line.size()), static_cast<std::uint32_t>(split_.size()),
                     cells_.copy(split_.data(), split_.size())});
}

template <class T>
T* KnownRows::Arena<T>::copy(const T* from, std::size_t n) {
    if (n > n_free) {
        n_free = std::max(n, kBlock);
        blocks.push_back(std::make_unique<T[]>(n_free));
        free = blocks.back().get();
    }
    T* const to = std::exchange(free, free + n);
    std::copy_n(from, n, to);
    n_free -= n;
    n_bytes += n * sizeof(T);
    return to;
}

void KnownRows::grow() {
    std::vector<Slot> larger(2 * slots_.size());
    for (const Slot& slot : slots_) {
        if (slot.row == 0) continue;
        std::size_t at = slot.tag & (larger.size() - 1);
        while (larger[at].row != 0) at = (at + 1) & (larger.size() - 1);
        larger[at] = slot;
    }
    slots_.swap(larger);
}

void KnownRows::clear() { *this = {}; }

}  // namespace sparsecrf
