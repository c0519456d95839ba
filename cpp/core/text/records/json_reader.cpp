// JSON lines of tokens: {"tokens": ["Ada", ...], ...}, where a token is a string or a list of columns.
//
// A record is written as by Python's json.dumps(json.loads(line), ensure_ascii=False), with the labels in their field.
// A record is not plain if it has no tokens, comes from an annotation tool, or contains repeated keys, lone surrogates,
// or numbers other than integers, which Python may format differently.
#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

#include "core/base/json.hpp"
#include "core/base/utf8.hpp"
#include "core/text/records/record_reader.hpp"

namespace sparsecrf {
namespace {

// Objects with more keys are left to Python, because each key is compared with all previous ones.
constexpr std::size_t kMostKeys = 256;

bool is_new(std::vector<std::string_view>& keys, std::string_view key) {
    if (keys.size() == kMostKeys) return false;
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) return false;
    keys.push_back(key);
    return true;
}

class JsonReader final : public RecordReader {
   public:
    JsonReader(std::string_view piece, std::string_view key) : rest_(piece), key_(key) {}

    Found next(Rows& rows) override {
        rows.clear();
        while (!rest_.empty()) {
            const std::string_view line = take_line(rest_);
            if (std::all_of(line.begin(), line.end(), is_blank)) continue;
            at_ = line.data();
            end_ = at_ + line.size();
            return record(rows) ? Found::sequence : Found::not_plain;
        }
        return Found::end;
    }

    std::string written(std::string_view label) const override {
        std::string out;
        append_json(label, false, out);
        return out;
    }

    void write(std::span<const std::string> names, std::span<const std::int32_t> labels, std::string& out) override {
        out.append(text_, 0, before_);
        if (!has_key_) {
            out += ", ";
            append_json(key_, false, out);
            out += ": ";
        }
        out += '[';
        for (std::size_t t = 0; t < labels.size(); ++t) {
            if (t > 0) out += ", ";
            out += names[static_cast<std::size_t>(labels[t])];
        }
        out += ']';
        out.append(text_, before_);
        out += '\n';
    }

   private:
    static constexpr int kDeepest = 64;

    // Each function parses a part of the line and appends it to text_ in Python's format. Returns false if the part is
    // not plain.
    bool record(Rows& rows) {
        text_.clear();
        decoded_.clear();
        has_key_ = false;
        bool has_tokens = false;
        skip_blanks();
        const auto of_record = [&](std::string_view key) {
            has_tokens = has_tokens || key == "tokens";
            return field(key, rows);
        };
        if (!object(of_record)) return false;
        skip_blanks();
        if (!has_key_) before_ = text_.size() - 1;
        return at_ == end_ && has_tokens;
    }

    bool field(std::string_view key, Rows& rows) {
        if (key == "data") return false;  // possibly a Label Studio task
        if (key == "tokens") return tokens(rows);
        const std::size_t before = text_.size();
        if (!value(0)) return false;
        if (key == key_) {
            text_.resize(before);
            before_ = before;
            has_key_ = true;
        }
        return true;
    }

    bool tokens(Rows& rows) {
        return list('[', ']', [&] {
            const std::size_t before = rows.cells.size();
            if (!row(rows)) return false;
            const auto found = static_cast<std::int64_t>(rows.cells.size() - before);
            if (rows.length == 0) rows.n_columns = found;
            ++rows.length;
            return found > 0 && found == rows.n_columns;
        });
    }

    bool row(Rows& rows) {
        const auto cell = [&] {
            std::string_view text;
            if (!string(text)) return false;
            rows.add_cell(text);
            return true;
        };
        return at_ < end_ && *at_ == '[' ? list('[', ']', cell) : cell();
    }

    bool value(int depth) {
        if (at_ == end_ || depth > kDeepest) return false;
        if (*at_ == '{') return object([&](std::string_view) { return value(depth + 1); });
        if (*at_ == '[') return list('[', ']', [&] { return value(depth + 1); });
        std::string_view text;
        if (*at_ == '"') return string(text);
        return word("true") || word("false") || word("null") || integer();
    }

    // An object; value(key) parses the value of each member.
    template <class Value>
    bool object(Value value) {
        std::vector<std::string_view> keys;
        return list('{', '}', [&] {
            std::string_view key;
            if (!string(key) || !is_new(keys, key)) return false;
            skip_blanks();
            if (!take(':')) return false;
            text_ += ": ";
            skip_blanks();
            return value(key);
        });
    }

    // A list between two brackets; element() parses each element.
    template <class Element>
    bool list(char open, char close, Element element) {
        if (!take(open)) return false;
        text_ += open;
        skip_blanks();
        if (!take(close)) {
            const std::size_t begin = text_.size();
            do {
                if (text_.size() > begin) text_ += ", ";
                skip_blanks();
                if (!element()) return false;
                skip_blanks();
            } while (take(','));
            if (!take(close)) return false;
        }
        text_ += close;
        return true;
    }

    // Python writes -0 as 0 and rejects very long integers.
    bool integer() {
        const char* const begin = at_;
        if (at_ < end_ && *at_ == '-') ++at_;
        const char* const digits = at_;
        while (at_ < end_ && is_digit(*at_)) ++at_;
        if (at_ == digits || at_ - digits > 18 || (*digits == '0' && at_ - begin > 1)) return false;
        if (at_ < end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E')) return false;
        text_.append(begin, at_);
        return true;
    }

    bool word(std::string_view expected) {
        if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(expected)) return false;
        at_ += expected.size();
        text_ += expected;
        return true;
    }

    // value: the decoded string, a view into the line or decoded_.
    bool string(std::string_view& value) {
        if (!take('"')) return false;
        const char* const begin = at_;
        while (at_ < end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) ++at_;
        if (at_ == end_) return false;
        if (*at_ != '"') return decode(begin, value);
        value = {begin, at_};
        ++at_;
        text_.append(begin - 1, at_);
        return true;
    }

    // There are no escapes between `begin` and at_.
    bool decode(const char* begin, std::string_view& value) {
        std::string& out = decoded_.emplace_back(begin, at_);
        while (at_ < end_ && *at_ != '"') {
            const char c = *at_++;
            if (static_cast<unsigned char>(c) < 0x20) return false;
            if (c != '\\') {
                out += c;
            } else if (!escape(out)) {
                return false;
            }
        }
        if (!take('"')) return false;
        value = out;
        append_json(out, false, text_);
        return true;
    }

    bool escape(std::string& out) {
        constexpr std::string_view kLetters = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
        if (at_ == end_) return false;
        const char c = *at_++;
        if (const std::size_t k = kLetters.find(c); k != kLetters.npos) {
            out += kMeaning[k];
            return true;
        }
        char32_t code = 0, low = 0;
        if (c != 'u' || !code_unit(code)) return false;
        if (code >= 0xD800 && code < 0xDC00) {
            if (!take('\\') || !take('u') || !code_unit(low) || low < 0xDC00 || low > 0xDFFF) return false;
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        } else if (code == 0 || (code >= 0xDC00 && code <= 0xDFFF)) {
            return false;
        }
        append_utf8(code, out);
        return true;
    }

    bool code_unit(char32_t& unit) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        for (int k = 0; k < 4; ++k) {
            const std::size_t digit = at_ < end_ ? kDigits.find(ascii_lower(*at_++)) : kDigits.npos;
            if (digit == kDigits.npos) return false;
            unit = unit << 4 | static_cast<char32_t>(digit);
        }
        return true;
    }

    void skip_blanks() {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
    }

    bool take(char c) {
        if (at_ == end_ || *at_ != c) return false;
        ++at_;
        return true;
    }

    std::string_view rest_;
    std::string key_;
    const char* at_ = nullptr;
    const char* end_ = nullptr;
    std::string text_;                 // the record
    std::size_t before_ = 0;           // where to insert the labels in text_
    bool has_key_ = false;             // whether text_ already has the key
    std::deque<std::string> decoded_;  // strings with escapes
};

}  // namespace

std::unique_ptr<RecordReader> json_reader(std::string_view piece, std::string_view key) {
    return std::make_unique<JsonReader>(piece, key);
}

}  // namespace sparsecrf
