#pragma once

#include <filesystem>
#include <system_error>
#include <utility>

namespace sparsecrf {

// A system error that concerns a file.
struct FileError : std::system_error {
    FileError(std::error_code code, std::filesystem::path of) : system_error(code), path(std::move(of)) {}
    std::filesystem::path path;
};

}  // namespace sparsecrf
