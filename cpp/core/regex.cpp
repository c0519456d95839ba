#include "regex.hpp"

#include "error.hpp"
#include "utf8.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kMostRepeats = 64;
constexpr std::string_view kClasses = "adlpsuwADLPSUW";

// isalpha and its like in the C locale, whatever locale the program runs in.
bool in_class(char kind, unsigned char c) {
    const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9';
    switch (kind) {
        case 'a':
            return lower || upper;
        case 'd':
            return digit;
        case 'l':
            return lower;
        case 'p':
            return c > ' ' && c < 0x7F && !lower && !upper && !digit;
        case 's':
            return c == ' ' || (c >= '\t' && c <= '\r');
        case 'u':
            return upper;
        default:
            return lower || upper || digit;  // w
    }
}

}  // namespace

Regex::Regex(std::string_view expression, std::optional<Error>& error) {
    std::size_t at = 0;
    if (!expression.empty() && expression[0] == '^') {
        from_start_ = true;
        at = 1;
    }
    while (at < expression.size()) {
        if (expression[at] == '$' && at + 1 == expression.size()) {
            to_end_ = true;
            break;
        }
        if (expression[at] == '*' || expression[at] == '?') {
            error = Error{at, std::string("expected a character before '") + expression[at] + "' (write \\" +
                                  expression[at] + " for the character itself)"};
            return;
        }
        Item item{0, {}, Repeat::once};
        if (expression[at] == '\\') {
            if (++at == expression.size()) {
                error = Error{at - 1, "expected a character after the backslash, found the end of the expression"};
                return;
            }
            if (kClasses.find(expression[at]) != kNone) item.kind = expression[at];
        } else if (expression[at] == '.') {
            item.kind = '.';
        }
        const std::size_t length = utf8_length(expression.substr(at));
        if (item.kind == 0) item.literal = expression.substr(at, length);
        at += length;
        if (at < expression.size() && (expression[at] == '*' || expression[at] == '?')) {
            item.repeat = expression[at] == '*' ? Repeat::any : Repeat::optional;
            if (++repeats_ > kMostRepeats) {
                error = Error{at, message("expected at most ", kMostRepeats, " of * and ?, found more")};
                return;
            }
            ++at;
        }
        items_.push_back(std::move(item));
    }
}

std::size_t Regex::step(const Item& item, std::string_view text) {
    if (text.empty()) return 0;
    if (item.kind == 0) return text.starts_with(item.literal) ? item.literal.size() : 0;
    if (item.kind == '.') return utf8_length(text);
    const char small = static_cast<char>(item.kind | 0x20);
    const bool inside = in_class(small, static_cast<unsigned char>(text[0]));
    if (inside == (item.kind == small)) return utf8_length(text);
    return 0;
}

// Backtracking: recursion is as deep as there are repeats, and a star is a loop.
std::size_t Regex::match(std::size_t k, std::string_view text, std::size_t at, std::vector<bool>& failed) const {
    const std::size_t place = k * (text.size() + 1) + at;
    const auto fail = [&] {
        if (!failed.empty()) failed[place] = true;
        return kNone;
    };
    if (!failed.empty() && failed[place]) return kNone;
    for (; k < items_.size(); ++k) {
        const Item& item = items_[k];
        const std::size_t length = step(item, text.substr(at));
        if (item.repeat == Repeat::once) {
            if (length == 0) return fail();
            at += length;
        } else if (item.repeat == Repeat::optional) {
            if (length == 0) continue;
            const std::size_t end = match(k + 1, text, at + length, failed);
            if (end != kNone) return end;
        } else {
            for (;;) {
                const std::size_t end = match(k + 1, text, at, failed);
                if (end != kNone) return end;
                const std::size_t more = step(item, text.substr(at));
                if (more == 0) return fail();
                at += more;
            }
        }
    }
    return to_end_ && at != text.size() ? fail() : at;
}

Regex::Match Regex::search(std::string_view text) const {
    std::vector<bool> failed;
    if (repeats_ > 1) failed.resize((items_.size() + 1) * (text.size() + 1));
    for (std::size_t begin = 0;; begin += utf8_length(text.substr(begin))) {
        const std::size_t end = match(0, text, begin, failed);
        if (end != kNone) return {begin, end - begin, true};
        if (from_start_ || begin == text.size()) return {0, 0, false};
    }
}

}  // namespace sparsecrf
