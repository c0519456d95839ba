// What macros of a template make of one cell: lower case, affixes, shape, character classes, length.
//
// A character is a code point with the combining marks that follow it; its class is that of the code point
// (core/base/unicode.hpp). The plain twin is src/sparsecrf/reference/word_functions.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text_hash.hpp"
#include "core/text/columns.hpp"

namespace sparsecrf {

struct WordFunction {
    // l: in lower case    p, s: the first, the last n characters    h: the shape, runs of a class at most n long (0: any)
    // c: the classes that occur    n: the number of characters
    char letter;
    bool lower = false;       // p, s: of the cell in lower case
    std::int64_t column = 0;  // of the cells
    std::int64_t n = 0;

    bool operator==(const WordFunction&) const = default;
    // Appends its value.
    void append(std::string_view cell, std::string& out) const;
};

// The values of functions at every row of a sequence, each computed once, however many lines of the template need it.
class WordValues {
   public:
    void compute(const std::vector<WordFunction>& functions, const Rows& rows);

    std::string_view text(std::int64_t row, std::int64_t function) const { return texts_[row * size_ + function]; }
    const TextHash& hash(std::int64_t row, std::int64_t function) const { return hashes_[row * size_ + function]; }

   private:
    std::int64_t size_ = 0;                // F functions
    std::string bytes_;                    // of all values
    std::vector<std::size_t> ends_;        // [T, F] of each value in them
    std::vector<std::string_view> texts_;  // [T, F]
    std::vector<TextHash> hashes_;         // [T, F]
};

}  // namespace sparsecrf
