#include "core/text/resources/vector_text.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/number.hpp"
#include "core/base/utf8.hpp"
#include "core/text/columns.hpp"
#include "core/text/templates/word_functions.hpp"

namespace sparsecrf {
namespace {

bool separates(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Removes the last field of a text and the surrounding spaces and tabs, and returns it.
std::string_view take_last(std::string_view& text) {
    while (!text.empty() && separates(text.back())) text.remove_suffix(1);
    std::size_t begin = text.size();
    while (begin > 0 && !separates(text[begin - 1])) --begin;
    const std::string_view field = text.substr(begin);
    text = text.substr(0, begin);
    while (!text.empty() && separates(text.back())) text.remove_suffix(1);
    return field;
}

// The beginning of a text, for error messages.
std::string shown(std::string_view text) {
    const std::string_view part = utf8_prefix(text, 40);
    return escaped({&part, 1});
}

bool is_short_count(std::string_view text) { return text.size() < 12 && is_number(text); }

}  // namespace

VectorText::VectorText(std::string source, std::int64_t n_bytes, const StringTable* wanted)
    : source_(std::move(source)), n_bytes_(n_bytes), all_(wanted == nullptr) {
    std::string lower;
    for (std::uint32_t k = 0; wanted != nullptr && k < wanted->size(); ++k) {
        wanted_.intern((*wanted)[k]);
        lower.clear();
        append_lower((*wanted)[k], lower);
        wanted_.intern(lower);
    }
}

std::string VectorText::where() const { return message(source_, ", line ", line_); }

void VectorText::wrong_width(std::string_view line, std::size_t found) const {
    const std::string expected = width_ > 0 ? std::to_string(width_) : "some";
    const char* hint =
        utf8_error(line) == line.npos ? "" : "; it is not UTF-8 text: save files in word2vec's binary format as text";
    throw InputError(where(), ": expected a word and ", expected, " numbers, found ", found,
                     found == 1 ? " number" : " numbers", hint);
}

void VectorText::add(std::string_view piece) {
    while (!piece.empty()) {
        const std::string_view line = take_line(piece);
        ++line_;
        if (line.find_first_not_of(" \t\r") == line.npos) continue;
        if (!split(line)) continue;
        ++n_lines_;
        if (all_ || wanted_.find(word_)) keep();
    }
}

// Values are counted from the end because a word may contain spaces (in GloVe, some do). A word cannot end with a
// number, because the line would then have one value too many.
bool VectorText::split(std::string_view line) {
    numbers_.clear();
    std::string_view rest = line_ == 1 ? without_mark(line) : line;
    if (width_ == 0) {
        while (!rest.empty() && !separates(rest[0]) && rest.find_first_of(" \t") != rest.npos) {
            numbers_.push_back(take_last(rest));
        }
        if (line_ == 1 && numbers_.size() == 1 && is_short_count(rest) && is_short_count(numbers_[0])) {
            width_ = static_cast<std::int64_t>(*parse_number(numbers_[0]));
            if (all_) {  // do not trust the header: a value takes at least two bytes
                const double n = *parse_number(rest) * static_cast<double>(width_);
                values_.reserve(static_cast<std::size_t>(std::min(n, static_cast<double>(n_bytes_ / 2))));
            }
            n_bytes_ = 0;
            return false;
        }
        if (numbers_.empty()) wrong_width(line, 0);
        width_ = static_cast<std::int64_t>(numbers_.size());
        if (all_ && n_bytes_ > 0) {
            // Reserves 10% more than lines like this one need: untouched memory is free, reallocation is not.
            values_.reserve(static_cast<std::size_t>(n_bytes_) / (line.size() + 1) * numbers_.size() / 10 * 11);
        }
    } else {
        while (!rest.empty() && static_cast<std::int64_t>(numbers_.size()) < width_)
            numbers_.push_back(take_last(rest));
    }
    word_ = rest;
    if (word_.empty()) wrong_width(line, numbers_.size() - (separates(line[0]) ? 0 : 1));
    if (const std::size_t blank = word_.find_last_of(" \t"); blank != word_.npos) {
        if (parse_number(word_.substr(blank + 1))) wrong_width(line, numbers_.size() + 1);
    }
    return true;
}

void VectorText::keep() {
    if (utf8_error(word_) != word_.npos) return;  // cannot equal any word of UTF-8 text
    const std::uint32_t before = words_.size();
    if (words_.intern(word_) < before) return;
    for (std::size_t j = numbers_.size(); j-- > 0;) {
        const auto value = parse_number(numbers_[j]);
        if (!value) {
            throw InputError(where(), ": expected numbers after '", shown(word_), "', found '", shown(numbers_[j]),
                             "'");
        }
        values_.push_back(static_cast<float>(*value));
        if (!std::isfinite(values_.back())) {
            throw InputError(where(), ", number ", numbers_.size() - j, ": expected a finite number, found ",
                             shown(numbers_[j]));
        }
    }
}

}  // namespace sparsecrf
