// Atomic writes of files, as in src/sparsecrf/files/atomic.py.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>

#include "core/base/file_error.hpp"

namespace sparsecrf {

// Written under another name beside its place. `finish` puts it on the disk and then in its place; without that nothing
// is left of it. Every function throws FileError.
class WholeFile {
   public:
    explicit WholeFile(const std::filesystem::path& path);
    ~WholeFile();
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;

    void write(std::span<const std::byte> bytes);
    // Returns to the first byte, for a header that is known last.
    void rewind();
    void finish();

   private:
    [[noreturn]] void fail() const;

    std::filesystem::path path_, temporary_;
    std::FILE* file_;  // null: closed
};

}  // namespace sparsecrf
