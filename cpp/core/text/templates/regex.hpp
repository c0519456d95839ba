// The small regular expressions of Wapiti's templates.
//
//   .  any character       \d digit  \a letter  \w letter or digit  \l lower  \u upper  \p punctuation  \s space
//   x  the character x     \D \A \W \L \U \P \S  everything else    \x  the character x without special meaning
//   ^  at the start: the match begins the text        $  at the end: the match ends the text
//   *  the previous character any number of times, non-greedy    ?  the previous character at most once, greedy
//
// Classes contain only ASCII characters. A character is a UTF-8 character or, as in Wapiti itself, a byte. An
// expression has at most 1000 characters and classes in total, and at most 64 repeats. With n characters and classes, a
// search takes at most n steps per character of the text, and memory proportional to n.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsecrf {

class Regex {
   public:
    // An error in an expression and its byte offset.
    struct Error {
        std::size_t at;
        std::string what;
    };

    // Sets `error` if the expression is invalid. `bytes`: every byte is a character.
    Regex(std::string_view expression, std::optional<Error>& error, bool bytes = false);

    // The leftmost match; npos and 0 if nothing matches.
    struct Match {
        std::size_t begin, length;
        bool found;
    };
    Match search(std::string_view text) const;

   private:
    enum class Repeat : char { once, optional, any };
    struct Item {
        char kind;            // '.', a class letter, or 0 for a literal character
        std::string literal;  // kind 0: one character
        Repeat repeat;
    };

    // Length of the first character of `text` if the item matches it, otherwise 0.
    std::size_t step(const Item& item, std::string_view text) const;
    // Length of the first character of `text`.
    std::size_t length_of_first(std::string_view text) const;
    struct Search;

    std::vector<Item> items_;
    std::size_t repeats_ = 0;  // number of items with * or ?
    bool from_start_ = false, to_end_ = false;
    bool bytes_ = false;  // characters are bytes
};

}  // namespace sparsecrf
