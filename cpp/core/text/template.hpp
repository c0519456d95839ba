// Feature templates in the syntax of CRF++ and Wapiti.
//
//   U..:  an attribute that conditions labels      B..:  label pairs      *..:  both      (either case)
//   %x[row,column]        the cell `row` lines from here        %X..  in lower case (ASCII)
//   %t[row,column,"re"]   "true" or "false": does it match      %m[row,column,"re"]  what matches, or nothing
//   @row counts from the first line of the sequence (@1) or from its last (@-1)
//
// and beyond them (word_functions.hpp), by Unicode character:
//   %l[row,column]        the cell in lower case          %c[row,column]       the classes of its characters: "Xx0"
//   %p[row,column,n]      its first n characters          %s[row,column,n]     its last n; %P, %S: in lower case
//   %h[row,column]        its shape, "Xxx-00"             %h[row,column,n]     runs at most n long; 1: "Xx-0"
//   %n[row,column]        its number of characters        %e[row]              first, last, only, inside or outside
//   %d[row,column,NAME]   what the resource NAME says of it (resource.hpp), %D: in lower case; of a lexicon also
//                         %d[row,column,NAME:CLASS], of a table %d[row,column,NAME,n]: the first n characters
//
// An attribute is the line with each macro replaced by its text. Beyond the ends of a sequence stand boundary cells, of
// which functions of words change nothing.
//
// Regular expressions read characters, or bytes as Wapiti does. What a byte expression cuts out of a character is no
// text: the bytes of an attribute that are not part of well-formed UTF-8 are written as \xd0.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/columns.hpp"
#include "core/text/regex.hpp"
#include "core/text/word_functions.hpp"

namespace sparsecrf {

// Whose boundary cells: _B-1, _B-2, ... and _B+1, ... (CRF++), or _x-1 to _x-4, _x-# and _x+1, ... (Wapiti). Wapiti
// also turns the first letter of a line to lower case, takes any # for the beginning of a comment, and drops blanks at
// the end of a line; in CRF++ a # begins a comment at the beginning of a line only, and blanks belong to the attribute.
enum class Dialect { crfpp, wapiti };

// An attribute in parts, with the hash of the whole.
struct Expansion {
    std::vector<std::string_view> parts;  // views into the template, the rows, their values, or `made`
    TextHash hash;
    std::deque<std::string> made;  // parts that stand nowhere else; a deque, so that they stay where they are

    void clear() {
        parts.clear();
        hash = {};
        if (!made.empty()) made.clear();
    }
    void add(const HashedText& part) {
        parts.push_back(part.text);
        hash += part.hash;
    }
};

class Template {
   public:
    enum class Kind { unigram, bigram, both, ngram };  // ngram: label pairs and longer label n-grams

    using Resources = std::vector<std::shared_ptr<const Resource>>;

    // Throws at the first mistake, with the line and column it was found at, and for resources that no line uses.
    Template(std::string text, Dialect dialect, const std::string& source, bool bytes = false,
             Resources resources = {});

    const std::string& text() const { return text_; }
    Dialect dialect() const { return dialect_; }
    // Whether regular expressions read bytes.
    bool bytes() const { return bytes_; }
    const Resources& resources() const { return resources_; }
    std::int64_t size() const { return static_cast<std::int64_t>(lines_.size()); }
    Kind kind(std::int64_t line) const { return lines_[line].kind; }
    // Whether the line has a macro: its attribute is not the same at every position.
    bool varies(std::int64_t line) const { return lines_[line].items.size() > 1; }
    // How many columns of observations the macros need.
    std::int64_t n_columns() const { return n_columns_; }
    // Throws if rows of `available` observed columns are too short, naming the macro; `where`: file and line of the
    // rows.
    void check_columns(std::int64_t available, const std::string& where) const;

    // Throws if rows are not text and a macro would have to read them as text; `where` as above.
    void check_is_text(const Rows& rows, const std::string& where) const;

    // The values of macros for the words of sequences: call `read` before `expand` and `hash`.
    WordValues values() const { return {functions_, columns_}; }
    // The columns that macros read, ascending.
    const std::vector<std::int64_t>& columns() const { return columns_; }

    // The row of a macro.
    struct Row {
        std::int64_t offset = 0;
        bool absolute = false;  // from an end of the sequence, not from the position
        bool operator==(const Row&) const = default;
        // For position t: a row of the sequence, or one before or after it.
        std::int64_t at(std::int64_t t, std::int64_t length) const {
            return offset + (!absolute ? t : offset < 0 ? length : -1);
        }
    };
    // A macro, or the text between two of them.
    struct Item {
        char macro = 0;      // 'x', 't', 'm', 'e', 'f': a function of words, or 0: literal text
        bool lower = false;  // x, t, m: in lower case
        Row row;
        std::int64_t column = 0;
        std::string literal;      // macro 0
        TextHash hash;            // of it
        std::int64_t index = -1;  // t, m: in regexes_; f: in functions_
    };
    // Of a line, the first of them text.
    const std::vector<Item>& items(std::int64_t line) const { return lines_[line].items; }
    // Whether an item stands for text that exists: the template's own, a cell, or the value of a function.
    static bool is_known(const Item& item) { return item.macro != 't' && item.macro != 'm' && !item.lower; }
    // Whether an item is what a lexicon says of a row, which depends on the neighbouring rows.
    bool is_lexicon(const Item& item) const { return item.macro == 'f' && functions_[item.index].is_lexicon(); }
    // What stands for such an item whose row is `row`; none where that is a boundary cell far from the ends.
    static constexpr std::int64_t kNear = 4;
    std::optional<HashedText> known(const Item& item, const Rows& rows, const WordValues& values,
                                    std::int64_t row) const;

    // The cell on which alone the attribute of a line depends, if it has macros and all of them read the same one.
    struct Cell {
        Row row;
        std::size_t column;  // in columns()
        bool operator==(const Cell&) const = default;
    };
    std::optional<Cell> only_cell(std::int64_t line) const;

    // Of a row outside of a sequence: its index among the boundary cells near the ends, [2 kNear], those before the
    // sequence first; -1: it is further away.
    static std::int64_t near_index(std::int64_t row, std::int64_t length) {
        const std::int64_t distance = row < 0 ? -row : row - length + 1;
        return distance > kNear ? -1 : distance - 1 + (row < 0 ? 0 : kNear);
    }
    // The place of the value of a cell at position t in a table of its column, [2 kNear + words]; -1: it has none.
    static std::int64_t place(const Cell& cell, const WordValues& values, std::int64_t t, std::int64_t length) {
        const std::int64_t row = cell.row.at(t, length);
        return row >= 0 && row < length ? 2 * kNear + values.word(row, cell.column) : near_index(row, length);
    }

    // The attribute of a line at position t of a sequence.
    void expand(std::int64_t line, const Rows& rows, const WordValues& values, std::int64_t t, Expansion& out) const;
    // Its id in a table; none: the table lacks it. `scratch` may be changed.
    std::optional<std::uint32_t> find(std::int64_t line, const Rows& rows, const WordValues& values, std::int64_t t,
                                      const StringTable& table, Expansion& scratch) const;
    // Its hash, and whether it is `text`, unless that needs text that does not exist: then there is no answer.
    std::optional<std::uint64_t> hash(std::int64_t line, const Rows& rows, const WordValues& values,
                                      std::int64_t t) const;
    std::optional<bool> is(std::int64_t line, const Rows& rows, const WordValues& values, std::int64_t t,
                           std::string_view text) const;

   private:
    struct Line {
        Kind kind;
        std::vector<Item> items;
    };
    struct Parser;

    // Calls f(part) for the parts of a line at position t, as long as it returns true. False: there is one that does not
    // exist.
    template <class F>
    bool each_known(std::int64_t line, const Rows& rows, const WordValues& values, std::int64_t t, F f) const;
    // The cell that does not exist `distance` rows before or after the others.
    std::string boundary(bool before, std::int64_t distance) const;

    std::string text_;
    Dialect dialect_;
    bool bytes_;
    Resources resources_;
    std::vector<Line> lines_;
    std::vector<Regex> regexes_;
    std::vector<WordFunction> functions_;
    std::vector<std::int64_t> columns_;
    std::array<std::string, 2 * kNear> near_;      // boundary cells at distances 1 to kNear, before and then after
    std::array<TextHash, 2 * kNear> near_hashes_;  // of them
    std::int64_t n_columns_ = 0;
    std::string widest_;  // "TEMPLATE, line 3: %x[0,2]", the macro that needs the most columns
};

}  // namespace sparsecrf
