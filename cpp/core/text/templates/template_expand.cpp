// Expands lines of a template at a position.
#include <algorithm>
#include <string>

#include "core/base/utf8.hpp"
#include "core/text/templates/template.hpp"

namespace sparsecrf {
namespace {

HashedText hashed(std::string_view text) { return {text, TextHash(text)}; }

const HashedText& edge(std::int64_t row, std::int64_t length) {
    static const HashedText outside = hashed("outside"), only = hashed("only"), first = hashed("first"),
                            last = hashed("last"), inside = hashed("inside");
    if (row < 0 || row >= length) return outside;
    if (length == 1) return only;
    return row == 0 ? first : row == length - 1 ? last : inside;
}

}  // namespace

std::string Template::boundary(bool before, std::int64_t distance) const {
    if (dialect_ == Dialect::wapiti) {
        return std::string(before ? "_x-" : "_x+") + (distance <= 4 ? static_cast<char>('0' + distance) : '#');
    }
    return (before ? "_B-" : "_B+") + std::to_string(distance);
}

std::optional<Template::Cell> Template::only_cell(std::int64_t line) const {
    const Item* first = nullptr;
    for (const Item& item : lines_[line].items) {
        if (item.macro == 0) continue;
        if (item.macro == 'e' || is_lexicon(item)) return std::nullopt;
        if (first == nullptr) first = &item;
        if (item.column != first->column || item.row != first->row) return std::nullopt;
    }
    if (first == nullptr) return std::nullopt;
    const auto place = std::lower_bound(columns_.begin(), columns_.end(), first->column);
    return Cell{first->row, static_cast<std::size_t>(place - columns_.begin())};
}

std::optional<HashedText> Template::known(const Item& item, const Rows& rows, const WordValues& values,
                                          std::int64_t row) const {
    if (item.macro == 0) return HashedText{item.literal, item.hash};
    const bool inside = row >= 0 && row < rows.length;
    if (item.macro == 'f' && inside) return values.at(row, item.index);
    if (item.macro == 'e') return edge(row, rows.length);
    if (inside) return rows.at(row, item.column);
    const std::int64_t k = near_index(row, rows.length);
    if (k < 0) return std::nullopt;
    return HashedText{near_[static_cast<std::size_t>(k)], near_hashes_[static_cast<std::size_t>(k)]};
}

// H(a b) = H(a) B^|b| + H(b)
std::optional<std::uint64_t> Template::hash(std::int64_t line, const Rows& rows, const WordValues& values,
                                            std::int64_t t) const {
    if (!rows.is_text || !lines_[line].known) return std::nullopt;
    std::uint64_t h = 0;
    for (const Item& item : lines_[line].items) {
        const std::int64_t row = item.row.at(t, rows.length);
        const bool inside = row >= 0 && row < rows.length, has_row = item.macro != 0 && item.macro != 'e';
        const std::int64_t near = inside || !has_row ? 0 : near_index(row, rows.length);
        if (near < 0) return std::nullopt;
        const TextHash part = item.macro == 0     ? item.hash
                              : item.macro == 'e' ? edge(row, rows.length).hash
                              : !inside           ? near_hashes_[static_cast<std::size_t>(near)]
                              : item.macro == 'f' ? values.hash(row, item.index)
                                                  : rows.at(row, item.column).hash;
        h = h * part.power + part.value;
    }
    return h;
}

std::optional<bool> Template::is(std::int64_t line, const Rows& rows, const WordValues& values, std::int64_t t,
                                 std::string_view text) const {
    if (!rows.is_text || !lines_[line].known) return std::nullopt;
    for (const Item& item : lines_[line].items) {
        const auto part = known(item, rows, values, item.row.at(t, rows.length));
        if (!part) return std::nullopt;
        if (!text.starts_with(part->text)) return false;
        text.remove_prefix(part->text.size());
    }
    return text.empty();
}

std::optional<std::uint32_t> Template::find(std::int64_t line, const Rows& rows, const WordValues& values,
                                            std::int64_t t, const StringTable& table, Expansion& scratch) const {
    if (const auto known_hash = hash(line, rows, values, t)) {
        return table.find_if(*known_hash, [&](std::string_view text) { return *is(line, rows, values, t, text); });
    }
    expand(line, rows, values, t, scratch);
    return table.find(scratch.parts, scratch.hash);
}

void Template::expand(std::int64_t line, const Rows& rows, const WordValues& values, std::int64_t t,
                      Expansion& out) const {
    out.clear();
    bool cut = !rows.is_text;  // whether a part may begin or end in the middle of a character
    for (const Item& item : lines_[line].items) {
        const std::int64_t row = item.row.at(t, rows.length);
        if (const auto part = is_known(item) ? known(item, rows, values, row) : std::nullopt) {
            out.add(*part);
            continue;
        }
        const bool inside = row >= 0 && row < rows.length;
        std::string& made = out.made.emplace_back(inside ? std::string(rows.cell(row, item.column))
                                                         : boundary(row < 0, row < 0 ? -row : row - rows.length + 1));
        if (item.macro == 't' || item.macro == 'm') {
            const Regex::Match match = regexes_[item.index].search(made);
            made = item.macro == 'm' ? made.substr(match.begin, match.length) : match.found ? "true" : "false";
        }
        if (item.lower) std::transform(made.begin(), made.end(), made.begin(), ascii_lower);
        out.add(hashed(made));
        cut = cut || (bytes_ && item.macro == 'm' && utf8_error(made) != std::string_view::npos);
    }
    if (!cut) return;
    std::string whole = escaped(out.parts);
    out.clear();
    out.add(hashed(out.made.emplace_back(std::move(whole))));
}

}  // namespace sparsecrf
