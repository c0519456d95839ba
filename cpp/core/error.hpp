// What went wrong, in the words: expected, found, where.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace sparsecrf {

struct InputError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// No label sequence meets the constraints.
struct UnsatisfiableError : InputError {
    using InputError::InputError;
};

template <class... Parts>
std::string message(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

}  // namespace sparsecrf
