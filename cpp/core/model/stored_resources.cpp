#include "core/model/stored_resources.hpp"

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "core/base/error.hpp"
#include "core/base/file_memory.hpp"
#include "core/base/inflate.hpp"
#include "core/base/sha256.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kMostTimes = 64;  // limit of the compression ratio, as in Python (encoding/resources.py)

// Whether the members are exactly these, all strings, plus an integer `bytes` if required.
bool has_texts(const Json& record, std::initializer_list<const char*> names, bool bytes) {
    const auto is_text = [&](const char* name) {
        const Json* found = record.find(name);
        return found != nullptr && found->is(Json::Kind::text);
    };
    const Json* size = record.find("bytes");
    return record.items.size() == names.size() + (bytes ? 1 : 0) && std::all_of(names.begin(), names.end(), is_text) &&
           (!bytes || (size != nullptr && size->whole()));
}

std::string unpacked(const Json& record, const std::string& where) {
    try {
        const auto size = static_cast<std::size_t>(*record.find("bytes")->whole());
        const std::string packed = from_base64(record.find("content")->text);
        if (size / kMostTimes > packed.size()) throw InputError(size, " bytes from ", packed.size());
        return inflate(packed, size);
    } catch (const InputError& error) {
        throw InputError(where, ": expected the packed content of '", record.find("name")->text, "', found ",
                         error.what());
    }
}

std::shared_ptr<const Resource> read_resource(const Json& record, const std::string& source) {
    const bool refers = record.find("path") != nullptr;
    const bool good = refers ? has_texts(record, {"name", "kind", "sha256", "path"}, false)
                             : has_texts(record, {"name", "kind", "sha256", "content"}, true);
    if (!good) throw InputError(source + ": expected the record of a resource, found other content");
    const std::string &name = record.find("name")->text, &kind = record.find("kind")->text;
    const std::string where = message(source, ": ", kind, ' ', name);
    const Resource::Kind known = Resource::kind_named(kind, where);
    std::string content = refers ? named_file(record.find("path")->text, where, source) : unpacked(record, where);
    check_content(content, record, where);
    return std::make_shared<Resource>(name, known, std::move(content), where);
}

}  // namespace

void check_content(std::string_view content, const Json& record, const std::string& where) {
    Sha256 hash;
    hash.update(content);
    if (const std::string& expected = record.find("sha256")->text; hash.hex_digest() != expected) {
        throw InputError(where, ": expected the file that the model was trained with, with the SHA-256 checksum ",
                         expected, ", found a different file");
    }
}

#if defined(__EMSCRIPTEN__)
std::string named_file(const std::string& path, const std::string& where, const std::string&) {
    throw InputError(where, ": expected a model that contains the content, found the file ", path,
                     ", which cannot be read here");
}
#else
std::string named_file(const std::string& path, const std::string& where, const std::string& model) {
    const std::filesystem::path beside =
        std::filesystem::path(model).parent_path() / std::filesystem::path(path).filename();
    std::error_code ignored;
    const bool moved = !std::filesystem::exists(path, ignored) && std::filesystem::exists(beside, ignored);
    try {
        if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
            throw InputError(where, ": expected ", path, " to be a regular file");
        }
        const FileMemory file(moved ? beside : std::filesystem::path(path), FileMemory::Kind::kCopy);
        return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
    } catch (const FileError& error) {
        throw InputError(where, ": expected the file ", path, ", found none: ", error.what());
    }
}
#endif

Template::Resources read_resources(const Json& list, const std::string& source) {
    Template::Resources made;
    for (const Json& record : list.items) made.push_back(read_resource(record, source));
    return made;
}

}  // namespace sparsecrf
