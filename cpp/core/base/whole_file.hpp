// Atomic file writes, as in src/sparsecrf/files/atomic.py.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>

#include "core/base/file_error.hpp"

namespace sparsecrf {

// Writes to a temporary file in the same directory. `finish` flushes it to disk and renames it; without `finish` the
// temporary file is removed. Every function throws FileError.
class WholeFile {
   public:
    explicit WholeFile(const std::filesystem::path& path);
    ~WholeFile();
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;

    void write(std::span<const std::byte> bytes);
    // Seeks to the start, to write a header whose content is known last.
    void rewind();
    void finish();

   private:
    [[noreturn]] void fail() const;

    std::filesystem::path path_, temporary_;
    std::FILE* file_;  // null if closed
};

}  // namespace sparsecrf
