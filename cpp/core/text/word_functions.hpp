// What macros of a template make of one cell: lower case, affixes, shape, character classes, length; look-ups.
//
// A character is a code point with the combining marks that follow it; its class is that of the code point
// (core/base/unicode.hpp). The plain twin is src/sparsecrf/reference/word_functions.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text_hash.hpp"
#include "core/text/columns.hpp"
#include "core/text/resource.hpp"

namespace sparsecrf {

struct WordFunction {
    // l: in lower case    p, s: the first, the last n characters    h: the shape, runs of a class at most n long (0:
    // any) c: the classes that occur    n: the number of characters    d: what a resource says
    char letter;
    bool lower = false;                                  // p, s, d: of the cell in lower case
    std::int64_t column = 0;                             // of the cells
    std::int64_t n = 0;                                  // d: so many characters of the class of a table, 0: all
    std::shared_ptr<const Resource> resource = nullptr;  // d
    std::int64_t only = -1;                              // d, of a lexicon: the number of this class alone; -1: all

    bool operator==(const WordFunction&) const = default;
    bool is_lexicon() const { return resource && resource->kind() == Resource::Kind::lexicon; }
    // Appends its value; `hash`: that of the cell. Not for lexicons, whose entries are longer than a cell.
    void append(std::string_view cell, const TextHash& hash, std::string& out) const;
};

// Appends a text in lower case, code point by code point.
void append_lower(std::string_view text, std::string& out);

// The values of functions at every row of a sequence, each computed once, however many lines of the template need it.
class WordValues {
   public:
    void compute(const std::vector<WordFunction>& functions, const Rows& rows);

    std::string_view text(std::int64_t row, std::int64_t function) const { return texts_[row * size_ + function]; }
    const TextHash& hash(std::int64_t row, std::int64_t function) const { return hashes_[row * size_ + function]; }

   private:
    // The marks of a lexicon that a function needs; macros of the same lexicon and column share them.
    const LexiconMarks& marks_of(const std::vector<WordFunction>& functions, std::size_t f, const Rows& rows);

    std::int64_t size_ = 0;                // F functions
    std::vector<LexiconMarks> marks_;      // [F], of those with a lexicon that no function before them has
    std::string bytes_;                    // of all values
    std::vector<std::size_t> ends_;        // [T, F] of each value in them
    std::vector<std::string_view> texts_;  // [T, F]
    std::vector<TextHash> hashes_;         // [T, F]
};

}  // namespace sparsecrf
