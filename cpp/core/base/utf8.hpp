// Checks, decodes and encodes UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sparsecrf {

// The offset of the first byte that is not part of well-formed UTF-8 (RFC 3629), or npos.
std::size_t utf8_error(std::string_view text);

// Length in bytes of the character at text[0], or 1 if that byte is invalid. `text` must not be empty.
std::size_t utf8_length(std::string_view text);

// The character at text[0]. An invalid byte counts as one character without a code point. `text` must not be empty.
struct Utf8Character {
    static constexpr char32_t kNone = 0xFFFFFFFF;
    char32_t code;
    std::size_t length;  // in bytes
};
Utf8Character utf8_first(std::string_view text);

// Appends a code point.
void append_utf8(char32_t code, std::string& out);

// The longest prefix of at most `most` bytes that does not split a character.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

// "0xC3"
std::string hex_byte(char byte);

}  // namespace sparsecrf
