#include "core/base/whole_file.hpp"

#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#ifdef _WIN32
#include <io.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace sparsecrf {
namespace {

// ".name.1234abcd.tmp" in the same directory, the pattern that files/atomic.py uses.
std::filesystem::path beside(const std::filesystem::path& path) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::random_device random;
    std::filesystem::path name(".");
    name += path.filename();
    name += ".";
    for (int k = 0; k < 8; ++k) name += kDigits[random() % 16];
    name += ".tmp";
    return path.parent_path() / name;
}

// The final path of the file: if it is a symbolic link, the target of the link.
std::filesystem::path place(const std::filesystem::path& path) {
    std::error_code code;
    std::filesystem::path target = std::filesystem::weakly_canonical(path, code);
    if (!code && std::filesystem::is_directory(target)) code = std::make_error_code(std::errc::is_a_directory);
    if (!code && std::filesystem::exists(target) && !std::filesystem::is_regular_file(target)) {
        code = std::make_error_code(std::errc::invalid_argument);
    }
    if (code) throw FileError(code, path);
    return target;
}

std::FILE* create(const std::filesystem::path& path) {
#ifdef _WIN32
    return _wfopen(path.c_str(), L"wbx");
#else
    return std::fopen(path.c_str(), "wbx");
#endif
}

bool flush_to_disk(std::FILE* file) {
    if (std::fflush(file) != 0) return false;
#ifdef _WIN32
    return _commit(_fileno(file)) == 0;
#else
    return fsync(fileno(file)) == 0;
#endif
}

// Flushes the directory entry as well. Windows has no equivalent and does not need one.
void flush_directory(const std::filesystem::path& path) {
#ifndef _WIN32
    const int handle = open(path.parent_path().c_str(), O_RDONLY | O_CLOEXEC);
    if (handle < 0) return;
    fsync(handle);
    close(handle);
#else
    (void)path;
#endif
}

}  // namespace

WholeFile::WholeFile(const std::filesystem::path& path)
    : path_(place(path)), temporary_(beside(path_)), file_(create(temporary_)) {
    if (file_ == nullptr) fail();
}

WholeFile::~WholeFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
}

void WholeFile::fail() const { throw FileError(std::error_code(errno, std::generic_category()), path_); }

void WholeFile::write(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;  // the pointer may be null
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
}

void WholeFile::rewind() {
    if (std::fseek(file_, 0, SEEK_SET) != 0) fail();
}

void WholeFile::finish() {
    if (!flush_to_disk(file_)) fail();
    std::FILE* const file = std::exchange(file_, nullptr);
    std::error_code code;
    if (std::fclose(file) != 0) code = std::error_code(errno, std::generic_category());
    if (!code) std::filesystem::rename(temporary_, path_, code);
    if (code) {
        std::error_code ignored;
        std::filesystem::remove(temporary_, ignored);
        throw FileError(code, path_);
    }
    flush_directory(path_);
}

}  // namespace sparsecrf
