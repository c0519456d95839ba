#include "core/text/templates/regex.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/base/utf8.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kMostRepeats = 64;
constexpr std::size_t kMostItems = 1000;
constexpr std::string_view kClasses = "adlpsuwADLPSUW";

// Like isalpha etc. in the C locale, regardless of the program's locale.
bool in_class(char kind, unsigned char c) {
    const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9';
    if (kind == 'a') return lower || upper;
    if (kind == 'd') return digit;
    if (kind == 'l') return lower;
    if (kind == 'p') return c > ' ' && c < 0x7F && !lower && !upper && !digit;
    if (kind == 's') return c == ' ' || (c >= '\t' && c <= '\r');
    if (kind == 'u') return upper;
    return lower || upper || digit;  // w
}

}  // namespace

Regex::Regex(std::string_view expression, std::optional<Error>& error, bool bytes) : bytes_(bytes) {
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
        const std::size_t length = length_of_first(expression.substr(at));
        if (item.kind == 0) item.literal = expression.substr(at, length);
        at += length;
        if (at < expression.size() && (expression[at] == '*' || expression[at] == '?')) {
            item.repeat = expression[at] == '*' ? Repeat::any : Repeat::optional;
            if (++repeats_ > kMostRepeats) {
                error = Error{at, message("expected at most ", kMostRepeats, " repetitions (* or ?), found more")};
                return;
            }
            ++at;
        }
        if (items_.size() == kMostItems) {
            error = Error{at, message("expected at most ", kMostItems, " characters and classes, found more")};
            return;
        }
        items_.push_back(std::move(item));
    }
}

std::size_t Regex::length_of_first(std::string_view text) const { return bytes_ ? 1 : utf8_length(text); }

std::size_t Regex::step(const Item& item, std::string_view text) const {
    if (text.empty()) return 0;
    if (item.kind == 0) return text.starts_with(item.literal) ? item.literal.size() : 0;
    if (item.kind == '.') return length_of_first(text);
    const char small = static_cast<char>(item.kind | 0x20);
    const bool inside = in_class(small, static_cast<unsigned char>(text[0]));
    if (inside == (item.kind == small)) return length_of_first(text);
    return 0;
}

// Simulates all matches at once, as in Thompson's and Pike's algorithms. Keeps a list of the items that may match the
// next character, in the order in which backtracking would try them. An item is in the list at most once, so each
// character takes at most one step per item, and the total number of steps is at most items times text length.
struct Regex::Search {
    struct Thread {
        std::size_t item;   // [0, items]; the value `items` means the end of a match
        std::size_t begin;  // start of its match
    };

    const Regex& regex;
    std::vector<Thread> now, next;
    std::vector<std::size_t> seen;  // [items + 1] 1 + position at which the item was last added to a list

    explicit Search(const Regex& of) : regex(of), seen(of.items_.size() + 1) {
        now.reserve(seen.size());
        next.reserve(seen.size());
    }

    // Adds item k and, if k may be skipped, the items after it to the list. The recursion depth is the number of
    // consecutive repeats.
    void add(std::vector<Thread>& list, std::size_t k, std::size_t begin, std::size_t at) {
        if (seen[k] == at + 1) return;
        seen[k] = at + 1;
        const Repeat repeat = k < regex.items_.size() ? regex.items_[k].repeat : Repeat::once;
        if (repeat == Repeat::any) add(list, k + 1, begin, at);
        list.push_back({k, begin});
        if (repeat == Repeat::optional) add(list, k + 1, begin, at);
    }

    Match run(std::string_view text) {
        const std::vector<Item>& items = regex.items_;
        Match found{0, 0, false};
        for (std::size_t at = 0;;) {
            if (!found.found && (at == 0 || !regex.from_start_)) add(now, 0, at, at);
            const std::string_view rest = text.substr(at);
            const std::size_t length = rest.empty() ? 0 : regex.length_of_first(rest);
            for (const Thread& thread : now) {
                if (thread.item == items.size()) {
                    if (regex.to_end_ && !rest.empty()) continue;
                    found = {thread.begin, at - thread.begin, true};
                    break;  // the remaining threads have lower priority
                }
                const Item& item = items[thread.item];
                if (regex.step(item, rest) == 0) continue;
                add(next, item.repeat == Repeat::any ? thread.item : thread.item + 1, thread.begin, at + length);
            }
            std::swap(now, next);
            next.clear();
            if (rest.empty() || (now.empty() && (found.found || regex.from_start_))) return found;
            at += length;
        }
    }
};

Regex::Match Regex::search(std::string_view text) const {
    if (repeats_ > 0) return Search(*this).run(text);
    for (std::size_t begin = 0;; begin += length_of_first(text.substr(begin))) {
        std::size_t at = begin, k = 0, length = 1;
        for (; k < items_.size() && (length = step(items_[k], text.substr(at))) > 0; ++k) at += length;
        if (k == items_.size() && (!to_end_ || at == text.size())) return {begin, at - begin, true};
        if (from_start_ || begin == text.size()) return {0, 0, false};
    }
}

}  // namespace sparsecrf
