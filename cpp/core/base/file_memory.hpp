// A file as memory: mapped, so that pages are read when they are needed and dropped when memory is short; or a copy.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/base/file_error.hpp"

namespace sparsecrf {

class FileMemory {
   public:
    // A mapped file must not become shorter: the system ends a process that reads what is gone (SIGBUS), and no program
    // can catch that cleanly while several threads read. What happens to a file does not matter to its copy.
    enum class Kind { kMapped, kCopy };

    // Throws FileError.
    FileMemory(const std::filesystem::path& path, Kind kind);
    ~FileMemory();
    FileMemory(const FileMemory&) = delete;
    FileMemory& operator=(const FileMemory&) = delete;

    std::span<const std::byte> bytes() const { return bytes_; }  // aligned for any type of number

   private:
    std::unique_ptr<std::byte[]> own_;  // null: mapped
    std::span<const std::byte> bytes_;
};

}  // namespace sparsecrf
