// The contents of a file in memory: mapped, so that pages are loaded on demand and dropped under memory pressure, or
// copied.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/base/file_error.hpp"

namespace sparsecrf {

class FileMemory {
   public:
    // A mapped file must not be truncated: reading beyond its new end kills the process (SIGBUS), and a program with
    // several threads cannot handle that cleanly. A copy is not affected by later changes of the file.
    enum class Kind { kMapped, kCopy };

    // Throws FileError.
    FileMemory(const std::filesystem::path& path, Kind kind);
    ~FileMemory();
    FileMemory(const FileMemory&) = delete;
    FileMemory& operator=(const FileMemory&) = delete;

    std::span<const std::byte> bytes() const { return bytes_; }  // aligned for any numeric type

   private:
    std::unique_ptr<std::byte[]> own_;  // null if mapped
    std::span<const std::byte> bytes_;
};

}  // namespace sparsecrf
