#include "core/text/resources/resource.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/utf8.hpp"
#include "core/text/templates/word_functions.hpp"

namespace sparsecrf {
namespace {

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

std::string_view file_of(Resource::Kind kind) {
    constexpr std::string_view kLines[] = {"a line of a lexicon (ENTRY, or ENTRY tab CLASS)",
                                           "a line of clusters (PATH WORD COUNT, or WORD CLASS)",
                                           "a line of word classes (WORD CLASS)"};
    return kLines[static_cast<std::size_t>(kind)];
}

}  // namespace

Resource::Kind Resource::kind_named(std::string_view name, std::string_view where) {
    for (int k = 0; k < static_cast<int>(std::size(kKinds)); ++k) {
        if (name == kKinds[k]) return static_cast<Kind>(k);
    }
    throw InputError(where, ": expected lexicon, clusters or classes, found '", utf8_prefix(name, 40), "'");
}

Resource::Resource(std::string name, Kind kind, std::string content, const std::string& source)
    : name_(std::move(name)), kind_(kind), content_(std::move(content)) {
    const auto may_name = [](char c) {
        const char lower = ascii_lower(c);
        return is_digit(c) || (lower >= 'a' && lower <= 'z') || c == '_' || c == '-' || c == '.';
    };
    if (name_.empty() || !std::all_of(name_.begin(), name_.end(), may_name)) {
        throw InputError(source, ": expected a name of ASCII letters, digits, '_', '-' and '.', found '",
                         utf8_prefix(name_, 40), "'");
    }
    check_text(content_, source, 1);
    read(source);
}

void Resource::read(const std::string& source) {
    std::string_view rest = without_mark(content_);
    std::vector<std::string_view> cells;
    for (std::int64_t number = 1; !rest.empty(); ++number) {
        const std::string_view line = take_line(rest);
        if (std::all_of(line.begin(), line.end(), is_blank)) continue;
        add_line(line, message(source, ", line ", number), cells);
    }
    if (entries_.empty()) throw InputError(source, ": expected ", file_of(kind_), ", found none");
    n_entries_ = static_cast<std::int64_t>(entries_.size());
}

void Resource::add_line(std::string_view line, const std::string& where, std::vector<std::string_view>& cells) {
    cells.clear();
    if (n_columns_ == 0) tabs_ = kind_ == Kind::lexicon || line.find('\t') != line.npos;
    const auto add = [&](std::string_view cell) { cells.push_back(without_blanks(cell)); };
    tabs_ ? each_field(line, add) : each_column(line, add);
    const auto found = static_cast<std::int64_t>(cells.size());
    const auto quoted = [&] { return message("'", utf8_prefix(line, 60), "'"); };
    const bool fits = kind_ == Kind::lexicon ? found <= 2 : found == 2 || (kind_ == Kind::clusters && found == 3);
    if (!fits) throw InputError(where, ": expected ", file_of(kind_), ", found ", quoted());
    if (n_columns_ == 0) n_columns_ = found;
    if (found != n_columns_) {
        throw InputError(where, ": expected ", n_columns_, n_columns_ == 1 ? " column" : " columns",
                         " as in the lines before, found ", found, ": ", quoted());
    }
    if (std::any_of(cells.begin(), cells.end(), [](std::string_view cell) { return cell.empty(); })) {
        throw InputError(where, ": expected text in every column, found an empty one: ", quoted());
    }
    if (found == 3 && !is_number(cells[2])) {
        throw InputError(where, ": expected a count in the third column, found ", quoted());
    }
    const std::string_view words = found == 3 ? cells[1] : cells[0];
    const std::string_view c = found == 3 ? cells[0] : found == 2 ? cells[1] : std::string_view();
    entries_.push_back({words, classes_.intern(c)});
}

const Resource::Index& Resource::index(bool fold) const {
    Index& made = indexes_[fold ? 1 : 0];
    std::call_once(once_[fold ? 1 : 0], [&] {
        Index whole;  // discarded if memory runs out
        for (const Entry& entry : entries_) add(entry, fold, whole);
        made = std::move(whole);
    });
    return made;
}

void Resource::add(const Entry& entry, bool fold, Index& made) const {
    std::string lower;
    if (fold) append_lower(entry.words, lower);
    std::string_view rest = fold ? std::string_view(lower) : entry.words;
    if (kind_ != Kind::lexicon) {
        // If a word occurs twice, its first class counts.
        if (made.words.intern(rest) == made.class_of.size()) made.class_of.push_back(entry.c);
        return;
    }
    std::vector<std::string_view> words;
    split_columns(rest, words);
    std::uint32_t node = 0;
    for (const std::string_view word : words) {
        const std::uint64_t edge = static_cast<std::uint64_t>(node) << 32 | made.words.intern(word);
        const auto [at, is_new] = made.next.try_emplace(edge, static_cast<std::uint32_t>(made.classes.size()));
        if (is_new) made.classes.emplace_back();
        node = at->second;
    }
    std::vector<std::uint32_t>& ending = made.classes[node];
    if (std::find(ending.begin(), ending.end(), entry.c) == ending.end()) ending.push_back(entry.c);
}

std::optional<std::uint32_t> Resource::class_of(std::string_view word, const TextHash& hash, bool fold) const {
    const Index& at = index(fold);
    std::optional<std::uint32_t> found;
    if (fold) {
        std::string lower;
        append_lower(word, lower);
        found = at.words.find(lower);
    } else {
        found = at.words.find({&word, 1}, hash);
    }
    return found ? std::optional(at.class_of[*found]) : std::nullopt;
}

void Resource::match(const Rows& rows, std::int64_t column, bool fold, LexiconMarks& out) const {
    constexpr std::uint32_t kNone = 0xffffffff;
    const Index& at = index(fold);
    const std::int64_t T = rows.length;
    out.rows.resize(static_cast<std::size_t>(T));
    for (auto& marks : out.rows) marks.clear();
    std::vector<std::uint32_t> ids(static_cast<std::size_t>(T), kNone);
    std::string lower;
    for (std::int64_t t = 0; t < T; ++t) {
        std::string_view cell = rows.cell(t, column);
        TextHash hash = rows.at(t, column).hash;
        if (fold) {
            lower.clear();
            append_lower(cell, lower);
            cell = lower;
            hash = TextHash(cell);
        }
        ids[t] = at.words.find({&cell, 1}, hash).value_or(kNone);
    }
    struct Reach {
        std::int64_t free = 0;     // the first row after the last match
        std::int64_t longest = 0;  // length of the longest entry that begins at t, or 0
    };
    std::unordered_map<std::uint32_t, Reach> reach;  // classes seen so far
    std::vector<std::uint32_t> found;                // classes with longest > 0
    for (std::int64_t t = 0; t < T; ++t) {
        std::uint32_t node = 0;
        for (std::int64_t end = t; end < T && ids[end] != kNone; ++end) {
            const auto next = at.next.find(static_cast<std::uint64_t>(node) << 32 | ids[end]);
            if (next == at.next.end()) break;
            node = next->second;
            for (const std::uint32_t c : at.classes[node]) {
                Reach& of = reach[c];
                if (of.free > t) continue;
                if (of.longest == 0) found.push_back(c);
                of.longest = end + 1 - t;
            }
        }
        for (const std::uint32_t c : found) {
            Reach& of = reach[c];
            const std::int64_t n = std::exchange(of.longest, 0);
            for (std::int64_t k = 0; k < n; ++k) {
                out.rows[t + k].push_back({c, n == 1 ? 'S' : k == 0 ? 'B' : k == n - 1 ? 'E' : 'I'});
            }
            of.free = t + n;
        }
        found.clear();
    }
    for (auto& marks : out.rows) {
        std::sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) { return a.c < b.c; });
    }
}

void Resource::append_marks(const LexiconMarks& marks, std::int64_t t, std::int64_t only, std::string& out) const {
    const std::vector<LexiconMarks::Mark>& here = marks.rows[t];
    if (only >= 0) {
        const auto is_it = [&](const LexiconMarks::Mark& mark) { return mark.c == only; };
        const auto found = std::find_if(here.begin(), here.end(), is_it);
        out.push_back(found == here.end() ? 'O' : found->letter);
        return;
    }
    for (const LexiconMarks::Mark& mark : here) {
        if (&mark != here.data()) out.push_back('|');
        out.push_back(mark.letter);
        const std::string_view name = classes_[mark.c];
        if (!name.empty()) out.push_back('-');
        out += name;
    }
    if (here.empty()) out.push_back('O');
}

}  // namespace sparsecrf
