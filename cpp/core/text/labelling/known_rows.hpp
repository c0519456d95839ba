// A cache of the rows of column files, keyed by the text of the line. A line that recurs takes one lookup and is
// neither split nor hashed cell by cell.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/prefetch.hpp"
#include "core/base/text_hash.hpp"

namespace sparsecrf {

// Not thread-safe.
class KnownRows {
   public:
    struct Row {
        const char* line;
        std::uint32_t size;  // length of the line
        std::uint32_t n_columns;
        const HashedText* cells;  // views of the line
    };

    // The row number of a line. Rows are numbered in order of first appearance.
    std::uint32_t find(std::string_view line, std::uint64_t hash);
    static std::uint64_t hash(std::string_view line);
    SPARSECRF_PREFETCHES void prefetch(std::uint64_t hash) const {
        sparsecrf::prefetch(&slots_[hash & (slots_.size() - 1)]);
    }
    const Row& operator[](std::uint32_t number) const { return rows_[number]; }
    // Whether the cache has become too large and should be cleared. Lines and cells do not move until then.
    bool full() const { return rows_.size() > kMostRows || lines_.n_bytes + cells_.n_bytes > kMostBytes; }
    void clear();

   private:
    static constexpr std::uint32_t kMostRows = 1 << 15;
    static constexpr std::size_t kMostBytes = 8 << 20;

    struct Slot {
        std::uint32_t row = 0;  // its number plus 1; 0 if free
        std::uint32_t tag = 0;  // part of the hash
    };
    // Memory that never moves.
    template <class T>
    struct Arena {
        static constexpr std::size_t kBlock = (1 << 15) / sizeof(T);
        std::vector<std::unique_ptr<T[]>> blocks;
        T* free = nullptr;  // the next free element, in the last block
        std::size_t n_free = 0, n_bytes = 0;

        T* copy(const T* from, std::size_t n);
    };
    void add(std::string_view line);
    void grow();

    std::vector<Slot> slots_ = std::vector<Slot>(64);  // open addressing; a power of two, at most half full
    std::vector<Row> rows_;
    Arena<char> lines_;
    Arena<HashedText> cells_;
    std::vector<HashedText> split_;  // scratch
};

}  // namespace sparsecrf
