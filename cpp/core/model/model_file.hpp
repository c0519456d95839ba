// Reads a model file without Python; src/sparsecrf/model/file.py and docs/model-file.md describe the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/corpus/string_table.hpp"
#include "core/model/container.hpp"
#include "core/text/resources/word_vectors.hpp"
#include "core/text/templates/template.hpp"

namespace sparsecrf {

struct ModelParts {
    std::shared_ptr<StringTable> labels, attributes;
    std::shared_ptr<const FeatureSet> features;
    std::vector<double> w;                  // [K]
    bool start = true;                      // whether the start label precedes the first position
    std::shared_ptr<const Template> lines;  // null if tokens have their own attributes
    std::int64_t n_columns = 0;             // number of observation columns; 0 means any
    std::string encoding = "utf-8";         // encoding of the training files: "utf-8", "bytes", ...
    std::vector<double> mean, scale;  // dense columns are standardized: x' = (x - mean) scale; empty: no dense columns
    std::shared_ptr<const WordVectors> vectors;  // word vectors for these columns; null if the caller provides them
    // The metadata of the file.
    std::map<std::string, std::string> metadata;

    // The attribute that conditions label pairs at every position, or "" if the template determines which attributes do
    // (encoding/vocabulary.py).
    const char* bias() const { return lines ? "" : "[bias]"; }
};

// Throws InputError, with `source` as the file name. Reads neither `lines` nor vectors in a separate file.
ModelParts read_model(std::span<const std::byte> file, const std::string& source, Check check = Check::everything);
// Also reads `lines` and such vectors, for programs without Python. Looks for files at their original path, then next
// to `source`.
ModelParts read_whole_model(std::span<const std::byte> file, const std::string& source,
                            Check check = Check::everything);

}  // namespace sparsecrf
