#include "core/text/word_functions.hpp"

#include <algorithm>

#include "core/base/unicode.hpp"
#include "core/base/utf8.hpp"

namespace sparsecrf {
namespace {

constexpr std::string_view kClassLetters = "Xxo0.$m?";  // in the order of CharClass

CharClass class_of_first(const Utf8Character& first) {
    return first.code == Utf8Character::kNone ? CharClass::rest : class_of(first.code);
}

// Calls f(character, class, its first code point) for each character.
template <class Function>
void each_character(std::string_view cell, Function f) {
    std::size_t begin = 0;
    while (begin < cell.size()) {
        const Utf8Character first = utf8_first(cell.substr(begin));
        std::size_t end = begin + first.length;
        while (end < cell.size() && static_cast<unsigned char>(cell[end]) >= 0x80) {  // no mark is ASCII
            const Utf8Character next = utf8_first(cell.substr(end));
            if (class_of_first(next) != CharClass::mark) break;
            end += next.length;
        }
        f(cell.substr(begin, end - begin), class_of_first(first), cell.substr(begin, first.length));
        begin = end;
    }
}

std::int64_t length_of(std::string_view cell) {
    std::int64_t n = 0;
    each_character(cell, [&](auto, auto, auto) { ++n; });
    return n;
}

// The characters from number `first` to `last` - 1.
std::string_view characters(std::string_view cell, std::int64_t first, std::int64_t last) {
    std::int64_t number = 0;
    std::size_t begin = 0, end = 0, at = 0;
    each_character(cell, [&](std::string_view character, auto, auto) {
        at += character.size();
        ++number;
        if (number <= first) begin = at;
        if (number <= last) end = at;
    });
    return cell.substr(begin, end - begin);
}

void append_shape(std::string_view cell, std::int64_t most, std::string& out) {
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

void append_classes(std::string_view cell, std::string& out) {
    bool occurs[kClassLetters.size()] = {};
    each_character(cell, [&](auto, CharClass kind, auto) { occurs[static_cast<std::size_t>(kind)] = true; });
    for (std::size_t k = 0; k < kClassLetters.size(); ++k) {
        if (occurs[k]) out.push_back(kClassLetters[k]);
    }
}

}  // namespace

void append_lower(std::string_view text, std::string& out) {
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

void WordFunction::append(std::string_view cell, const TextHash& hash, std::string& out) const {
    switch (letter) {
        case 'd': {
            const auto found = resource->class_of(cell, hash, lower);
            const std::string_view name = found ? resource->classes()[*found] : std::string_view("-");
            out += n == 0 ? name : characters(name, 0, n);
            return;
        }
        case 'l':
            return append_lower(cell, out);
        case 'h':
            return append_shape(cell, n, out);
        case 'c':
            return append_classes(cell, out);
        case 'n':
            out += std::to_string(length_of(cell));
            return;
        default: {
            const std::int64_t length = letter == 'p' ? 0 : length_of(cell);
            const std::string_view part =
                letter == 'p' ? characters(cell, 0, n) : characters(cell, length > n ? length - n : 0, length);
            lower ? append_lower(part, out) : static_cast<void>(out += part);
        }
    }
}

const LexiconMarks& WordValues::marks_of(const std::vector<WordFunction>& functions, std::size_t f, const Rows& rows) {
    const auto same = [&](const WordFunction& other) {
        const WordFunction& wanted = functions[f];
        return other.resource == wanted.resource && other.lower == wanted.lower && other.column == wanted.column;
    };
    const std::size_t first = std::find_if(functions.begin(), functions.end(), same) - functions.begin();
    if (first == f) functions[f].resource->match(rows, functions[f].column, functions[f].lower, marks_[f]);
    return marks_[first];
}

void WordValues::compute(const std::vector<WordFunction>& functions, const Rows& rows) {
    size_ = static_cast<std::int64_t>(functions.size());
    bytes_.clear();
    ends_.clear();
    texts_.clear();
    hashes_.clear();
    marks_.resize(functions.size());
    std::vector<const LexiconMarks*> marks(functions.size(), nullptr);
    for (std::size_t f = 0; f < functions.size(); ++f) {
        if (functions[f].is_lexicon()) marks[f] = &marks_of(functions, f, rows);
    }
    for (std::int64_t t = 0; t < rows.length; ++t) {
        for (std::size_t f = 0; f < functions.size(); ++f) {
            const WordFunction& function = functions[f];
            if (marks[f] != nullptr) {
                function.resource->append_marks(*marks[f], t, function.only, bytes_);
            } else {
                const std::int64_t cell = t * rows.n_columns + function.column;
                function.append(rows.cells[cell], rows.hashes[cell], bytes_);
            }
            ends_.push_back(bytes_.size());
        }
    }
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {  // only now do the bytes stay where they are
        texts_.push_back(std::string_view(bytes_).substr(begin, end - begin));
        hashes_.emplace_back(texts_.back());
        begin = end;
    }
}

}  // namespace sparsecrf
