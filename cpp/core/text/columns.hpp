// Column files: one token a line, columns separated by blanks or tabs, a blank line between sequences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text_hash.hpp"

namespace sparsecrf {

// One sequence, as views into the text it was read from.
struct Rows {
    std::int64_t length = 0;              // T
    std::int64_t n_columns = 0;           // of every row
    std::vector<std::string_view> cells;  // [T, n_columns]
    std::vector<TextHash> hashes;         // [T, n_columns]
    std::vector<std::string_view> lines;  // [T] without their ends
    std::int64_t first_line = 0;          // number of the first row's line in the file

    std::string_view cell(std::int64_t t, std::int64_t column) const { return cells[t * n_columns + column]; }
    void clear() {
        length = 0;
        cells.clear();
        hashes.clear();
        lines.clear();
    }
};

// Takes whole lines of one file, in pieces that may be cut between any two sequences.
class ColumnReader {
   public:
    // `source` names the file in errors. n_columns: what every line must have, 0: as many as the first.
    explicit ColumnReader(std::string source, std::int64_t n_columns = 0, std::int64_t first_line = 1)
        : source_(std::move(source)), line_(first_line), n_columns_(n_columns) {}

    // A piece to read from; it must outlive the rows. Throws where it is not text in UTF-8.
    void open(std::string_view piece);
    // The next sequence of the piece; false when there is none left.
    bool next(Rows& rows);

    std::int64_t n_columns() const { return n_columns_; }
    std::int64_t line() const { return line_; }  // number of the line to be read next
    const std::string& source() const { return source_; }
    // "FILE, line 7"
    std::string where(std::int64_t line) const;

   private:
    void add_row(Rows& rows, std::string_view line);

    std::string source_;
    std::int64_t line_;
    std::int64_t n_columns_;
    std::int64_t columns_from_ = 0;  // the line that n_columns_ was read from, 0: it was given
    std::string_view rest_;
};

// Length of the part of `text` that ends with a blank line, so that no sequence is cut; 0 if there is none.
std::size_t whole_sequences(std::string_view text);

// Checks that `piece` is text: well-formed UTF-8 without NUL. `line` is the number of its first line.
void check_text(std::string_view piece, const std::string& source, std::int64_t line);

inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The text of a file without the byte order mark that it may begin with.
inline std::string_view without_mark(std::string_view text) {
    return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

// Appends the columns of a line.
void split_columns(std::string_view line, std::vector<std::string_view>& cells);

// The next line of `text`, which loses it and its end ("\n" or "\r\n").
std::string_view take_line(std::string_view& text);

}  // namespace sparsecrf
