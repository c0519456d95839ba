// Interned attribute lists: positions with the same list share one id, and everything computed from it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sparsecrf {

struct Attribute {
    std::uint32_t id;
    double value;
};

class ListPool {
   public:
    ListPool() {  // id 0 is the empty list
        std::vector<Attribute> none;
        intern(none);
    }

    // Sorts by id, adds up the values of a repeated attribute, and returns the id of the resulting list.
    std::uint32_t intern(std::vector<Attribute>& list);
    // The same, but every list that is not empty gets an id of its own; not to be mixed with `intern`.
    std::uint32_t append(std::vector<Attribute>& list);

    std::uint32_t size() const { return static_cast<std::uint32_t>(ptr_.size() - 1); }
    std::int64_t n_entries() const { return ptr_.back(); }
    std::int64_t begin(std::uint32_t list) const { return ptr_[list]; }
    std::int64_t end(std::uint32_t list) const { return ptr_[list + 1]; }
    std::uint32_t id(std::int64_t entry) const { return id_[entry]; }
    double value(std::int64_t entry) const { return value_.empty() ? 1.0 : value_[entry]; }
    bool has_values() const { return !value_.empty(); }

    // The same lists, attribute x called name[x], or left out where that is kDropped. Lists stay sorted.
    static constexpr std::uint32_t kDropped = 0xffffffffu;
    ListPool renamed(std::span<const std::uint32_t> name) const;

    // Drops the hash table and spare capacity; no list can be added afterwards.
    void freeze();

   private:
    bool equal(std::uint32_t list, std::span<const Attribute> other) const;
    void grow();
    std::uint32_t push(std::span<const Attribute> list);

    std::vector<std::int64_t> ptr_{0};   // [lists + 1]
    std::vector<std::uint32_t> id_;      // [entries] attribute ids, ascending within a list
    std::vector<double> value_;          // [entries], or empty while every value is 1
    std::vector<std::uint32_t> slots_;   // open addressing: list id + 1, 0 = free; a power of two
    std::vector<std::uint64_t> hashes_;  // [lists]
};

}  // namespace sparsecrf
