// Column files: one token per line, columns separated by spaces or tabs, a blank line between sequences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text_hash.hpp"

namespace sparsecrf {

// How to read lines.
struct ColumnOptions {
    bool bytes = false;       // cells are arbitrary bytes except NUL instead of UTF-8 text
    bool ragged = false;      // lines may differ in their number of columns
    std::int64_t needed = 0;  // ragged: the number of leading columns to keep
    bool labelled = false;    // ragged: also keep the last column, the label
};

// One sequence, as views into its source text.
struct Rows {
    std::int64_t length = 0;               // T
    std::int64_t n_columns = 0;            // the same in every row
    bool is_text = true;                   // whether all lines are well-formed UTF-8
    std::vector<HashedText> cells;         // [T, n_columns], unless all rows are in `known`
    std::vector<const HashedText*> known;  // [T] the cells of each row, stored in a KnownRows; or empty
    std::vector<std::uint32_t> numbers;    // [T] the number of each row in a KnownRows; or empty
    std::vector<std::string_view> lines;   // [T] without line endings
    std::int64_t first_line = 0;           // line number of the first row in the file

    const HashedText* row(std::int64_t t) const { return known.empty() ? cells.data() + t * n_columns : known[t]; }
    const HashedText& at(std::int64_t t, std::int64_t column) const { return row(t)[column]; }
    std::string_view cell(std::int64_t t, std::int64_t column) const { return at(t, column).text; }
    void add_cell(std::string_view text) { cells.push_back({text, TextHash(text)}); }
    void clear() {
        length = 0;
        is_text = true;
        cells.clear();
        known.clear();
        numbers.clear();
        lines.clear();
    }
};

// Appended to errors about the number of columns, in case the input is running text.
inline constexpr std::string_view kOneTokenALine =
    " (one token per line, a blank line between sequences; to label plain text: `sparsecrf label --format text`)";

class KnownRows;

// Reads one file in pieces, which may be split between any two sequences.
class ColumnReader {
   public:
    // `source` names the file in errors. n_columns: number of columns required on every line; 0 takes it from the first
    // line.
    explicit ColumnReader(std::string source, std::int64_t n_columns = 0, std::int64_t first_line = 1,
                          const ColumnOptions& options = {})
        : source_(std::move(source)), line_(first_line), n_columns_(n_columns), options_(options) {
        if (options_.ragged) n_columns_ = options_.needed + (options_.labelled ? 1 : 0);
    }

    // Sets the piece to read from, which must outlive the rows. Throws if it fails check_text.
    void open(std::string_view piece);
    // Reads the next sequence of the piece; returns false at the end. known: a cache that numbers rows and avoids
    // splitting recurring lines again. Pass it to all calls or none, and only if all lines are split in the same way.
    bool next(Rows& rows, KnownRows* known = nullptr);

    std::int64_t n_columns() const { return n_columns_; }
    std::int64_t line() const { return line_; }  // number of the next line
    const std::string& source() const { return source_; }
    // "FILE, line 7"
    std::string where(std::int64_t line) const;

   private:
    // Adds the cells of a line and returns the number of columns.
    std::int64_t add_row(Rows& rows, std::string_view line) const;
    void check_columns(std::int64_t found, std::int64_t line);
    // Completes a sequence; returns whether it has rows.
    bool end(Rows& rows, KnownRows* known);
    void keep_needed(Rows& rows, std::size_t before) const;

    std::string source_;
    std::int64_t line_;
    std::int64_t n_columns_;
    std::int64_t columns_from_ = 0;  // the line that determined n_columns_; 0 if n_columns_ was given
    ColumnOptions options_;
    std::string_view rest_;
    std::vector<std::uint64_t> hashes_;  // of the lines of a sequence; scratch
};

// Length of the longest prefix of `text` that ends with a blank line and so splits no sequence; 0 if no line is blank.
std::size_t whole_sequences(std::string_view text);

// Checks that `piece` is well-formed UTF-8 without NUL; with `bytes`, checks only for NUL. `line` is the number of
// its first line.
void check_text(std::string_view piece, const std::string& source, std::int64_t line, bool bytes = false);

// Joins the parts and escapes bytes that are not part of well-formed UTF-8, e.g. as \xd0. Joins them first, because
// fragments of a character can combine.
std::string escaped(std::span<const std::string_view> parts);

inline char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
inline char ascii_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Whether the text is a number in decimal digits.
inline bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}
inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The text without a leading byte order mark.
inline std::string_view without_mark(std::string_view text) {
    return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

// Calls use(cell) for each column of a line.
template <class Use>
void each_column(std::string_view line, Use use) {
    const char* p = line.data();
    const char* const end = p + line.size();
    for (;;) {
        while (p < end && is_blank(*p)) ++p;
        if (p == end) break;
        const char* const start = p;
        while (p < end && !is_blank(*p)) ++p;
        use(std::string_view(start, static_cast<std::size_t>(p - start)));
    }
}
// Calls use(field) for each field of a line; tabs separate fields, which may be empty.
template <class Use>
void each_field(std::string_view line, Use use) {
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find('\t', begin), line.size());
        use(line.substr(begin, end - begin));
        begin = end + 1;
    }
}

// Appends the columns of a line.
void split_columns(std::string_view line, std::vector<std::string_view>& cells);

// Removes the next line and its line ending ("\n" or "\r\n") from `text` and returns it without the ending.
std::string_view take_line(std::string_view& text);

}  // namespace sparsecrf
