// Character class and lower case of code points.
#pragma once

#include <cstdint>

namespace sparsecrf {

// By general category, in this order: Lu and Lt, Ll, other letters, N, P, S, M, everything else.
enum class CharClass : std::uint8_t { upper, lower, letter, number, punctuation, symbol, mark, rest };

CharClass class_of(char32_t code);

// The lower case of a single code point. Only U+0130 maps to two code points, U+0069 and U+0307; this returns the
// first.
char32_t lower_of(char32_t code);

}  // namespace sparsecrf
