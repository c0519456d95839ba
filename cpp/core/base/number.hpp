// Parses and formats numbers independently of the locale.
#pragma once

#include <charconv>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

// libc++ has supported from_chars and to_chars for doubles since version 20 but has no feature macro for this. On
// macOS, the system's library may be older than the compiler.
#if defined(__cpp_lib_to_chars) || (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 200000 && !defined(__APPLE__))
#define SPARSECRF_CHARCONV
#elif defined(__APPLE__)
#include <xlocale.h>
#define SPARSECRF_STRTOD(text, end) strtod_l(text, end, nullptr)  // nullptr is the C locale
#define SPARSECRF_SNPRINTF(out, size, ...) snprintf_l(out, size, nullptr, __VA_ARGS__)
#else
#define SPARSECRF_STRTOD(text, end) std::strtod(text, end)
#define SPARSECRF_SNPRINTF(out, size, ...) std::snprintf(out, size, __VA_ARGS__)
#endif

namespace sparsecrf {

// Replaces the decimal point with the separator that strtod expects in the current locale.
inline std::string with_point_of_locale(std::string_view text) {
    std::string copy(text);
    if (const auto dot = copy.find('.'); dot != std::string::npos) {
        copy.replace(dot, 1, std::localeconv()->decimal_point);
    }
    return copy;
}

// The value of the text if all of it is a number, otherwise nullopt.
inline std::optional<double> parse_number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    if (text.empty() || text[0] == '+') return std::nullopt;
    double value = 0.0;
#ifdef SPARSECRF_CHARCONV
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
    if (error == std::errc::result_out_of_range) value = std::strtod(with_point_of_locale(text).c_str(), nullptr);
#else
#if defined(__APPLE__)
    const std::string copy(text);
#else
    const std::string copy = with_point_of_locale(text);
#endif
    if (copy.find_first_of("xX \t\n\v\f\r") != std::string::npos) return std::nullopt;  // strtod accepts these
    char* end = nullptr;
    value = SPARSECRF_STRTOD(copy.c_str(), &end);
    if (end != copy.c_str() + copy.size()) return std::nullopt;
#endif
    return value;
}

// The digits to count: those after the point, or all significant digits.
enum class Digits { after_point, significant };
inline void append_number(std::string& out, double value, Digits which, int digits) {
    char text[352];  // the largest double has 309 digits before the point
#ifdef SPARSECRF_CHARCONV
    const auto format = which == Digits::after_point ? std::chars_format::fixed : std::chars_format::general;
    out.append(text, std::to_chars(text, text + sizeof text, value, format, digits).ptr);
#else
    const char* format = which == Digits::after_point ? "%.*f" : "%.*g";
    out.append(text, static_cast<std::size_t>(SPARSECRF_SNPRINTF(text, sizeof text, format, digits, value)));
#endif
}

}  // namespace sparsecrf
