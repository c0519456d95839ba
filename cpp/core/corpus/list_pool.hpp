// Interned attribute lists: positions with equal lists share one id and everything computed from it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/array.hpp"

namespace sparsecrf {

struct Attribute {
    std::uint32_t id;
    double value;
};

// Sorts by id and sums the values of repeated attributes.
void normalise(std::vector<Attribute>& list);

// A list of attributes whose values are all 1. Any thread may prepare it; a single thread interns it.
struct PlainList {
    std::span<const std::uint32_t> ids;  // ascending
    std::uint64_t hash = 0;              // computed by `prepare`
    bool repeats = false;                // whether any attribute is repeated; its value is then the sum
};

// Sorts the ids.
PlainList prepare(std::span<std::uint32_t> ids);

// Immutable lists. Id 0 is the empty list.
class ListPool {
   public:
    ListPool() : ListPool(std::vector<std::int64_t>{0, 0}, {}, {}) {}
    // Arrays as declared below, from `ListPoolBuilder` or a file.
    ListPool(Array<std::int64_t> ptr, Array<std::uint32_t> id, Array<double> value)
        : ptr_(std::move(ptr)), id_(std::move(id)), value_(std::move(value)) {}

    std::uint32_t size() const { return static_cast<std::uint32_t>(ptr_.size() - 1); }
    std::int64_t n_entries() const { return ptr_.back(); }
    std::int64_t begin(std::uint32_t list) const { return ptr_[list]; }
    std::int64_t end(std::uint32_t list) const { return ptr_[list + 1]; }
    std::int64_t length(std::uint32_t list) const { return end(list) - begin(list); }
    std::uint32_t id(std::int64_t entry) const { return id_[entry]; }
    std::span<const std::uint32_t> of(std::uint32_t list) const {
        return std::span(id_.data(), id_.size()).subspan(begin(list), length(list));
    }
    double value(std::int64_t entry) const { return value_.empty() ? 1.0 : value_[entry]; }
    bool has_values() const { return !value_.empty(); }
    // Calls visit(attribute, value) for the entries of a list.
    template <class Visit>
    void for_each(std::uint32_t list, Visit visit) const {
        for (std::int64_t k = begin(list); k < end(list); ++k) visit(id(k), value(k));
    }

    const Array<std::int64_t>& ptr() const { return ptr_; }
    const Array<std::uint32_t>& ids() const { return id_; }
    const Array<double>& values() const { return value_; }

    // A copy with attribute x renamed to name[x], or removed if name[x] is kDropped. `name` must increase with x among
    // the names below `split` and among the other names; in each list, names below `split` then come first.
    static constexpr std::uint32_t kDropped = 0xffffffffu;
    ListPool renamed(std::span<const std::uint32_t> name, std::uint32_t split, int threads) const;

   private:
    Array<std::int64_t> ptr_;  // [lists + 1]
    Array<std::uint32_t> id_;  // [entries] attribute ids, ascending within a list
    Array<double> value_;      // [entries], or empty if every value is 1
};

// Takes lists one at a time.
class ListPoolBuilder {
   public:
    ListPoolBuilder() {  // id 0 is the empty list
        std::vector<Attribute> none;
        intern(none);
    }

    // Sorts by id, sums the values of repeated attributes, and returns the id of the resulting list.
    std::uint32_t intern(std::vector<Attribute>& list);
    std::uint32_t intern(const PlainList& list);
    // The same, but every nonempty list gets a new id. Do not mix with `intern`.
    std::uint32_t append(std::vector<Attribute>& list);
    std::uint32_t append(const PlainList& list);

    std::uint32_t size() const { return static_cast<std::uint32_t>(ptr_.size() - 1); }

    // Returns the lists without spare capacity. Nothing can be added afterwards.
    ListPool build();

   private:
    // `List`: a span of attributes, or of ids whose values are all 1.
    template <class List>
    std::uint32_t intern(List list, std::uint64_t hash);
    template <class List>
    bool equal(std::uint32_t list, List other) const;
    void grow();
    std::uint32_t push(std::span<const Attribute> list);
    std::uint32_t push(std::span<const std::uint32_t> ids);
    std::uint32_t close_list();

    std::vector<std::int64_t> ptr_{0};  // see ListPool
    std::vector<std::uint32_t> id_;
    std::vector<double> value_;
    std::vector<std::uint32_t> slots_;   // open addressing: list id + 1, 0 if free; the size is a power of two
    std::vector<std::uint64_t> hashes_;  // [lists]
};

}  // namespace sparsecrf
