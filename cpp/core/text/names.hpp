// Maps names to ids.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/corpus/string_table.hpp"

namespace sparsecrf {

// Looks up names, or assigns ids to new ones.
class Names {
   public:
    Names(std::shared_ptr<const StringTable> table) : table_(std::move(table)) {}
    Names(std::shared_ptr<StringTable> table, bool grow) : table_(table), growing_(grow ? table : nullptr) {}

    static constexpr std::int64_t kUnknown = -1;
    std::int64_t id(std::span<const std::string_view> parts, const TextHash& hash) const {
        if (growing_) return growing_->intern(parts, hash);
        const auto found = table_->find(parts, hash);
        return found ? static_cast<std::int64_t>(*found) : kUnknown;
    }
    std::int64_t id(std::string_view name) const { return id({&name, 1}, TextHash(name)); }
    std::int64_t size() const { return table_->size(); }
    const StringTable& table() const { return *table_; }
    // Returns the table if new names get an id, otherwise null.
    StringTable* growing() const { return growing_.get(); }

   private:
    std::shared_ptr<const StringTable> table_;
    std::shared_ptr<StringTable> growing_;  // null means lookups only
};

}  // namespace sparsecrf
