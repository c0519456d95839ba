// A file as memory. Its pages are read when they are needed and dropped when memory is short.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace sparsecrf {

class MappedFile {
   public:
    // Throws FileError. The file must not become shorter while it is mapped: no system lets a program catch that.
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return bytes_; }  // begins at a page

   private:
    std::span<const std::byte> bytes_;
};

}  // namespace sparsecrf
