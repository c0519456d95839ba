#include "core/base/file_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <system_error>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace sparsecrf {
namespace {

std::size_t checked_size(std::uint64_t size, const std::filesystem::path& path) {
    if (size > std::numeric_limits<std::size_t>::max()) {
        throw FileError(std::make_error_code(std::errc::file_too_large), path);
    }
    return static_cast<std::size_t>(size);
}

}  // namespace

#ifdef _WIN32

namespace {

// Closes a handle at the end of its scope.
struct Handle {
    HANDLE value;
    ~Handle() {
        if (value != nullptr && value != INVALID_HANDLE_VALUE) CloseHandle(value);
    }
};

[[noreturn]] void fail(const std::filesystem::path& path) {
    throw FileError(std::error_code(static_cast<int>(GetLastError()), std::system_category()), path);
}

}  // namespace

// Windows does not allow truncating a mapped file, so no copy is needed.
FileMemory::FileMemory(const std::filesystem::path& path, Kind) {
    const Handle file{CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr)};
    if (file.value == INVALID_HANDLE_VALUE) fail(path);
    LARGE_INTEGER size;
    if (!GetFileSizeEx(file.value, &size)) fail(path);
    if (size.QuadPart == 0) return;  // an empty file cannot be mapped
    const Handle mapping{CreateFileMappingW(file.value, nullptr, PAGE_READONLY, 0, 0, nullptr)};
    if (mapping.value == nullptr) fail(path);
    const void* memory = MapViewOfFile(mapping.value, FILE_MAP_READ, 0, 0, 0);
    if (memory == nullptr) fail(path);
    bytes_ = {static_cast<const std::byte*>(memory), checked_size(static_cast<std::uint64_t>(size.QuadPart), path)};
}

FileMemory::~FileMemory() {
    if (!bytes_.empty()) UnmapViewOfFile(bytes_.data());
}

#else

namespace {

// Closes a file at the end of its scope.
struct Handle {
    int value;
    ~Handle() {
        if (value >= 0) close(value);
    }
};

[[noreturn]] void fail(int code, const std::filesystem::path& path) {
    throw FileError(std::error_code(code, std::generic_category()), path);
}

// Fills `memory` from the file. Returns the number of bytes read, which is smaller if the file was truncated in the
// meantime.
std::size_t read_whole(int file, std::span<std::byte> memory, const std::filesystem::path& path) {
    constexpr std::size_t kAtATime = std::size_t{1} << 30;  // systems read at most about 2 GB per call
    std::size_t done = 0;
    while (done < memory.size()) {
        const ssize_t n = read(file, memory.data() + done, std::min(kAtATime, memory.size() - done));
        if (n < 0 && errno != EINTR) fail(errno, path);
        if (n == 0) break;
        if (n > 0) done += static_cast<std::size_t>(n);
    }
    return done;
}

}  // namespace

FileMemory::FileMemory(const std::filesystem::path& path, Kind kind) {
    const Handle file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.value < 0) fail(errno, path);
    struct stat status;
    if (fstat(file.value, &status) != 0) fail(errno, path);
    if (S_ISDIR(status.st_mode)) fail(EISDIR, path);
    if (!S_ISREG(status.st_mode)) fail(EINVAL, path);
    const std::size_t size = checked_size(static_cast<std::uint64_t>(status.st_size), path);
    if (size == 0) return;  // an empty file cannot be mapped
    if (kind == Kind::kCopy) {
        own_.reset(new std::byte[size]);  // uninitialized
        bytes_ = {own_.get(), read_whole(file.value, {own_.get(), size}, path)};
        return;
    }
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.value, 0);
    if (memory == MAP_FAILED) fail(errno, path);
    bytes_ = {static_cast<const std::byte*>(memory), size};
}

FileMemory::~FileMemory() {
    if (!bytes_.empty() && own_ == nullptr) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

#endif

}  // namespace sparsecrf
