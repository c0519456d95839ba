// What macros of a template make of one cell: lower case, affixes, shape, character classes, length; look-ups.
//
// A character is a code point with the combining marks that follow it; its class is that of the code point
// (core/base/unicode.hpp). The plain twin is tests/reference/word_functions.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text_hash.hpp"
#include "core/corpus/string_table.hpp"
#include "core/text/columns.hpp"
#include "core/text/resource.hpp"

namespace sparsecrf {

struct WordFunction {
    // l: in lower case    p, s: the first, the last n characters    h: the shape, runs of a class at most n long (0:
    // any) c: the classes that occur    n: the number of characters    d: what a resource says
    char letter;
    bool lower = false;                                  // p, s, d: of the cell in lower case
    std::int64_t column = 0;                             // of the cells
    std::int64_t n = 0;                                  // d: first n characters of the class of a table, 0: all
    std::shared_ptr<const Resource> resource = nullptr;  // d
    std::int64_t only = -1;                              // d, of a lexicon: the number of this class alone; -1: all

    bool operator==(const WordFunction&) const = default;
    bool is_lexicon() const { return resource && resource->kind() == Resource::Kind::lexicon; }
    // Appends its value; `hash`: that of the cell. Not for lexicons, whose entries are longer than a cell.
    void append(std::string_view cell, const TextHash& hash, std::string& out) const;
};

// Appends a text in lower case, code point by code point.
void append_lower(std::string_view text, std::string& out);

// A text that is part of attributes, with its hash.
struct HashedText {
    std::string_view text;
    TextHash hash;
};

// The values of functions at the rows of a sequence. The same words come again and again: what functions make of a word
// is computed once and kept, until too many words have been seen.
class WordValues {
   public:
    // columns: those that functions, and whoever asks for numbers of words, read.
    WordValues(const std::vector<WordFunction>& functions, const std::vector<std::int64_t>& columns);

    // Begins a sequence, whose rows must outlive it; `anew`: with all that was kept forgotten. True: all words have new
    // numbers.
    bool read(const Rows& rows, bool anew = false);

    // The number of a row's word, from 0, in column columns[c].
    std::uint32_t word(std::int64_t row, std::size_t c) const { return here_[row * columns_.size() + c]; }
    // The number of words with a number in column columns[c].
    std::uint32_t n_words(std::size_t c) const { return columns_[c].words.size(); }
    HashedText at(std::int64_t row, std::int64_t function) const {
        const Place& place = places_[function];
        if (place.of_rows) return of_rows_.at(row * n_of_rows_ + place.index);
        const Column& column = columns_[place.column];
        return column.values.at(std::size_t{word(row, place.column)} * column.functions.size() + place.index);
    }

   private:
    // Cached for a column from one sequence to the next.
    static constexpr std::uint32_t kMostWords = 1 << 14;
    static constexpr std::size_t kMostBytes = 8 << 20;  // of words and values

    struct Values {
        struct Value {
            TextHash hash;
            std::size_t end;  // in `bytes`; it begins where the one before ends
        };
        std::string bytes;
        std::vector<Value> all;

        HashedText at(std::size_t k) const {
            const std::size_t begin = k == 0 ? 0 : all[k - 1].end;
            return {std::string_view(bytes).substr(begin, all[k].end - begin), all[k].hash};
        }
        // Everything appended to `bytes` since the last value becomes the next one.
        void push();
        void clear();
        std::size_t n_bytes() const { return bytes.size() + all.size() * sizeof(Value); }
    };
    struct Column {
        std::int64_t number;                 // among the cells of a row
        std::vector<std::size_t> functions;  // those of its words, in functions_
        StringTable words;                   // that have been seen
        Values values;                       // [words, functions]
    };
    // Where the values of a function are.
    struct Place {
        bool of_rows;        // in of_rows_
        std::size_t column;  // or in that of columns_
        std::size_t index;
    };
    void number_words(const Rows& rows);
    void match_lexicons(const Rows& rows);
    // The marks of a lexicon that a function needs; functions of the same lexicon and column share them.
    const LexiconMarks& marks_of(std::size_t f, const Rows& rows);

    std::vector<WordFunction> functions_;  // [F]
    std::vector<Place> places_;            // [F]
    std::vector<Column> columns_;          // C
    std::vector<std::uint32_t> here_;      // [T, C] numbers of words
    std::size_t n_of_rows_ = 0;            // functions of lexicons, whose entries are longer than a word
    Values of_rows_;                       // [T, n_of_rows_]
    std::vector<LexiconMarks> marks_;      // [F], of those with a lexicon that no function before them has
};

}  // namespace sparsecrf
