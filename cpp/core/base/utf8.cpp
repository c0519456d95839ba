#include "core/base/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sparsecrf {
namespace {

bool continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// The length of the well-formed character at the start of [p, end), or 0. Table 3-7 of the Unicode standard: the range
// of the second byte excludes overlong forms, surrogates and everything above U+10FFFF.
std::size_t well_formed(const unsigned char* p, const unsigned char* end) {
    const unsigned char lead = p[0];
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                               : lead >= 0xE0 && lead <= 0xEF ? 3
                               : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                              : 0;
    if (length == 0 || static_cast<std::size_t>(end - p) < length) return 0;
    const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high) return 0;
    for (std::size_t k = 2; k < length; ++k) {
        if (!continues(p[k])) return 0;
    }
    return length;
}

}  // namespace

std::size_t utf8_error(std::string_view text) {
    const auto* const begin = reinterpret_cast<const unsigned char*>(text.data());
    const unsigned char* const end = begin + text.size();
    const unsigned char* p = begin;
    while (p < end) {
        if (end - p >= 8) {  // eight ASCII bytes at a time
            std::uint64_t word;
            std::memcpy(&word, p, 8);
            if ((word & 0x8080808080808080ull) == 0) {
                p += 8;
                continue;
            }
        }
        const std::size_t length = well_formed(p, end);
        if (length == 0) return static_cast<std::size_t>(p - begin);
        p += length;
    }
    return std::string_view::npos;
}

std::size_t utf8_length(std::string_view text) {
    std::size_t length = 1;
    if (static_cast<unsigned char>(text[0]) < 0xC0) return length;
    while (length < std::min<std::size_t>(4, text.size()) && continues(static_cast<unsigned char>(text[length]))) {
        ++length;
    }
    return length;
}

Utf8Character utf8_first(std::string_view text) {
    const auto* const p = reinterpret_cast<const unsigned char*>(text.data());
    if (p[0] < 0x80) return {p[0], 1};
    const std::size_t length = well_formed(p, p + text.size());
    if (length == 0) return {Utf8Character::kNone, 1};
    char32_t code = p[0] & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) code = code << 6 | (p[k] & 0x3Fu);
    return {code, length};
}

void append_utf8(char32_t code, std::string& out) {
    const auto add = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    const auto add_rest = [&](int shift) { add(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
        add(code);
    } else if (code < 0x800) {
        add(0xC0 | code >> 6);
        add_rest(0);
    } else if (code < 0x10000) {
        add(0xE0 | code >> 12);
        add_rest(6);
        add_rest(0);
    } else {
        add(0xF0 | code >> 18);
        add_rest(12);
        add_rest(6);
        add_rest(0);
    }
}

std::string_view utf8_prefix(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text;
    while (most > 0 && continues(static_cast<unsigned char>(text[most]))) --most;
    return text.substr(0, most);
}

std::string hex_byte(char byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    const auto value = static_cast<unsigned char>(byte);
    return {'0', 'x', kDigits[value >> 4], kDigits[value & 15]};
}

}  // namespace sparsecrf
