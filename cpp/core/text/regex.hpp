// The small regular expressions of Wapiti's templates.
//
//   .  any character       \d digit  \a letter  \w letter or digit  \l lower  \u upper  \p punctuation  \s blank
//   x  the character x     \D \A \W \L \U \P \S  everything else    \x  the character x, whatever it means otherwise
//   ^  at the beginning: the match starts the text    $  at the end: the match ends the text
//   *  the character before it any number of times, as few as will do    ?  the character before it once if it can be
//
// Classes are those of ASCII; a character is one of UTF-8, or a byte, as it is in Wapiti itself. An expression has at
// most 1000 characters and classes and 64 repeats. A search takes at most their number times the length of the text,
// and memory by their number.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsecrf {

class Regex {
   public:
    // What is wrong with an expression, and at which byte of it.
    struct Error {
        std::size_t at;
        std::string what;
    };

    // Sets `error` if the expression is not one. `bytes`: every byte is a character.
    Regex(std::string_view expression, std::optional<Error>& error, bool bytes = false);

    // The first match from the left, npos/0 if there is none.
    struct Match {
        std::size_t begin, length;
        bool found;
    };
    Match search(std::string_view text) const;

   private:
    enum class Repeat : char { once, optional, any };
    struct Item {
        char kind;            // '.', a class letter after a backslash, or 0: the character itself
        std::string literal;  // kind 0: one character
        Repeat repeat;
    };

    // Length of the character at the start of `text` if the item matches it, else 0.
    std::size_t step(const Item& item, std::string_view text) const;
    // Length of that character.
    std::size_t length_of_first(std::string_view text) const;
    struct Search;

    std::vector<Item> items_;
    std::size_t repeats_ = 0;  // items that may match more or less than once
    bool from_start_ = false, to_end_ = false;
    bool bytes_ = false;  // characters are bytes
};

}  // namespace sparsecrf
