#include "core/base/json.hpp"

#include <algorithm>
#include <charconv>

#include "core/base/error.hpp"
#include "core/base/utf8.hpp"

namespace sparsecrf {
namespace {

constexpr int kDeepest = 200;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
   public:
    explicit Parser(std::string_view text) : text_(text) {}

    Json whole() {
        Json made = value(0);
        skip_blanks();
        if (at_ != text_.size()) fail("the end after the value");
        return made;
    }

   private:
    [[noreturn]] void fail(const char* expected) const {
        const std::string found =
            at_ < text_.size() ? message("'", utf8_prefix(text_.substr(at_), 10), "'") : "the end of the text";
        throw InputError("byte ", at_, ": expected ", expected, ", found ", found);
    }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char c) {
        if (peek() != c || at_ >= text_.size()) return false;
        ++at_;
        return true;
    }
    void skip_blanks() {
        while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
    }

    Json value(int depth) {
        if (depth > kDeepest) fail("at most 200 nested levels");
        skip_blanks();
        Json made;
        if (peek() == '{') {
            made.kind = Json::Kind::object;
            members(made, depth);
        } else if (peek() == '[') {
            made.kind = Json::Kind::array;
            elements(made, depth);
        } else if (peek() == '"') {
            made.kind = Json::Kind::text;
            made.text = string();
        } else if (peek() == '-' || is_digit(peek())) {
            made.kind = Json::Kind::number;
            made.text = number();
        } else if (word("true") || word("false")) {
            made.kind = Json::Kind::boolean;
            made.boolean = text_[at_ - 2] == 'u';
        } else if (!word("null")) {
            fail("a value");
        }
        return made;
    }

    bool word(std::string_view wanted) {
        if (!text_.substr(at_).starts_with(wanted)) return false;
        at_ += wanted.size();
        return true;
    }

    void members(Json& made, int depth) {
        ++at_;
        skip_blanks();
        if (take('}')) return;
        do {
            skip_blanks();
            if (peek() != '"') fail("a name");
            made.names.push_back(string());
            skip_blanks();
            if (!take(':')) fail("':'");
            made.items.push_back(value(depth + 1));
            skip_blanks();
        } while (take(','));
        if (!take('}')) fail("',' or '}'");
        std::vector<std::string_view> sorted(made.names.begin(), made.names.end());
        std::sort(sorted.begin(), sorted.end());
        if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) fail("distinct names in the object");
    }

    void elements(Json& made, int depth) {
        ++at_;
        skip_blanks();
        if (take(']')) return;
        do {
            made.items.push_back(value(depth + 1));
            skip_blanks();
        } while (take(','));
        if (!take(']')) fail("',' or ']'");
    }

    std::string number() {
        const std::size_t begin = at_;
        take('-');
        if (!take('0')) digits();
        if (take('.')) digits();
        if (peek() == 'e' || peek() == 'E') {
            ++at_;
            if (!take('+')) take('-');
            digits();
        }
        return std::string(text_.substr(begin, at_ - begin));
    }
    void digits() {
        if (!is_digit(peek())) fail("a digit");
        while (is_digit(peek())) ++at_;
    }

    std::string string() {
        ++at_;
        std::string made;
        for (;;) {
            const std::size_t begin = at_;
            while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
                   static_cast<unsigned char>(text_[at_]) >= 0x20) {
                ++at_;
            }
            made += text_.substr(begin, at_ - begin);
            if (take('"')) return made;
            if (!take('\\')) fail("'\"'");
            escape(made);
        }
    }
    void escape(std::string& made) {
        constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
        if (take('u')) {
            char32_t code = hex4();
            if (code >= 0xD800 && code < 0xDC00 && word("\\u")) {
                const char32_t low = hex4();
                if (low < 0xDC00 || low > 0xDFFF) fail("a low surrogate before this");
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            }
            if (code >= 0xD800 && code <= 0xDFFF) fail("a pair of surrogates before this");
            append_utf8(code, made);
            return;
        }
        const std::size_t which = at_ < text_.size() ? kLetters.find(text_[at_]) : std::string_view::npos;
        if (which == std::string_view::npos) fail("an escape");
        made += kMeanings[which];
        ++at_;
    }
    char32_t hex4() {
        char32_t code = 0;
        for (int k = 0; k < 4; ++k, ++at_) {
            const char c = peek();
            if (is_digit(c)) {
                code = 16 * code + static_cast<char32_t>(c - '0');
            } else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
                code = 16 * code + static_cast<char32_t>((c | 0x20) - 'a' + 10);
            } else {
                fail("four hexadecimal digits");
            }
        }
        return code;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? nullptr : &items[static_cast<std::size_t>(found - names.begin())];
}

std::optional<std::int64_t> Json::whole() const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool fits = error == std::errc() && end == text.data() + text.size();
    if (kind != Kind::number || !fits || value < 0) return std::nullopt;
    return value;
}

Json parse_json(std::string_view text) {
    if (const std::size_t at = utf8_error(text); at != std::string_view::npos) {
        throw InputError("byte ", at, ": expected UTF-8, found ", hex_byte(text[at]));
    }
    return Parser(text).whole();
}

void append_json(std::string_view utf8, bool ascii, std::string& out) {
    constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
    const auto append_escape = [&](unsigned unit) {
        constexpr char kHex[] = "0123456789abcdef";
        out += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 15];
    };
    out += '"';
    while (!utf8.empty()) {
        const Utf8Character c = utf8_first(utf8);
        if (const std::size_t k = kSpecial.find(utf8[0]); k != std::string_view::npos) {
            out += {'\\', kLetters[k]};
        } else if (c.code >= 0x20 && (c.code < 0x7F || !ascii)) {
            out += utf8.substr(0, c.length);
        } else if (c.code < 0x10000) {
            append_escape(static_cast<unsigned>(c.code));
        } else {
            append_escape(0xD800 + static_cast<unsigned>((c.code - 0x10000) >> 10));
            append_escape(0xDC00 + static_cast<unsigned>((c.code - 0x10000) & 0x3FF));
        }
        utf8.remove_prefix(c.length);
    }
    out += '"';
}

}  // namespace sparsecrf
