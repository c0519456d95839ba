// A strict JSON parser (RFC 8259) for file headers. Member names must be distinct, text must be well-formed UTF-8, and
// NaN is rejected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsecrf {

struct Json {
    enum class Kind { null, boolean, number, text, array, object };

    Kind kind = Kind::null;
    bool boolean = false;
    std::string text;                // value of a string; digits of a number as in the file
    std::vector<Json> items;         // elements of an array, or member values of an object
    std::vector<std::string> names;  // member names of an object, parallel to items

    bool is(Kind wanted) const { return kind == wanted; }
    // The member with this name, or null.
    const Json* find(std::string_view name) const;
    // The value if it is an integer from 0 to 2^63 - 1.
    std::optional<std::int64_t> whole() const;
};

// Throws InputError at the first error, with its description and byte offset.
Json parse_json(std::string_view text);

// Appends the string as Python's json.dumps writes it. ascii: escape non-ASCII characters.
void append_json(std::string_view utf8, bool ascii, std::string& out);

}  // namespace sparsecrf
