#include "core/corpus/list_pool.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/bits.hpp"
#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/parallel.hpp"

namespace sparsecrf {
namespace {

// Stable. Most lists are short, and for these insertion is fastest: std::stable_sort takes memory for itself.
void sort_by_id(std::span<Attribute> list) {
    constexpr std::size_t kShort = 48;
    const auto by_id = [](const Attribute& a, const Attribute& b) { return a.id < b.id; };
    if (list.size() > kShort) {
        std::stable_sort(list.begin(), list.end(), by_id);
        return;
    }
    for (std::size_t k = 1; k < list.size(); ++k) {
        const Attribute moved = list[k];
        std::size_t place = k;
        for (; place > 0 && moved.id < list[place - 1].id; --place) list[place] = list[place - 1];
        list[place] = moved;
    }
}

std::uint64_t hash(std::span<const Attribute> list) {
    std::uint64_t h = list.size();
    const auto add = [&](std::uint64_t word) {
        h = (h ^ word) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 32;
    };
    for (const Attribute& a : list) {
        add(a.id);
        if (a.value != 1.0) add(bits_as<std::uint64_t>(a.value));
    }
    return mix(h);
}

}  // namespace

void normalise(std::vector<Attribute>& list) {
    sort_by_id(list);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < list.size(); ++k) {
        if (kept > 0 && list[kept - 1].id == list[k].id) {
            list[kept - 1].value += list[k].value;
        } else {
            list[kept++] = list[k];
        }
    }
    list.resize(kept);
}

bool ListPoolBuilder::equal(std::uint32_t list, std::span<const Attribute> other) const {
    const auto first = static_cast<std::size_t>(ptr_[list]);
    if (static_cast<std::size_t>(ptr_[list + 1]) - first != other.size()) return false;
    for (std::size_t k = 0; k < other.size(); ++k) {
        if (id_[first + k] != other[k].id || (value_.empty() ? 1.0 : value_[first + k]) != other[k].value) return false;
    }
    return true;
}

void ListPoolBuilder::grow() {
    slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), 0);
    for (std::uint32_t list = 0; list < hashes_.size(); ++list) {
        std::size_t slot = hashes_[list] & (slots_.size() - 1);
        while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = list + 1;
    }
}

std::uint32_t ListPoolBuilder::intern(std::vector<Attribute>& list) {
    normalise(list);
    if (2 * (hashes_.size() + 1) > slots_.size()) grow();
    const std::uint64_t h = hash(list);
    std::size_t slot = h & (slots_.size() - 1);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
        const std::uint32_t found = slots_[slot] - 1;
        if (hashes_[found] == h && equal(found, list)) return found;
    }
    const std::uint32_t made = push(list);
    slots_[slot] = made + 1;
    hashes_.push_back(h);
    return made;
}

std::uint32_t ListPoolBuilder::append(std::vector<Attribute>& list) {
    normalise(list);
    return list.empty() ? 0 : push(list);
}

std::uint32_t ListPoolBuilder::push(std::span<const Attribute> list) {
    if (size() == 0xfffffffeu) throw InputError("too many distinct attribute lists: at most 2^32 - 2");
    const std::uint32_t made = size();
    for (const Attribute& a : list) {
        if (a.value != 1.0 && value_.empty()) value_.assign(id_.size(), 1.0);
        id_.push_back(a.id);
        if (!value_.empty() || a.value != 1.0) value_.push_back(a.value);
    }
    ptr_.push_back(static_cast<std::int64_t>(id_.size()));
    return made;
}

ListPool ListPoolBuilder::build() {
    slots_ = {};
    hashes_ = {};
    ptr_.shrink_to_fit();
    id_.shrink_to_fit();
    value_.shrink_to_fit();
    return {std::move(ptr_), std::move(id_), std::move(value_)};
}

ListPool ListPool::renamed(std::span<const std::uint32_t> name, std::uint32_t split, int threads) const {
    constexpr std::int64_t kListsAtOnce = 1024;
    const std::int64_t n_chunks = (size() + kListsAtOnce - 1) / kListsAtOnce;
    const auto each_chunk = [&](auto visit) {  // visit(list)
        parallel_for(n_chunks, threads, 1, [&](int, std::int64_t chunk) {
            const std::int64_t end = std::min<std::int64_t>((chunk + 1) * kListsAtOnce, size());
            for (std::int64_t list = chunk * kListsAtOnce; list < end; ++list) visit(static_cast<std::uint32_t>(list));
        });
    };
    std::vector<std::int64_t> ptr(ptr_.size(), 0);
    each_chunk([&](std::uint32_t list) {
        const auto kept = [&](std::uint32_t x) { return name[x] != kDropped; };
        ptr[list + 1] = std::count_if(id_.begin() + begin(list), id_.begin() + end(list), kept);
    });
    std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
    std::vector<std::uint32_t> ids(static_cast<std::size_t>(ptr.back()));
    std::vector<double> values(has_values() ? ids.size() : 0);
    each_chunk([&](std::uint32_t list) {
        auto next = static_cast<std::size_t>(ptr[list]);
        for (const bool early : {true, false}) {
            for (std::int64_t k = begin(list); k < end(list); ++k) {
                const std::uint32_t called = name[id(k)];
                if (called == kDropped || (called < split) != early) continue;
                ids[next] = called;
                if (has_values()) values[next] = value(k);
                ++next;
            }
        }
    });
    return {std::move(ptr), std::move(ids), std::move(values)};
}

}  // namespace sparsecrf
