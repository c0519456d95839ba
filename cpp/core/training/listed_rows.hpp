// Some features of a set by attribute, for sums over the positions of a sequence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sparsecrf {

// Those of attribute x are [ptr[x], ptr[x + 1]): y or y' Y + y, ascending, and the place of each among those listed.
struct ListedRows {
    std::vector<std::uint32_t> ptr, cell, place;  // [X + 1], [features], [features]

    // of_set, cells: rows of one kind of feature of a set, whose first feature has the place `offset` in the set.
    // listed: places in the set, ascending.
    template <class Cells>
    void index(const std::vector<std::int64_t>& of_set, const Cells& cells, std::int64_t offset,
               std::span<const std::int64_t> listed) {
        ptr.assign(1, 0);
        auto next = std::lower_bound(listed.begin(), listed.end(), offset);
        for (std::size_t x = 0; x + 1 < of_set.size(); ++x) {
            for (; next != listed.end() && *next < offset + of_set[x + 1]; ++next) {
                cell.push_back(cells[static_cast<std::size_t>(*next - offset)]);
                place.push_back(static_cast<std::uint32_t>(next - listed.begin()));
            }
            ptr.push_back(static_cast<std::uint32_t>(cell.size()));
        }
    }
};

}  // namespace sparsecrf
