// Errors that say what was expected, what was found, and where.
#pragma once

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace sparsecrf {

struct InputError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// No label sequence satisfies the constraints.
struct UnsatisfiableError : InputError {
    using InputError::InputError;
};

// A system error about a file.
struct FileError : std::system_error {
    FileError(std::error_code code, std::filesystem::path of) : system_error(code), path(std::move(of)) {}
    std::filesystem::path path;
};

template <class... Parts>
std::string message(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

}  // namespace sparsecrf
