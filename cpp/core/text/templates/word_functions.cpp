#include "core/text/templates/word_functions.hpp"

#include <algorithm>

#include "core/base/unicode.hpp"
#include "core/base/utf8.hpp"
#include "core/text/same_text.hpp"

namespace sparsecrf {
namespace {

constexpr std::string_view kClassLetters = "Xxo0.$m?";  // in the order of CharClass

CharClass class_of_first(const Utf8Character& first) {
    return first.code == Utf8Character::kNone ? CharClass::rest : class_of(first.code);
}

// Whether every byte of a cell is a character, as in most cells.
bool is_ascii(std::string_view cell) {
    unsigned char all = 0;
    for (const char c : cell) all |= static_cast<unsigned char>(c);
    return all < 0x80;
}

// A text, and whether every byte is known to be a character.
struct Characters {
    std::string_view text;
    bool ascii;
};

// Calls f(character, class, first code point) for each character.
template <class Function>
void each_character(const Characters& all, Function f) {
    const std::string_view cell = all.text;
    if (all.ascii) {
        for (std::size_t k = 0; k < cell.size(); ++k) {
            f(cell.substr(k, 1), class_of(static_cast<char32_t>(cell[k])), cell.substr(k, 1));
        }
        return;
    }
    std::size_t begin = 0;
    while (begin < cell.size()) {
        const Utf8Character first = utf8_first(cell.substr(begin));
        std::size_t end = begin + first.length;
        while (end < cell.size() && static_cast<unsigned char>(cell[end]) >= 0x80) {  // combining marks are not ASCII
            const Utf8Character next = utf8_first(cell.substr(end));
            if (class_of_first(next) != CharClass::mark) break;
            end += next.length;
        }
        f(cell.substr(begin, end - begin), class_of_first(first), cell.substr(begin, first.length));
        begin = end;
    }
}

std::int64_t length_of(const Characters& cell) {
    if (cell.ascii) return static_cast<std::int64_t>(cell.text.size());
    std::int64_t n = 0;
    each_character(cell, [&](auto, auto, auto) { ++n; });
    return n;
}

// The characters with indices from `first` to `last` - 1.
Characters characters(const Characters& cell, std::int64_t first, std::int64_t last) {
    if (cell.ascii) {
        const auto length = static_cast<std::int64_t>(cell.text.size());
        const std::int64_t begin = std::min(first, length);
        const auto size = static_cast<std::size_t>(std::min(last, length) - begin);
        return {cell.text.substr(static_cast<std::size_t>(begin), size), true};
    }
    std::int64_t number = 0;
    std::size_t begin = 0, end = 0, at = 0;
    each_character(cell, [&](std::string_view character, auto, auto) {
        at += character.size();
        ++number;
        if (number <= first) begin = at;
        if (number <= last) end = at;
    });
    return {cell.text.substr(begin, end - begin), false};
}

void append_shape(const Characters& cell, std::int64_t most, std::string& out) {
    std::string_view before;
    std::int64_t run = 0;
    each_character(cell, [&](auto, CharClass kind, std::string_view code_point) {
        const bool by_class = kind <= CharClass::number || kind == CharClass::mark;
        const std::string_view mark = by_class ? kClassLetters.substr(static_cast<std::size_t>(kind), 1) : code_point;
        run = mark == before ? run + 1 : 1;
        before = mark;
        if (most == 0 || run <= most) out += mark;
    });
}

void append_classes(const Characters& cell, std::string& out) {
    bool occurs[kClassLetters.size()] = {};
    each_character(cell, [&](auto, CharClass kind, auto) { occurs[static_cast<std::size_t>(kind)] = true; });
    for (std::size_t k = 0; k < kClassLetters.size(); ++k) {
        if (occurs[k]) out.push_back(kClassLetters[k]);
    }
}

void append_in_lower(const Characters& characters, std::string& out) {
    const std::string_view text = characters.text;
    if (characters.ascii) {
        const std::size_t before = out.size();
        out.resize(before + text.size());
        std::transform(text.begin(), text.end(), out.begin() + static_cast<std::ptrdiff_t>(before), ascii_lower);
        return;
    }
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Character next = utf8_first(text.substr(at));
        if (next.code == Utf8Character::kNone) {
            out.push_back(text[at]);
        } else {
            append_utf8(lower_of(next.code), out);
            if (next.code == 0x130) append_utf8(0x307, out);
        }
        at += next.length;
    }
}

}  // namespace

void append_lower(std::string_view text, std::string& out) { append_in_lower({text, is_ascii(text)}, out); }

void WordFunction::append(const HashedText& word, bool ascii, std::string& out) const {
    const Characters cell{word.text, ascii};
    switch (letter) {
        case 'd': {
            const auto found = resource->class_of(word.text, word.hash, lower);
            const std::string_view name = found ? resource->classes()[*found] : std::string_view("-");
            out += n == 0 ? name : characters({name, is_ascii(name)}, 0, n).text;
            return;
        }
        case 'l':
            return append_in_lower(cell, out);
        case 'h':
            return append_shape(cell, n, out);
        case 'c':
            return append_classes(cell, out);
        case 'n':
            out += std::to_string(length_of(cell));
            return;
        default: {
            const std::int64_t length = letter == 'p' ? 0 : length_of(cell);
            const Characters part =
                letter == 'p' ? characters(cell, 0, n) : characters(cell, length > n ? length - n : 0, length);
            lower ? append_in_lower(part, out) : static_cast<void>(out += part.text);
        }
    }
}

void WordValues::Values::push() {
    const std::size_t begin = all.empty() ? 0 : all.back().end;
    all.push_back({TextHash(std::string_view(bytes).substr(begin)), bytes.size()});
}

void WordValues::Values::clear() {
    bytes.clear();
    all.clear();
}

WordValues::WordValues(const std::vector<WordFunction>& functions, const std::vector<std::int64_t>& columns)
    : functions_(functions), marks_(functions.size()) {
    for (const std::int64_t number : columns) columns_.push_back({number, {}, {}, {}, kUnknown});
    for (std::size_t f = 0; f < functions_.size(); ++f) {
        const std::size_t c = std::find(columns.begin(), columns.end(), functions_[f].column) - columns.begin();
        if (functions_[f].is_lexicon()) {
            places_.push_back({true, c, n_of_rows_++});
        } else {
            places_.push_back({false, c, columns_[c].functions.size()});
            columns_[c].functions.push_back(f);
        }
    }
}

bool WordValues::read(const Rows& rows, bool anew) {
    const auto is_full = [](const Column& column) {
        return column.words.size() > kMostWords || column.words.bytes().size() + column.values.n_bytes() > kMostBytes;
    };
    const bool full = anew || std::any_of(columns_.begin(), columns_.end(), is_full);
    if (full) {
        for (Column& column : columns_) {
            column.words = {};
            column.values.clear();
            column.last = kUnknown;
        }
        of_known_.clear();
    }
    rows.numbers.empty() ? number_words(rows) : number_known(rows);
    if (n_of_rows_ > 0) match_lexicons(rows);
    return full;
}

void WordValues::number_words(const Rows& rows) {
    here_.resize(static_cast<std::size_t>(rows.length) * columns_.size());
    for (std::int64_t t = 0; t < rows.length; ++t) {
        for (const Column& column : columns_) column.words.prefetch(rows.at(t, column.number).hash.value);
    }
    std::uint32_t* here = here_.data();
    for (std::int64_t t = 0; t < rows.length; ++t) {
        for (Column& column : columns_) *here++ = number(column, rows.at(t, column.number));
    }
}

// Numbers the words of rows that have numbers: those of each distinct row only once.
void WordValues::number_known(const Rows& rows) {
    const std::size_t C = columns_.size();
    here_.resize(static_cast<std::size_t>(rows.length) * C);
    std::uint32_t* here = here_.data();
    for (std::int64_t t = 0; t < rows.length; ++t, here += C) {
        const std::size_t at = rows.numbers[static_cast<std::size_t>(t)] * C;
        if (at >= of_known_.size()) of_known_.resize(2 * at + C, kUnknown);
        std::uint32_t* const known = of_known_.data() + at;
        for (std::size_t c = 0; c < C; ++c) {
            if (known[c] == kUnknown) known[c] = number(columns_[c], rows.at(t, columns_[c].number));
            here[c] = known[c];
        }
    }
}

std::uint32_t WordValues::number(Column& column, const HashedText& word) {
    const auto same = [&](std::string_view other) { return same_text(word.text, other); };
    if (column.last != kUnknown && same(column.words[column.last])) return column.last;  // often the same as last
    if (const auto known = column.words.find_if(word.hash.value, same)) return column.last = *known;
    const std::uint32_t made = column.last = column.words.intern({&word.text, 1}, word.hash);
    const bool ascii = is_ascii(word.text);
    for (const std::size_t f : column.functions) {
        functions_[f].append(word, ascii, column.values.bytes);
        column.values.push();
    }
    return made;
}

void WordValues::match_lexicons(const Rows& rows) {
    of_rows_.clear();
    std::vector<const LexiconMarks*> marks(functions_.size(), nullptr);
    for (std::size_t f = 0; f < functions_.size(); ++f) {
        if (places_[f].of_rows) marks[f] = &marks_of(f, rows);
    }
    for (std::int64_t t = 0; t < rows.length; ++t) {
        for (std::size_t f = 0; f < functions_.size(); ++f) {
            if (marks[f] == nullptr) continue;
            functions_[f].resource->append_marks(*marks[f], t, functions_[f].only, of_rows_.bytes);
            of_rows_.push();
        }
    }
}

const LexiconMarks& WordValues::marks_of(std::size_t f, const Rows& rows) {
    const auto same = [&](const WordFunction& other) {
        const WordFunction& wanted = functions_[f];
        return other.resource == wanted.resource && other.lower == wanted.lower && other.column == wanted.column;
    };
    const std::size_t first = std::find_if(functions_.begin(), functions_.end(), same) - functions_.begin();
    if (first == f) functions_[f].resource->match(rows, functions_[f].column, functions_[f].lower, marks_[f]);
    return marks_[first];
}

}  // namespace sparsecrf
