// Feature templates in the syntax of CRF++ and Wapiti.
//
//   U..:  an attribute that conditions labels      B..:  label pairs      *..:  both      (either case)
//   %x[row,column]        the cell `row` lines from here        %X..  in lower case (ASCII)
//   %t[row,column,"re"]   "true" or "false": whether it matches   %m[row,column,"re"]  the match, or nothing
//   @row counts from the first line of the sequence (@1) or from its last (@-1)
//
// Extensions (word_functions.hpp), based on Unicode characters:
//   %l[row,column]        the cell in lower case          %c[row,column]       the classes of its characters: "Xx0"
//   %p[row,column,n]      its first n characters          %s[row,column,n]     its last n; %P, %S: in lower case
//   %h[row,column]        its shape, "Xxx-00"             %h[row,column,n]     runs at most n long; 1: "Xx-0"
//   %n[row,column]        its number of characters        %e[row]              first, last, only, inside or outside
//   %d[row,column,NAME]   its entry in the resource NAME (resource.hpp), %D: in lower case; for a lexicon also
//                         %d[row,column,NAME:CLASS], for a table %d[row,column,NAME,n]: the first n characters
//
// An attribute is the line with each macro replaced by its text. Rows beyond the ends of a sequence consist of boundary
// cells, which word functions leave unchanged.
//
// Regular expressions operate on characters, or on bytes as in Wapiti. A byte expression can split a character: bytes
// of an attribute that are not part of well-formed UTF-8 are escaped, e.g. as \xd0.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/columns.hpp"
#include "core/text/templates/regex.hpp"
#include "core/text/templates/word_functions.hpp"

namespace sparsecrf {

// Boundary cells are _B-1, _B-2, ... and _B+1, ... (CRF++), or _x-1 to _x-4, _x-# and _x+1, ... (Wapiti). Wapiti also
// converts the first letter of a line to lower case, treats every # as the start of a comment, and strips trailing
// spaces; in CRF++ a # starts a comment only at the start of a line, and spaces belong to the attribute.
enum class Dialect { crfpp, wapiti };

// An attribute in parts, and the hash of the whole.
struct Expansion {
    std::vector<std::string_view> parts;  // views into the template, the rows, their values, or `made`
    TextHash hash;
    std::deque<std::string> made;  // storage for generated parts; a deque, so that views stay valid

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
    enum class Kind { unigram, bigram, both, ngram };   // ngram: label pairs and longer label n-grams
    static constexpr std::string_view kKinds = "UB*T";  // the letters that lines begin with, by kind

    using Resources = std::vector<std::shared_ptr<const Resource>>;

    // Throws at the first error, with its line and column, and for unused resources.
    Template(std::string text, Dialect dialect, const std::string& source, bool bytes = false,
             Resources resources = {});

    const std::string& text() const { return text_; }
    Dialect dialect() const { return dialect_; }
    // Whether regular expressions operate on bytes.
    bool bytes() const { return bytes_; }
    const Resources& resources() const { return resources_; }
    std::int64_t size() const { return static_cast<std::int64_t>(lines_.size()); }
    Kind kind(std::int64_t line) const { return lines_[line].kind; }
    // Whether the line has a macro, so that its attribute varies between positions.
    bool varies(std::int64_t line) const { return lines_[line].items.size() > 1; }
    // The number of observation columns that the macros need.
    std::int64_t n_columns() const { return n_columns_; }
    // Throws, naming the macro, if rows with `available` observation columns are too short; `where`: file and line of
    // the rows.
    void check_columns(std::int64_t available, const std::string& where) const;

    // Throws if rows are not UTF-8 and a macro must read them as text; `where`: their file and line.
    void check_is_text(const Rows& rows, const std::string& where) const;

    // An empty cache of macro values. Call its `read` for a sequence before `expand` and `hash`.
    WordValues values() const { return {functions_, columns_}; }
    // The columns that macros read, in ascending order.
    const std::vector<std::int64_t>& columns() const { return columns_; }

    // The row of a macro.
    struct Row {
        std::int64_t offset = 0;
        bool absolute = false;  // relative to an end of the sequence instead of the position
        bool operator==(const Row&) const = default;
        // The row for position t, which may be outside the sequence.
        std::int64_t at(std::int64_t t, std::int64_t length) const {
            return offset + (!absolute ? t : offset < 0 ? length : -1);
        }
    };
    // A macro, or the literal text between two macros.
    struct Item {
        char macro = 0;      // 'x', 't', 'm', 'e', 'f' (word function), or 0: literal text
        bool lower = false;  // x, t, m: in lower case
        Row row;
        std::int64_t column = 0;
        std::string literal;      // the text, if `macro` is 0
        TextHash hash;            // hash of `literal`
        std::int64_t index = -1;  // t, m: index in regexes_; f: index in functions_
    };
    // The items of a line; the first is literal text.
    const std::vector<Item>& items(std::int64_t line) const { return lines_[line].items; }
    // Whether an item refers to existing text: a literal, a cell, or the value of a function.
    static bool is_known(const Item& item) { return item.macro != 't' && item.macro != 'm' && !item.lower; }
    // Whether an item is a lexicon lookup, which depends on the neighbouring rows.
    bool is_lexicon(const Item& item) const { return item.macro == 'f' && functions_[item.index].is_lexicon(); }
    // The text of an item for which is_known holds, for row `row`; nullopt for a boundary cell far from the ends.
    static constexpr std::int64_t kNear = 4;
    std::optional<HashedText> known(const Item& item, const Rows& rows, const WordValues& values,
                                    std::int64_t row) const;

    // The single cell that determines the attribute of a line, if the line has macros and all of them read that cell.
    struct Cell {
        Row row;
        std::size_t column;  // index in columns()
        bool operator==(const Cell&) const = default;
    };
    std::optional<Cell> only_cell(std::int64_t line) const;

    // For a row outside a sequence: its index among the boundary cells near the ends, [2 kNear], those before the
    // sequence first; -1 if the row is further away.
    static std::int64_t near_index(std::int64_t row, std::int64_t length) {
        const std::int64_t distance = row < 0 ? -row : row - length + 1;
        return distance > kNear ? -1 : distance - 1 + (row < 0 ? 0 : kNear);
    }
    // The index of the value of a cell at position t in a table of its column, [2 kNear + words]; -1 if absent.
    static std::int64_t place(const Cell& cell, const WordValues& values, std::int64_t t, std::int64_t length) {
        const std::int64_t row = cell.row.at(t, length);
        return row >= 0 && row < length ? 2 * kNear + values.word(row, cell.column) : near_index(row, length);
    }

    // The attribute of a line at position t of a sequence.
    void expand(std::int64_t line, const Rows& rows, const WordValues& values, std::int64_t t, Expansion& out) const;
    // The id of this attribute in a table, or nullopt. May modify `scratch`.
    std::optional<std::uint32_t> find(std::int64_t line, const Rows& rows, const WordValues& values, std::int64_t t,
                                      const StringTable& table, Expansion& scratch) const;
    // The hash of this attribute, and whether it equals `text`; nullopt if text would have to be generated.
    std::optional<std::uint64_t> hash(std::int64_t line, const Rows& rows, const WordValues& values,
                                      std::int64_t t) const;
    std::optional<bool> is(std::int64_t line, const Rows& rows, const WordValues& values, std::int64_t t,
                           std::string_view text) const;

   private:
    struct Line {
        Kind kind;
        std::vector<Item> items;
        bool known;  // whether all items refer to existing text
    };
    struct Parser;

    // The boundary cell `distance` rows before or after the sequence.
    std::string boundary(bool before, std::int64_t distance) const;

    std::string text_;
    Dialect dialect_;
    bool bytes_;
    Resources resources_;
    std::vector<Line> lines_;
    std::vector<Regex> regexes_;
    std::vector<WordFunction> functions_;
    std::vector<std::int64_t> columns_;
    std::array<std::string, 2 * kNear> near_;      // boundary cells at distances 1 to kNear, those before the sequence
                                                   // first
    std::array<TextHash, 2 * kNear> near_hashes_;  // their hashes
    std::int64_t n_columns_ = 0;
    std::string widest_;  // the macro that needs the most columns: "TEMPLATE, line 3: %x[0,2]"
};

}  // namespace sparsecrf
