// Errors that name the expected value, the actual value and the location.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sparsecrf {

struct InputError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// No label sequence satisfies the constraints.
struct UnsatisfiableError : InputError {
    using InputError::InputError;
};

// One part of a message. Refers to its text, which must outlive the full expression.
class Piece {
   public:
    Piece(std::string_view text) : kind_(Kind::text), text_(text) {}
    Piece(const std::string& text) : Piece(std::string_view(text)) {}
    Piece(const char* text) : Piece(std::string_view(text)) {}
    Piece(char character) : kind_(Kind::character), character_(character) {}
    Piece(double number) : kind_(Kind::real), real_(number) {}
    template <std::signed_integral T>
    Piece(T number) : kind_(Kind::whole), whole_(number) {}
    template <std::unsigned_integral T>
    Piece(T number) : kind_(Kind::natural), natural_(number) {}

   private:
    friend std::string joined(std::initializer_list<Piece> pieces);
    enum class Kind { text, character, whole, natural, real };

    Kind kind_;
    union {
        std::string_view text_;
        char character_;
        std::int64_t whole_;
        std::uint64_t natural_;
        double real_;
    };
};

// Concatenates the pieces, formatted as by a stream.
std::string joined(std::initializer_list<Piece> pieces);

// The same for any printable arguments. The work is done in `joined` because this template is compiled for hundreds of
// messages.
template <class... Parts>
std::string message(const Parts&... parts) {
    return joined({Piece(parts)...});
}

}  // namespace sparsecrf
