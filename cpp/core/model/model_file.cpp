#include "core/model/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/base/error.hpp"
#include "core/base/json.hpp"
#include "core/base/number.hpp"
#include "core/corpus/packed.hpp"
#include "core/model/stored_resources.hpp"
#include "core/model/stored_vectors.hpp"

namespace sparsecrf {
namespace {

constexpr const char* kFormat = "sparsecrf model";
constexpr int kVersion = 1, kWithNgrams = 2, kCompact = 3;

using NameSet = std::set<std::string>;
const NameSet kArrays{"labels.bytes",       "labels.offsets", "attributes.bytes",
                      "attributes.offsets", "features",       "weights"};
const NameSet kCompactArrays{"labels.bytes", "labels.offsets", "attributes.front", "features.steps", "weights"};
const NameSet kNgramArrays{"ngrams.attribute", "ngrams.length", "ngrams.labels"};
const NameSet kVectorArrays{"vectors.bytes", "vectors.offsets", "vectors.values"};
const NameSet kMetadata{"format", "version", "start", "template", "n_columns", "training"};

template <class Map>
void check_names(const Map& found, const NameSet& expected, const char* what, const std::string& source) {
    const auto same = [](const auto& entry, const std::string& name) { return entry.first == name; };
    if (std::equal(found.begin(), found.end(), expected.begin(), expected.end(), same)) return;
    std::string names, wanted;
    for (const auto& [name, value] : found) names += (names.empty() ? "" : ", ") + name;
    for (const std::string& name : expected) wanted += (wanted.empty() ? "" : ", ") + name;
    throw InputError(source, ": expected ", what, ' ', wanted, ", found ", names);
}

// Whether all numbers fit in a double, as Python requires.
bool all_finite(const Json& json) {
    if (json.is(Json::Kind::number)) {
        const auto value = parse_number(json.text);
        return value && (std::isfinite(*value) || json.whole());
    }
    return std::all_of(json.items.begin(), json.items.end(), all_finite);
}

Json metadata_json(const Container& file, const std::string& name) {
    const std::string& text = file.metadata.at(name);
    try {
        Json made = parse_json(text);
        if (!all_finite(made)) throw InputError("a number is not finite");
        return made;
    } catch (const InputError& error) {
        throw InputError(file.source, ": expected JSON as ", name, ", found '", text.substr(0, 80), "' (", error.what(),
                         ")");
    }
}

[[noreturn]] void wrong_kind(const Container& file, const char* expected, const std::string& name) {
    throw InputError(file.source, ": expected ", expected, " as ", name, ", found ",
                     file.metadata.at(name).substr(0, 80));
}

std::shared_ptr<const Template> read_template(const std::string& record, const std::string& source) {
    const Json json = parse_json(record);
    if (json.is(Json::Kind::null)) return nullptr;
    const Json *text = json.find("text"), *boundary = json.find("boundary"), *bytes = json.find("bytes"),
               *resources = json.find("resources");
    const std::size_t n = 2 + (bytes == nullptr ? 0 : 1) + (resources == nullptr ? 0 : 1);
    const bool good = text != nullptr && boundary != nullptr && json.items.size() == n && text->is(Json::Kind::text) &&
                      boundary->is(Json::Kind::text) && (bytes == nullptr || bytes->is(Json::Kind::boolean)) &&
                      (resources == nullptr || resources->is(Json::Kind::array));
    if (!good) throw InputError(source, ": expected a template's text and boundary, found ", record.substr(0, 80));
    if (boundary->text != "crf++" && boundary->text != "wapiti") {
        throw InputError(source, ": template: boundary: expected 'crf++' or 'wapiti', found '", boundary->text, "'");
    }
    const Dialect dialect = boundary->text == "wapiti" ? Dialect::wapiti : Dialect::crfpp;
    return std::make_shared<Template>(
        text->text, dialect, source + ": template", bytes != nullptr && bytes->boolean,
        resources == nullptr ? Template::Resources() : read_resources(*resources, source));
}

// An n-gram array, converted to 32-bit integers.
std::vector<std::int32_t> read_narrow(const Container& file, const std::string& name) {
    const auto wide = file.numbers<std::int64_t>(name, "I64");
    std::vector<std::int32_t> out;
    out.reserve(wide.size());
    for (const std::int64_t x : wide) {
        if (x < std::numeric_limits<std::int32_t>::min() || x > std::numeric_limits<std::int32_t>::max()) {
            throw InputError(file.source, ": ngrams: expected numbers below 2^31, found ", x);
        }
        out.push_back(static_cast<std::int32_t>(x));
    }
    return out;
}

NgramTable read_ngrams(const Container& file, std::int64_t n_labels) {
    NgramTable table(n_labels);
    table.add_all(read_narrow(file, "ngrams.attribute"), read_narrow(file, "ngrams.length"),
                  read_narrow(file, "ngrams.labels"));
    return table;
}

// The parts of labels, or null (encoding/label_parts.py).
std::shared_ptr<const LabelParts> read_parts(const Container& file, std::int64_t n_labels) {
    if (!file.metadata.contains("parts")) return nullptr;
    const Json json = metadata_json(file, "parts");
    const Json *names = json.find("names"), *rows = json.find("of_labels"), *classes = json.find("classes");
    if (names == nullptr || rows == nullptr || json.items.size() != (classes == nullptr ? 2 : 3) ||
        !names->is(Json::Kind::array) || (classes != nullptr && !classes->is(Json::Kind::array)) ||
        !rows->is(Json::Kind::array) || static_cast<std::int64_t>(rows->items.size()) != n_labels) {
        wrong_kind(file, "names of parts and a row for each label", "parts");
    }
    NameSet distinct;
    for (const Json& name : names->items) {
        if (!name.is(Json::Kind::text) || !distinct.insert(name.text).second) {
            wrong_kind(file, "each name of a part once", "parts");
        }
    }
    std::vector<std::int64_t> ptr{0};
    std::vector<std::int32_t> part;
    for (const Json& row : rows->items) {
        if (!row.is(Json::Kind::array)) wrong_kind(file, "names of parts and a row for each label", "parts");
        for (const Json& j : row.items) {
            const auto number = j.whole();
            if (!number || *number < 0 || *number >= static_cast<std::int64_t>(names->items.size())) {
                wrong_kind(file, "numbers of parts", "parts");
            }
            part.push_back(static_cast<std::int32_t>(*number));
        }
        ptr.push_back(static_cast<std::int64_t>(part.size()));
    }
    std::vector<std::int32_t> cells;  // cells of the label classes
    if (classes != nullptr) {
        for (const Json& cell : classes->items) {
            const auto number = cell.whole();
            if (!number || *number < 0 || *number > kMaxLabels) wrong_kind(file, "numbers of classes", "parts");
            cells.push_back(static_cast<std::int32_t>(*number));
        }
        if (cells.empty()) wrong_kind(file, "a class for each label", "parts");
    }
    return std::make_shared<LabelParts>(static_cast<std::int64_t>(names->items.size()), ptr, part, cells);
}

// Weights and feature numbers of a compact file: int16 or float32 weights, and delta-coded numbers.
struct Compact {
    std::vector<double> w;
    std::vector<std::int64_t> numbers;
};

Compact read_compact(const Container& file) {
    const Json scale = metadata_json(file, "scale");
    const auto factor = scale.is(Json::Kind::number) ? parse_number(scale.text) : std::nullopt;
    if (!factor || !(*factor > 0.0 && *factor <= kLargest)) {
        wrong_kind(file, "a number above 0 and at most 1e100", "scale");
    }
    Compact made;
    if (file.arrays.at("weights").dtype == "F32") {
        if (*factor != 1.0) wrong_kind(file, "1 for weights of type F32", "scale");
        const auto w = file.numbers<float>("weights", "F32");
        made.w.assign(w.begin(), w.end());
    } else {
        made.w = unpack_weights(file.numbers<std::int16_t>("weights", "I16"), *factor);
    }
    const auto steps = file.numbers<std::uint8_t>("features.steps", "U8");
    made.numbers =
        file.located("features.steps", [&] { return unpack_numbers(steps, static_cast<std::int64_t>(made.w.size())); });
    return made;
}

std::shared_ptr<StringTable> read_front_coded(const Container& file) {
    const auto bytes = file.numbers<std::uint8_t>("attributes.front", "U8");
    return file.located("attributes.front", [&] { return std::make_shared<StringTable>(unpack_names(bytes)); });
}

// Reads the metadata.
void read_metadata(const Container& file, ModelParts& made) {
    const Json start = metadata_json(file, "start"), n_columns = metadata_json(file, "n_columns");
    metadata_json(file, "template");  // parsed later
    if (!start.is(Json::Kind::boolean)) wrong_kind(file, "bool", "start");
    if (n_columns.whole().value_or(INT64_MAX) > INT32_MAX) wrong_kind(file, "int", "n_columns");
    made.start = start.boolean;
    made.n_columns = *n_columns.whole();
    const Json training = metadata_json(file, "training");
    if (!training.is(Json::Kind::object)) wrong_kind(file, "dict", "training");
    const Json* encoding = training.find("encoding");
    if (encoding != nullptr && encoding->is(Json::Kind::text)) made.encoding = encoding->text;
    if (!file.metadata.contains("dense")) return;
    DenseScale dense;
    if (!read_dense_scale(metadata_json(file, "dense"), dense)) {
        wrong_kind(file, "mean and scale of dense columns", "dense");
    }
    if (file.metadata.contains("parts")) {
        throw InputError(file.source + ": label_parts: not supported with dense columns");
    }
    if (file.metadata.contains("vectors")) {
        made.vectors = stored_vectors(file, metadata_json(file, "vectors"), dense);
    }
    made.mean = std::move(dense.mean);
    made.scale = std::move(dense.scale);
}

}  // namespace

ModelParts read_model(std::span<const std::byte> data, const std::string& source, Check check) {
    const Container file = read_container(data, source, kFormat, {kVersion, kWithNgrams, kCompact}, check);
    const bool compact = file.metadata.at("version") == std::to_string(kCompact);
    const bool longer =
        compact ? file.arrays.contains("ngrams.attribute") : file.metadata.at("version") == std::to_string(kWithNgrams);
    NameSet arrays = compact ? kCompactArrays : kArrays, metadata = kMetadata;
    if (longer) arrays.insert(kNgramArrays.begin(), kNgramArrays.end());
    if (compact) metadata.insert("scale");
    const bool looks_up = file.metadata.contains("vectors");
    if (looks_up && file.arrays.contains("vectors.values")) arrays.insert(kVectorArrays.begin(), kVectorArrays.end());
    for (const char* name : {"dense", "parts", "vectors"}) {
        if (file.metadata.contains(name)) metadata.insert(name);
    }
    if (looks_up) metadata.insert("dense");
    check_names(file.arrays, arrays, "arrays", source);
    check_names(file.metadata, metadata, "metadata", source);
    ModelParts made;
    read_metadata(file, made);
    Compact unpacked;  // used for a compact file
    std::span<const std::int64_t> numbers;
    if (compact) {
        unpacked = read_compact(file);
        made.w = std::move(unpacked.w);
        numbers = unpacked.numbers;
    } else {
        numbers = file.numbers<std::int64_t>("features", "I64");
        const auto w = file.numbers<double>("weights", "F64", static_cast<std::int64_t>(numbers.size()));
        made.w.assign(w.begin(), w.end());
    }
    made.labels = file.strings("labels");
    made.attributes = compact ? read_front_coded(file) : file.strings("attributes");
    try {
        const std::int64_t n_labels = made.labels->size();
        std::optional<NgramTable> table;
        if (longer) table.emplace(read_ngrams(file, n_labels));
        const bool some = table && table->size() > 0;
        made.features = std::make_shared<FeatureSet>(FeatureSet::from_numbers(
            n_labels, made.attributes->size(), numbers, some ? &*table : nullptr, read_parts(file, n_labels)));
        made.features->check_weights(made.w);
    } catch (const InputError& error) {
        const std::string what = error.what();
        throw InputError(what.starts_with(source) ? what : source + ": " + what);
    }
    made.metadata = file.metadata;
    return made;
}

ModelParts read_whole_model(std::span<const std::byte> file, const std::string& source, Check check) {
    ModelParts made = read_model(file, source, check);
    made.lines = read_template(made.metadata.at("template"), source);
    if (const auto named = made.metadata.find("vectors"); named != made.metadata.end() && !made.vectors) {
        made.vectors = named_vectors(parse_json(named->second), {made.mean, made.scale}, source);
    }
    return made;
}

}  // namespace sparsecrf
