// JSON lines of tokens: {"tokens": ["Ada", ...], ...}, where a token is a string or a list of columns.
//
// A record is written like Python's json.dumps(json.loads(line), ensure_ascii=False) with the labels in their field. A
// record is not plain if it has no tokens, comes from an annotation tool, or contains repeated keys, lone surrogates,
// or numbers other than integers, which Python may format differently.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "core/text/records/record_reader.hpp"

namespace sparsecrf {

class JsonReader : public RecordReader {
   public:
    JsonReader(std::string_view piece, std::string_view key) : rest_(piece), key_(key) {}

    Found next(Rows& rows) override;
    std::string written(std::string_view label) const override;
    void write(std::span<const std::string> names, std::span<const std::int32_t> labels, std::string& out) override;

   private:
    static constexpr int kDeepest = 64;

    // Each function parses a part of the line and appends it to text_ in Python's format. Returns false if the part is
    // not plain.
    bool record(Rows& rows);
    bool field(std::string_view key, Rows& rows);
    bool tokens(Rows& rows);
    bool row(Rows& rows);
    bool value(int depth);
    // An object; value(key) parses the value of each member.
    template <class Value>
    bool object(Value value);
    // A list between two brackets; element() parses each element.
    template <class Element>
    bool list(char open, char close, Element element);
    bool integer();
    bool word(std::string_view expected);
    // value: the decoded string, a view into the line or decoded_.
    bool string(std::string_view& value);
    bool decode(const char* begin, std::string_view& value);
    bool escape(std::string& out);
    bool code_unit(char32_t& unit);

    void skip_blanks();
    bool take(char c);

    std::string_view rest_;
    std::string key_;
    const char* at_ = nullptr;
    const char* end_ = nullptr;
    std::string text_;                 // the record
    std::size_t before_ = 0;           // where to insert the labels in text_
    bool has_key_ = false;             // whether text_ already has the key
    std::deque<std::string> decoded_;  // strings with escapes
};

}  // namespace sparsecrf
