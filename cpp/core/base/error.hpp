// Errors that name the expected value, the actual value and the location.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

namespace sparsecrf {

// One part of a message. Refers to its text, which must outlive the full expression.
using Piece = std::variant<std::string_view, char, std::int64_t, std::uint64_t, double>;

inline Piece piece(std::string_view text) { return text; }
inline Piece piece(char character) { return character; }
inline Piece piece(double number) { return number; }
template <std::signed_integral T>
Piece piece(T number) {
    return std::int64_t{number};
}
template <std::unsigned_integral T>
Piece piece(T number) {
    return std::uint64_t{number};
}

// Concatenates the pieces, formatted as by a stream.
std::string joined(std::initializer_list<Piece> pieces);

// The same for any printable arguments. The work is done in `joined` because this template is compiled for hundreds of
// messages.
template <class... Parts>
std::string message(const Parts&... parts) {
    return joined({piece(parts)...});
}

// Takes the parts of its message.
struct InputError : std::invalid_argument {
    template <class... Parts>
    explicit InputError(const Parts&... parts) : invalid_argument(message(parts...)) {}
};

// No label sequence satisfies the constraints.
struct UnsatisfiableError : InputError {
    using InputError::InputError;
};

}  // namespace sparsecrf
