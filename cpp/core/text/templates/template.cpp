#include "core/text/templates/template.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/utf8.hpp"

namespace sparsecrf {
namespace {

constexpr std::int64_t kLargestOffset = 1'000'000'000;

constexpr std::string_view kFunctions = "lpsPShcndD";

void check_distinct(const Template::Resources& resources) {
    for (std::size_t k = 0; k < resources.size(); ++k) {
        for (std::size_t j = 0; j < k; ++j) {
            if (resources[j]->name() != resources[k]->name()) continue;
            throw InputError("resources: expected different names, found two resources called ", resources[k]->name());
        }
    }
}

}  // namespace

// Parses one line of a template.
struct Template::Parser {
    Template& out;
    const std::string& source;
    std::int64_t number;    // line number in the file
    std::string_view line;  // without line ending and comment
    std::size_t at = 0;

    [[noreturn]] void fail(const std::string& expected, std::size_t where) const {
        const std::string found =
            where < line.size() ? message("'", utf8_prefix(line.substr(where), 12), "'") : "the end of the line";
        throw InputError(source, ", line ", number, ", column ", where + 1, ": expected ", expected, ", found ", found);
    }
    void skip_blanks() {
        while (at < line.size() && is_blank(line[at])) ++at;
    }
    void take(char c, const char* expected) {
        skip_blanks();
        if (at == line.size() || line[at] != c) fail(expected, at);
        ++at;
    }

    std::int64_t integer(bool negative_allowed, const char* expected) {
        skip_blanks();
        const std::size_t start = at;
        bool negative = false;
        if (negative_allowed && at < line.size() && (line[at] == '-' || line[at] == '+')) negative = line[at++] == '-';
        const std::size_t digits = at;
        std::int64_t value = 0;
        for (; at < line.size() && is_digit(line[at]); ++at) {
            value = 10 * value + (line[at] - '0');
            if (value > kLargestOffset) fail("a smaller number", start);
        }
        if (at == digits) fail(expected, start);
        return negative ? -value : value;
    }

    std::int64_t regex() {
        take(',', "',' and a regular expression in quotes");
        take('"', "a regular expression in quotes");
        const std::size_t start = at;
        while (at < line.size() && line[at] != '"') at += line[at] == '\\' && at + 1 < line.size() ? 2 : 1;
        if (at >= line.size()) fail("'\"' to close the regular expression", line.size());
        std::optional<Regex::Error> error;
        Regex made(line.substr(start, at - start), error, out.bytes_);
        if (error) throw InputError(source, ", line ", number, ", column ", start + error->at + 1, ": ", error->what);
        ++at;
        out.regexes_.push_back(std::move(made));
        return static_cast<std::int64_t>(out.regexes_.size()) - 1;
    }

    // A word that ends before any of these characters.
    std::string_view word(const char* ends) {
        skip_blanks();
        const std::size_t start = at;
        at = std::min(line.find_first_of(ends, at), line.size());
        return line.substr(start, at - start);
    }

    // Parses NAME, NAME:CLASS or NAME,n of a lookup.
    void look_up(WordFunction& made) {
        take(',', "',' and the name of a resource");
        skip_blanks();
        const std::size_t start = at;
        const std::string_view name = word(":,] \t");
        for (const auto& resource : out.resources_) {
            if (resource->name() == name) made.resource = resource;
        }
        if (!made.resource) {
            std::string given;
            for (const auto& resource : out.resources_) given += (given.empty() ? "" : ", ") + resource->name();
            fail(given.empty() ? "a lookup in a given resource (a lexicon, clusters or word classes; none was given)"
                               : message("the name of a given resource: ", given),
                 start);
        }
        skip_blanks();
        if (at < line.size() && line[at] == ':') {
            const std::size_t where = ++at;
            const std::string_view wanted = word("]");
            const auto found = made.resource->classes().find(wanted);
            if (!made.is_lexicon() || !found) fail(message("a class of the lexicon ", name), where);
            made.only = *found;
        } else if (at < line.size() && line[at] == ',') {
            if (made.is_lexicon()) fail("']' or ':' and a class, for a lexicon", at);
            count(made);
        }
    }

    void count(WordFunction& made) {
        take(',', "',' and a number of characters");
        const std::size_t start = at;
        made.n = integer(false, "a number of characters (an integer from 1)");
        if (made.n == 0) fail("a number of characters (an integer from 1)", start);
    }

    // The index of a word function, shared by all macros with the same arguments.
    std::int64_t function(char letter, std::int64_t column) {
        WordFunction made{ascii_lower(letter), letter != ascii_lower(letter), column};
        const bool affix = made.letter == 'p' || made.letter == 's';
        skip_blanks();
        if (affix || (made.letter == 'h' && at < line.size() && line[at] == ',')) count(made);
        if (made.letter == 'd') look_up(made);
        const auto found = std::find(out.functions_.begin(), out.functions_.end(), made);
        const std::int64_t index = found - out.functions_.begin();
        if (found == out.functions_.end()) out.functions_.push_back(made);
        return index;
    }

    Item macro() {
        const std::size_t start = at++;
        const char letter = at < line.size() ? line[at] : '\0';
        const bool is_function = letter != '\0' && kFunctions.find(letter) != kFunctions.npos;
        Item item;
        item.macro = is_function ? 'f' : letter == 'e' ? 'e' : ascii_lower(letter);
        item.lower = !is_function && ascii_lower(letter) != letter;
        const bool known = is_function || letter == 'e' || item.macro == 'x' || item.macro == 't' || item.macro == 'm';
        if (!known) fail("x, t, m, l, p, s, h, c, n, d or e after '%'", at);
        ++at;
        take('[', "'['");
        skip_blanks();
        if (at < line.size() && line[at] == '@') {
            item.row.absolute = true;
            ++at;
        }
        item.row.offset = integer(true, "a row (an integer)");
        if (item.macro == 'e') {
            take(']', "']'");
            return item;
        }
        take(',', "',' and a column");
        item.column = integer(false, "a column (an integer from 0)");
        if (item.macro == 't' || item.macro == 'm') item.index = regex();
        if (is_function) item.index = function(letter, item.column);
        take(']', "']'");
        const auto place = std::lower_bound(out.columns_.begin(), out.columns_.end(), item.column);
        if (place == out.columns_.end() || *place != item.column) out.columns_.insert(place, item.column);
        if (item.column >= out.n_columns_) {
            out.n_columns_ = item.column + 1;
            out.widest_ = message(source, ", line ", number, ": ", line.substr(start, at - start));
        }
        return item;
    }

    void parse() {
        Line made = {};
        const std::size_t kind = kKinds.find(ascii_upper(line[0]));
        if (kind == kKinds.npos) fail("a line that begins with U, B, T, * or #", 0);
        made.kind = static_cast<Kind>(kind);
        while (at < line.size()) {
            if (line[at] == '%') {
                made.items.push_back(macro());
            } else {
                const std::size_t end = std::min(line.find('%', at), line.size());
                made.items.push_back({0, false, {}, 0, std::string(line.substr(at, end - at)), {}, -1});
                at = end;
            }
        }
        if (out.dialect_ == Dialect::wapiti) made.items[0].literal[0] = ascii_lower(line[0]);
        for (Item& item : made.items) item.hash = TextHash(item.literal);
        made.known = std::all_of(made.items.begin(), made.items.end(), is_known);
        out.lines_.push_back(std::move(made));
    }
};

Template::Template(std::string text, Dialect dialect, const std::string& source, bool bytes, Resources resources)
    : text_(std::move(text)), dialect_(dialect), bytes_(bytes), resources_(std::move(resources)) {
    check_text(text_, source, 1);
    check_distinct(resources_);
    for (std::size_t k = 0; k < near_.size(); ++k) {
        near_[k] = boundary(k < kNear, static_cast<std::int64_t>(k) % kNear + 1);
        near_hashes_[k] = TextHash(near_[k]);
    }
    std::string_view rest = without_mark(text_);
    for (std::int64_t number = 1; !rest.empty(); ++number) {
        std::string_view line = take_line(rest);
        const bool wapiti = dialect == Dialect::wapiti;
        const std::size_t comment = wapiti || line.starts_with('#') ? line.find('#') : line.npos;
        line = line.substr(0, comment);
        if (wapiti || std::all_of(line.begin(), line.end(), is_blank)) {
            while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
        }
        if (!line.empty()) Parser{*this, source, number, line}.parse();
    }
    if (lines_.empty()) throw InputError(source, ": expected at least one line U..., B..., T... or *..., found none");
    for (const auto& resource : resources_) {
        const auto uses = [&](const WordFunction& function) { return function.resource == resource; };
        if (std::any_of(functions_.begin(), functions_.end(), uses)) continue;
        throw InputError("resource ", resource->name(), ": expected a line with %d[0,0,", resource->name(),
                         "] in the template (", source, "), found none");
    }
    for (const WordFunction& function : functions_) {
        if (function.resource != nullptr) function.resource->prepare(function.lower);
    }
}

void Template::check_columns(std::int64_t available, const std::string& where) const {
    if (available >= n_columns_) return;
    if (available == 0) {
        throw InputError(where, ": expected ", n_columns_ + 1,
                         " or more columns, with the label in the last one, found 1 ",
                         "(columns are separated by spaces or tabs)");
    }
    throw InputError(where, ": expected ", n_columns_, n_columns_ == 1 ? " column" : " columns", " of observations (",
                     widest_, "), found ", available);
}

void Template::check_is_text(const Rows& rows, const std::string& where) const {
    if (rows.is_text || bytes_ || (regexes_.empty() && functions_.empty())) return;
    const std::string_view what = regexes_.empty() ? "macros" : "regular expressions";
    throw InputError(where, ": expected text in UTF-8, because ", what,
                     " of the template read characters, found other bytes");
}

}  // namespace sparsecrf
