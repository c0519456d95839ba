// Numbers in text, whatever the locale of the program.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace sparsecrf {

// The number that `text` is, all of it; nothing if it is none.
inline std::optional<double> parse_number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    if (text.empty() || text[0] == '+') return std::nullopt;
    double value = 0.0;
#ifdef __cpp_lib_to_chars
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
    if (error == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);  // 0 or inf
#else
    const std::string copy(text);
    char* end = nullptr;
    value = std::strtod(copy.c_str(), &end);
    if (end != copy.c_str() + copy.size() || copy[0] == ' ' || (copy[0] >= '\t' && copy[0] <= '\r'))
        return std::nullopt;
#endif
    return value;
}

// `digits` of them after the point, or in all.
enum class Digits { after_point, significant };
inline void append_number(std::string& out, double value, Digits which, int digits) {
    char text[352];  // the largest double has 309 digits before its point
#ifdef __cpp_lib_to_chars
    const auto format = which == Digits::after_point ? std::chars_format::fixed : std::chars_format::general;
    out.append(text, std::to_chars(text, text + sizeof text, value, format, digits).ptr);
#else
    const char* format = which == Digits::after_point ? "%.*f" : "%.*g";
    out.append(text, static_cast<std::size_t>(std::snprintf(text, sizeof text, format, digits, value)));
#endif
}

}  // namespace sparsecrf
