// Reads a model file without Python: src/sparsecrf/model/file.py and docs/model-file.md describe its content.
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
#include "core/text/template.hpp"
#include "core/text/word_vectors.hpp"

namespace sparsecrf {

struct ModelParts {
    std::shared_ptr<StringTable> labels, attributes;
    std::shared_ptr<const FeatureSet> features;
    std::vector<double> w;                       // [K]
    bool start = true;                           // whether the first position has the start label before it
    std::shared_ptr<const Template> lines;       // null: tokens have attributes of their own
    std::int64_t n_columns = 0;                  // of observations; 0: any number
    std::string encoding = "utf-8";              // of the files that it was trained on: "utf-8", "bytes", ...
    std::vector<double> mean, scale;             // of dense columns, x' = (x - mean) scale; empty: tokens have none
    std::shared_ptr<const WordVectors> vectors;  // word vectors for these columns; null: tokens come with them
    // Of a file: the texts of its metadata.
    std::map<std::string, std::string> metadata;

    // The attribute that conditions label pairs at every position, or "": a template says which do
    // (encoding/vocabulary.py).
    const char* bias() const { return lines ? "" : "[bias]"; }
};

// Throws InputError, with `source` as the name of the file. `lines` and vectors in a file of their own are not read.
ModelParts read_model(std::span<const std::byte> file, const std::string& source, Check check = Check::everything);
// Reads these too: what a program without Python needs. Files are looked for where they were, and beside `source`.
ModelParts read_whole_model(std::span<const std::byte> file, const std::string& source,
                            Check check = Check::everything);

}  // namespace sparsecrf
