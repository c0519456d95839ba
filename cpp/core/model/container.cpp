#include "core/model/container.hpp"

#include <algorithm>
#include <utility>

#include "core/base/json.hpp"
#include "core/base/sha256.hpp"

namespace sparsecrf {
namespace {

constexpr std::uint64_t kLongestHeader = 100'000'000;  // the limit of the safetensors package
constexpr std::size_t kMostDimensions = 8;

// The size in bytes of a type; 0 if it is unknown.
std::int64_t size_of(std::string_view dtype) {
    constexpr std::pair<std::string_view, std::int64_t> kSizes[] = {
        {"F64", 8}, {"I64", 8}, {"F32", 4}, {"I32", 4}, {"U32", 4}, {"I16", 2}, {"U16", 2}, {"U8", 1}, {"BOOL", 1}};
    for (const auto& [name, size] : kSizes) {
        if (name == dtype) return size;
    }
    return 0;
}

std::string joined(const std::vector<std::int64_t>& shape) {
    std::string text;
    for (const std::int64_t n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return text;
}

struct Header {
    Json json;
    std::size_t end;  // where the arrays begin
};

Header read_header(std::span<const std::byte> file, const std::string& source, std::string_view format) {
    const auto wrong = [&](const auto&... found) {
        return InputError(source, ": expected a ", format, " (safetensors), found ", found...);
    };
    if (file.size() < 10) throw wrong(file.size(), " bytes");
    std::uint64_t length = 0;
    for (int k = 7; k >= 0; --k) length = length << 8 | std::to_integer<std::uint64_t>(file[k]);
    if (length > std::min<std::uint64_t>(kLongestHeader, file.size() - 8) || length % 8 != 0) {
        throw wrong("a file of another kind, or an incomplete one (", file.size(), " bytes, header of ", length, ")");
    }
    std::string_view text(reinterpret_cast<const char*>(file.data()) + 8, static_cast<std::size_t>(length));
    if (!text.starts_with('{')) throw wrong("a header that does not begin with {");
    while (text.ends_with(' ')) text.remove_suffix(1);
    try {
        return {parse_json(text), 8 + static_cast<std::size_t>(length)};
    } catch (const InputError& error) {
        throw wrong("a header that is not a JSON object (", error.what(), ")");
    }
}

std::map<std::string, std::string> read_metadata(const Json& header, const std::string& source) {
    std::map<std::string, std::string> made;
    const Json* found = header.find("__metadata__");
    if (found == nullptr) return made;
    bool good = found->is(Json::Kind::object);
    for (std::size_t k = 0; k < found->items.size() && good; ++k) {
        good = found->items[k].is(Json::Kind::text);
        if (good) made[found->names[k]] = found->items[k].text;
    }
    if (!good) throw InputError(source + ": expected metadata that map names to strings, found other metadata");
    return made;
}

void check_format(const std::map<std::string, std::string>& metadata, const std::string& source,
                  std::string_view format, const std::vector<int>& versions) {
    const auto named = metadata.find("format");
    if (named == metadata.end() || named->second != format) {
        const std::string found = named == metadata.end() ? "another kind of file" : named->second;
        throw InputError(source, ": expected a ", format, ", found '", found, "'");
    }
    const auto version = metadata.find("version");
    const std::string found = version == metadata.end() ? "none" : version->second;
    std::string known;
    for (const int v : versions) {
        if (found == std::to_string(v)) return;
        known += (known.empty() ? "" : " or ") + std::to_string(v);
    }
    throw InputError(source, ": expected a ", format, " of version ", known, ", found version '", found,
                     "'; newer files require a newer version of sparsecrf");
}

struct Entry {
    std::string name;
    StoredArray array;
    std::int64_t begin, end;
};

Entry read_entry(const std::string& name, const Json& json, const std::string& source) {
    const auto wrong = [&](const auto&... what) {
        return InputError(source, ": expected for array '", name, "' ", what...);
    };
    const Json *dtype = json.find("dtype"), *shape = json.find("shape"), *offsets = json.find("data_offsets");
    if (dtype == nullptr || shape == nullptr || offsets == nullptr || json.items.size() != 3) {
        throw wrong("dtype, shape and data_offsets, found other keys");
    }
    const std::int64_t item = dtype->is(Json::Kind::text) ? size_of(dtype->text) : 0;
    if (item == 0) throw wrong("a dtype of F64, F32, BOOL, I64, I32, I16, U32, U16, U8, found '", dtype->text, "'");
    const auto whole_numbers = [&](const Json& list, const char* what) {
        std::vector<std::int64_t> made;
        for (const Json& number : list.items) {
            if (const auto value = number.whole()) made.push_back(*value);
        }
        if (!list.is(Json::Kind::array) || made.size() != list.items.size()) {
            throw wrong("integers from 0 to 2^63 - 1 as ", what, ", found other values");
        }
        return made;
    };
    Entry made{name, {dtype->text, whole_numbers(*shape, "shape"), {}}, 0, 0};
    const std::vector<std::int64_t> where = whole_numbers(*offsets, "data_offsets");
    if (made.array.shape.size() > kMostDimensions) throw wrong("at most 8 dimensions, found more");
    if (where.size() != 2) throw wrong("two data_offsets, found ", where.size());
    made.begin = where[0], made.end = where[1];
    // item * n_1 * n_2 * ..., capped at a size that no file can have
    constexpr std::int64_t kTooLarge = std::int64_t{1} << 62;
    std::int64_t size = item;
    const bool empty = std::find(made.array.shape.begin(), made.array.shape.end(), 0) != made.array.shape.end();
    for (const std::int64_t n : made.array.shape) size = empty ? 0 : n > kTooLarge / size ? kTooLarge : size * n;
    if (made.begin > made.end || made.end - made.begin != size || made.begin % item != 0) {
        throw InputError(source, ": expected array '", name, "' in ", size, " aligned bytes, found bytes ", made.begin,
                         " to ", made.end);
    }
    return made;
}

// Views of the arrays, which are contiguous and extend to the end of the file.
std::map<std::string, StoredArray> read_arrays(const Json& header, std::span<const std::byte> data,
                                               const std::string& source) {
    std::vector<Entry> entries;
    for (std::size_t k = 0; k < header.items.size(); ++k) {
        if (header.names[k] == "__metadata__") continue;
        entries.push_back(read_entry(header.names[k], header.items[k], source));
    }
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::map<std::string, StoredArray> arrays;
    const auto size = static_cast<std::int64_t>(data.size());
    std::int64_t at = 0;
    for (const Entry& entry : entries) {
        if (entry.end > size) {
            throw InputError(source, ": expected at least ", entry.end, " bytes of arrays, found ", size,
                             ": the file is incomplete");
        }
    }
    for (Entry& entry : entries) {
        if (entry.begin != at) {
            throw InputError(source, ": expected array '", entry.name, "' at ", at, " of ", size,
                             " bytes, found it at ", entry.begin);
        }
        at = entry.end;
        entry.array.data =
            data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin));
        arrays.emplace(std::move(entry.name), std::move(entry.array));
    }
    if (at != size) throw InputError(source, ": expected ", at, " bytes of arrays, found ", size);
    return arrays;
}

// A hash of everything in the file except the hash itself. Metadata are hashed as formatted by Python's json.dumps with
// sorted keys, and shapes as Python tuples.
std::string digest(const std::map<std::string, std::string>& metadata,
                   const std::map<std::string, StoredArray>& arrays) {
    std::string text = "{";
    for (const auto& [name, value] : metadata) {
        if (text.size() > 1) text += ", ";
        append_json(name, true, text);
        text += ": ";
        append_json(value, true, text);
    }
    Sha256 hash;
    hash.update(text + "}");
    for (const auto& [name, array] : arrays) {
        hash.update(message(name, ' ', array.dtype, " (", joined(array.shape), array.shape.size() == 1 ? ",)" : ")"));
        hash.update(array.data);
    }
    return hash.hex_digest();
}

}  // namespace

std::string StoredArray::described() const { return message(dtype, '[', joined(shape), ']'); }

std::span<const std::byte> Container::checked(const std::string& name, std::string_view dtype,
                                              std::int64_t length) const {
    const auto found = arrays.find(name);
    if (found == arrays.end()) throw InputError(source, ": array ", name, " is missing");
    const StoredArray& array = found->second;
    if (array.dtype != dtype || array.shape.size() != 1 || (length != kAny && array.shape[0] != length)) {
        throw InputError(source, ": ", name, ": expected ", dtype, '[',
                         length == kAny ? "any length" : std::to_string(length), "], found ", array.described());
    }
    return array.data;
}

std::shared_ptr<StringTable> Container::strings(const std::string& name) const {
    const auto offsets = numbers<std::int64_t>(name + ".offsets", "I64");
    const auto bytes = numbers<std::uint8_t>(name + ".bytes", "U8");
    return located(name, [&] { return std::make_shared<StringTable>(bytes, offsets); });
}

Container read_container(std::span<const std::byte> file, std::string source, std::string_view format,
                         const std::vector<int>& versions, Check check) {
    const Header header = read_header(file, source, format);
    Container made{read_metadata(header.json, source), {}, std::move(source)};
    check_format(made.metadata, made.source, format, versions);
    made.arrays = read_arrays(header.json, file.subspan(header.end), made.source);
    const auto stated = made.metadata.extract("digest");
    if (check == Check::structure) return made;
    if (stated.empty() || stated.mapped() != digest(made.metadata, made.arrays)) {
        throw InputError(made.source, ": expected content with digest ", stated.empty() ? "none" : stated.mapped(),
                         ", found damaged content");
    }
    return made;
}

}  // namespace sparsecrf
