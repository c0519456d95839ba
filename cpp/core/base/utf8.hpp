// UTF-8, byte by byte.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sparsecrf {

// The position of the first byte that is not part of well-formed UTF-8 (RFC 3629); npos if there is none.
std::size_t utf8_error(std::string_view text);

// Length in bytes of the character that starts at text[0]; 1 for a byte that starts none. `text` is not empty.
std::size_t utf8_length(std::string_view text);

// The character that starts at text[0]; a byte that starts none is one by itself, without a code point. `text` is not
// empty.
struct Utf8Character {
    static constexpr char32_t kNone = 0xFFFFFFFF;
    char32_t code;
    std::size_t length;  // in bytes
};
Utf8Character utf8_first(std::string_view text);

// Appends the bytes of a code point.
void append_utf8(char32_t code, std::string& out);

// At most `most` bytes from the beginning of `text`, without splitting a character.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

// "0xC3"
std::string hex_byte(char byte);

}  // namespace sparsecrf
