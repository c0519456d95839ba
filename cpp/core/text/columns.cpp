#include "core/text/columns.hpp"

#include <cstring>

#include "core/base/error.hpp"
#include "core/base/utf8.hpp"
#include "core/text/labelling/known_rows.hpp"

namespace sparsecrf {

std::string_view take_line(std::string_view& text) {
    const void* end = std::memchr(text.data(), '\n', text.size());
    const std::size_t length =
        end == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(end) - text.data());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(text.size(), length + 1));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
}

void check_text(std::string_view piece, const std::string& source, std::int64_t line, bool bytes) {
    const std::size_t nul = piece.find('\0');
    const std::size_t wrong = bytes ? nul : std::min(utf8_error(piece), nul);
    if (wrong == std::string_view::npos) return;
    const std::string_view before = piece.substr(0, wrong);
    line += std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 = 0
    throw InputError(source, ", line ", line, ", byte ", wrong - line_start + 1, ": expected text",
                     bytes ? "" : " in UTF-8", ", found ",
                     wrong == nul ? "a NUL byte" : message("byte ", hex_byte(piece[wrong])));
}

std::string ColumnReader::where(std::int64_t line) const { return message(source_, ", line ", line); }

void ColumnReader::open(std::string_view piece) {
    check_text(piece, source_, line_, options_.bytes);
    rest_ = line_ == 1 ? without_mark(piece) : piece;
}

bool ColumnReader::next(Rows& rows, KnownRows* known) {
    rows.clear();
    while (!rest_.empty()) {
        const std::string_view line = take_line(rest_);
        if (std::all_of(line.begin(), line.end(), is_blank)) {
            ++line_;
            if (rows.length > 0) return end(rows, known);
            continue;
        }
        if (rows.length == 0) rows.first_line = line_;
        if (known == nullptr) check_columns(add_row(rows, line), line_);
        rows.lines.push_back(line);
        ++rows.length;
        ++line_;
    }
    return end(rows, known);
}

// Lookups are prefetched.
bool ColumnReader::end(Rows& rows, KnownRows* known) {
    if (known != nullptr) {
        hashes_.clear();
        for (const std::string_view line : rows.lines) {
            hashes_.push_back(KnownRows::hash(line));
            known->prefetch(hashes_.back());
        }
        for (std::size_t t = 0; t < hashes_.size(); ++t) {
            rows.numbers.push_back(known->find(rows.lines[t], hashes_[t]));
            const KnownRows::Row& row = (*known)[rows.numbers.back()];
            check_columns(row.n_columns, rows.first_line + static_cast<std::int64_t>(t));
            rows.known.push_back(row.cells);
        }
    }
    rows.n_columns = n_columns_;
    return rows.length > 0;
}

void split_columns(std::string_view line, std::vector<std::string_view>& cells) {
    each_column(line, [&](std::string_view cell) { cells.push_back(cell); });
}

std::int64_t ColumnReader::add_row(Rows& rows, std::string_view line) const {
    const std::size_t before = rows.cells.size();
    each_column(line, [&](std::string_view cell) { rows.add_cell(cell); });
    if (options_.ragged) keep_needed(rows, before);
    if (options_.bytes && utf8_error(line) != line.npos) rows.is_text = false;
    return static_cast<std::int64_t>(rows.cells.size() - before);
}

void ColumnReader::check_columns(std::int64_t found, std::int64_t line) {
    if (n_columns_ == 0) {
        n_columns_ = found;
        columns_from_ = line;
    }
    if (found != n_columns_) {
        const std::string like = columns_from_ == 0 ? "" : message(" as in line ", columns_from_);
        throw InputError(where(line), ": expected ", n_columns_, n_columns_ == 1 ? " column" : " columns", like,
                         ", found ", found, kOneTokenALine);
    }
}

// Removes the cells from index `before` on that are not needed.
void ColumnReader::keep_needed(Rows& rows, std::size_t before) const {
    const auto found = static_cast<std::int64_t>(rows.cells.size() - before);
    if (found < n_columns_) {
        throw InputError(where(line_), ": expected at least ", n_columns_, n_columns_ == 1 ? " column" : " columns",
                         options_.labelled ? ", the label last" : "", ", found ", found);
    }
    const HashedText last = rows.cells.back();
    rows.cells.resize(before + static_cast<std::size_t>(n_columns_));
    if (options_.labelled) rows.cells.back() = last;
}

std::string escaped(std::span<const std::string_view> parts) {
    std::string joined, out;
    for (const std::string_view part : parts) joined += part;
    for (std::string_view rest = joined;;) {
        const std::size_t at = utf8_error(rest);
        out += rest.substr(0, at);
        if (at == rest.npos) return out;
        const auto byte = static_cast<unsigned char>(rest[at]);
        out += {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
        rest.remove_prefix(at + 1);
    }
}

std::size_t whole_sequences(std::string_view text) {
    // Searches backwards for a line feed, spaces or tabs, and another line feed.
    for (std::size_t end = text.size(); end > 0;) {
        const std::size_t feed = text.rfind('\n', end - 1);
        if (feed == std::string_view::npos) return 0;
        std::size_t start = feed;
        while (start > 0 && text[start - 1] != '\n' && is_blank(text[start - 1])) --start;
        if (start == 0 || text[start - 1] == '\n') return feed + 1;
        end = feed;
    }
    return 0;
}

}  // namespace sparsecrf
