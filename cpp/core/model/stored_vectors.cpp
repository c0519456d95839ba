#include "core/model/stored_vectors.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/base/number.hpp"
#include "core/model/stored_resources.hpp"
#include "core/text/resources/vector_text.hpp"

namespace sparsecrf {
namespace {

constexpr std::int64_t kWidestWindow = 10;  // the same as in Python (encoding/vectors.py)
constexpr const char *kOffsets = "vectors.offsets", *kValues = "vectors.values";

// Whether a record has the column and the window, and identifies a file if `named`.
bool is_record(const Json& record, bool named) {
    const auto at_most = [&](const char* name, std::int64_t most) {
        const Json* found = record.find(name);
        return found != nullptr && found->whole().value_or(INT64_MAX) <= most;
    };
    const auto is_text = [&](const char* name, bool or_null) {
        const Json* found = record.find(name);
        return found != nullptr && (found->is(Json::Kind::text) || (or_null && found->is(Json::Kind::null)));
    };
    return record.items.size() == (named ? 5 : 2) && at_most("column", INT32_MAX) && at_most("window", kWidestWindow) &&
           (!named || (is_text("path", false) && is_text("words", true) && is_text("sha256", false)));
}

std::shared_ptr<const WordVectors> made(std::shared_ptr<const StringTable> words, std::vector<float> values,
                                        std::int64_t width, const Json& record, const DenseScale& dense,
                                        const std::string& source) {
    const std::int64_t window = *record.find("window")->whole(), n_dense = (width + 1) * (2 * window + 1);
    if (n_dense != static_cast<std::int64_t>(dense.mean.size())) {
        throw InputError(source, ": vectors: expected vectors for ", dense.mean.size(), " dense columns", ", found ",
                         n_dense);
    }
    const auto own = std::make_shared<const std::vector<float>>(std::move(values));
    const auto first = [&](const std::vector<double>& of) {
        return std::vector<double>(of.begin(), of.begin() + width + 1);
    };
    return std::make_shared<const WordVectors>(std::move(words), *own, first(dense.mean), first(dense.scale), window,
                                               *record.find("column")->whole(), own);
}

}  // namespace

bool read_dense_scale(const Json& record, DenseScale& out) {
    for (const auto& [name, to] : {std::pair{"mean", &out.mean}, std::pair{"scale", &out.scale}}) {
        const Json* found = record.find(name);
        if (found == nullptr || !found->is(Json::Kind::array)) return false;
        for (const Json& number : found->items) {
            const auto value = number.is(Json::Kind::number) ? parse_number(number.text) : std::nullopt;
            if (!value) return false;
            to->push_back(*value);
        }
    }
    return record.items.size() == 2 && out.mean.size() == out.scale.size();
}

std::shared_ptr<const WordVectors> stored_vectors(const Container& file, const Json& record, const DenseScale& dense) {
    const auto found = file.arrays.find(kValues);
    const bool named = found == file.arrays.end();
    if (!is_record(record, named)) {
        throw InputError(file.source, ": expected the record of word vectors, found ",
                         file.metadata.at("vectors").substr(0, 80));
    }
    if (named) return nullptr;
    const auto offsets = file.numbers<std::int64_t>(kOffsets, "I64");
    const StoredArray& array = found->second;
    const std::int64_t n = static_cast<std::int64_t>(offsets.size()) - 1;
    if (array.dtype != "F32" || array.shape.size() != 2 || array.shape[0] != n) {
        throw InputError(file.source, ": ", kValues, ": expected F32[", n, ", any width], found ", array.described());
    }
    const auto* first = reinterpret_cast<const float*>(array.data.data());
    return made(file.strings("vectors"), {first, first + array.data.size() / sizeof(float)}, array.shape[1], record,
                dense, file.source);
}

std::shared_ptr<const WordVectors> named_vectors(const Json& record, const DenseScale& dense,
                                                 const std::string& source) {
    const std::string& path = record.find("path")->text;
    if (!record.find("words")->is(Json::Kind::null)) {
        throw InputError(source, ": vectors: expected vectors in the model or in a text file, found ", path,
                         ", which only Python can read");
    }
    const std::string content = named_file(path, source + ": vectors", source);
    check_content(content, record, path);
    VectorText text(path, static_cast<std::int64_t>(content.size()), nullptr);
    text.add(content);
    return made(std::make_shared<const StringTable>(text.take_words()), text.take_values(), text.width(), record, dense,
                source);
}

}  // namespace sparsecrf
