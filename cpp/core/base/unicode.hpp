// What kind of character a code point is, and its lower case.
#pragma once

#include <cstdint>

namespace sparsecrf {

// By general category: Lu and Lt, Ll, other letters, N, P, S, M, everything else.
enum class CharClass : std::uint8_t { upper, lower, letter, number, punctuation, symbol, mark, rest };

CharClass class_of(char32_t code);

// The lower case of a code point by itself. That of U+0130, the one that has two code points, is U+0069 and U+0307:
// this gives the first.
char32_t lower_of(char32_t code);

}  // namespace sparsecrf
