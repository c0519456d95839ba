// Functions of one cell for template macros: lower case, affixes, shape, character classes, length, lookups.
//
// A character is a code point with the combining marks that follow it; its class is the class of the code point
// (core/base/unicode.hpp). The reference implementation is tests/reference/word_functions.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text_hash.hpp"
#include "core/corpus/string_table.hpp"
#include "core/text/columns.hpp"
#include "core/text/resources/resource.hpp"

namespace sparsecrf {

struct WordFunction {
    // l: lower case    p, s: the first or last n characters    h: shape, runs of a class at most n long (0 means any)
    // c: the classes that occur    n: the number of characters    d: resource lookup
    char letter;
    bool lower = false;                                  // p, s, d: apply to the cell in lower case
    std::int64_t column = 0;                             // column of the cell
    std::int64_t n = 0;                                  // d: first n characters of the class in a table, 0 means all
    std::shared_ptr<const Resource> resource = nullptr;  // d
    std::int64_t only = -1;                              // d, lexicon: only the class with this number; -1 means all

    bool operator==(const WordFunction&) const = default;
    bool is_lexicon() const { return resource && resource->kind() == Resource::Kind::lexicon; }
    // Appends the value. ascii: whether the cell is ASCII. Not for lexicons, whose entries can span several cells.
    void append(const HashedText& cell, bool ascii, std::string& out) const;
};

// Appends a text in lower case, one code point at a time.
void append_lower(std::string_view text, std::string& out);

// The values of functions for the rows of a sequence. Words recur, so the values of a word are cached until too many
// words have been seen.
class WordValues {
   public:
    // columns: those read by functions or needed for word numbers.
    WordValues(const std::vector<WordFunction>& functions, const std::vector<std::int64_t>& columns);

    // Starts a sequence; `rows` must outlive it. anew: clear the cache first, as is necessary if rows are renumbered.
    // Returns whether all words were renumbered.
    bool read(const Rows& rows, bool anew = false);

    // The word number, from 0, of a row in column columns[c].
    std::uint32_t word(std::int64_t row, std::size_t c) const { return here_[row * columns_.size() + c]; }
    // The number of distinct words so far in column columns[c].
    std::uint32_t n_words(std::size_t c) const { return columns_[c].words.size(); }
    HashedText at(std::int64_t row, std::int64_t function) const {
        const Place& place = places_[function];
        if (place.of_rows) return of_rows_.at(row * n_of_rows_ + place.index);
        return columns_[place.column].values.at(index(row, place));
    }

    TextHash hash(std::int64_t row, std::int64_t function) const {
        const Place& place = places_[function];
        return place.of_rows ? of_rows_.all[row * n_of_rows_ + place.index].hash
                             : columns_[place.column].values.all[index(row, place)].hash;
    }

   private:
    // Limits of the cache of a column, which is kept across sequences.
    static constexpr std::uint32_t kMostWords = 1 << 14;
    static constexpr std::size_t kMostBytes = 8 << 20;  // total size of words and values
    static constexpr std::uint32_t kUnknown = 0xffffffff;

    struct Values {
        struct Value {
            TextHash hash;
            std::size_t end;  // end in `bytes`; begins at the end of the previous value
        };
        std::string bytes;
        std::vector<Value> all;

        HashedText at(std::size_t k) const {
            const std::size_t begin = k == 0 ? 0 : all[k - 1].end;
            return {std::string_view(bytes).substr(begin, all[k].end - begin), all[k].hash};
        }
        // Completes a value: everything appended to `bytes` since the last call.
        void push();
        void clear();
        std::size_t n_bytes() const { return bytes.size() + all.size() * sizeof(Value); }
    };
    struct Column {
        std::int64_t number;                 // index in a row
        std::vector<std::size_t> functions;  // functions of its words, as indices in functions_
        StringTable words;                   // words seen so far
        Values values;                       // [words, functions]
        std::uint32_t last = kUnknown;       // number of the last word that was looked up
    };
    // Where the values of a function are stored.
    struct Place {
        bool of_rows;        // whether they are in of_rows_
        std::size_t column;  // if not, index in columns_
        std::size_t index;
    };
    // The index among the values of its column.
    std::size_t index(std::int64_t row, const Place& place) const {
        return std::size_t{word(row, place.column)} * columns_[place.column].functions.size() + place.index;
    }
    void number_words(const Rows& rows);
    void number_known(const Rows& rows);
    std::uint32_t number(Column& column, const HashedText& word);
    void match_lexicons(const Rows& rows);
    // The marks of the lexicon of a function; functions of the same lexicon and column share them.
    const LexiconMarks& marks_of(std::size_t f, const Rows& rows);

    std::vector<WordFunction> functions_;  // [F]
    std::vector<Place> places_;            // [F]
    std::vector<Column> columns_;          // C
    std::vector<std::uint32_t> here_;      // [T, C] word numbers
    std::vector<std::uint32_t> of_known_;  // [rows, C] word numbers of numbered rows, or kUnknown
    std::size_t n_of_rows_ = 0;            // number of lexicon functions, whose entries can span several words
    Values of_rows_;                       // [T, n_of_rows_]
    std::vector<LexiconMarks> marks_;      // [F], set for the first function of each lexicon
};

}  // namespace sparsecrf
