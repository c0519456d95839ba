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

#include <cstdint>
#include <deque>
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
    std::vector<std::string_view> parts;  // views into the template, the rows, or `made`
    TextHash hash;
    std::deque<std::string> made;  // parts that stand nowhere else; a deque, so that they stay where they are

    void clear() {
        parts.clear();
        hash = {};
        if (!made.empty()) made.clear();
    }
    void add(std::string_view part, const TextHash& its_hash) {
        parts.push_back(part);
        hash += its_hash;
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

    // The functions of words that macros need: their values at every row come before `expand`.
    const std::vector<WordFunction>& functions() const { return functions_; }

    // The attribute of a line at position t of a sequence; `values`: of functions() at its rows.
    void expand(std::int64_t line, const Rows& rows, const WordValues& values, std::int64_t t, Expansion& out) const;

   private:
    struct Item {
        char macro = 0;         // 'x', 't', 'm', 'e', 'f': a function of words, or 0: literal text
        bool lower = false;     // x, t, m: in lower case
        bool absolute = false;  // row counts from an end of the sequence
        std::int64_t row = 0, column = 0;
        std::string literal;      // macro 0
        TextHash hash;            // of it
        std::int64_t index = -1;  // t, m: in regexes_; f: in functions_
    };
    struct Line {
        Kind kind;
        std::vector<Item> items;
    };
    struct Parser;

    // The cell that does not exist at `row`, before or after the rows.
    std::string boundary(std::int64_t row, std::int64_t length) const;

    std::string text_;
    Dialect dialect_;
    bool bytes_;
    Resources resources_;
    std::vector<Line> lines_;
    std::vector<Regex> regexes_;
    std::vector<WordFunction> functions_;
    std::int64_t n_columns_ = 0;
    std::string widest_;  // "TEMPLATE, line 3: %x[0,2]", the macro that needs the most columns
};

}  // namespace sparsecrf
