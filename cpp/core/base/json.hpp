// JSON (RFC 8259), read strictly, for the headers of files. Names of an object are distinct, text is well-formed
// UTF-8, and there is no NaN.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparsecrf {

struct Json {
    enum class Kind { null, boolean, number, text, array, object };

    Kind kind = Kind::null;
    bool boolean = false;
    std::string text;                // of a text; for a number, its digits as in the file
    std::vector<Json> items;         // of an array; of an object the values
    std::vector<std::string> names;  // of an object, one for each item

    bool is(Kind wanted) const { return kind == wanted; }
    // The member of that name, or null.
    const Json* find(std::string_view name) const;
    // The value, if it is a whole number from 0 to 2^63 - 1.
    std::optional<std::int64_t> whole() const;
};

// Throws InputError at the first mistake: what is wrong, and at which byte.
Json parse_json(std::string_view text);

// Appends text as Python's json.dumps writes it: in ASCII.
void append_json_ascii(std::string_view utf8, std::string& out);

}  // namespace sparsecrf
