// A model's file, read without Python: src/sparsecrf/model/file.py and docs/model-file.md say what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/corpus/string_table.hpp"
#include "core/model/container.hpp"
#include "core/text/template.hpp"

namespace sparsecrf {

struct ModelParts {
    std::shared_ptr<StringTable> labels, attributes;
    std::shared_ptr<const FeatureSet> features;
    std::vector<double> w;                  // [K]
    bool start = true;                      // whether the first position has the start label before it
    std::shared_ptr<const Template> lines;  // null: tokens have attributes of their own
    std::int64_t n_columns = 0;             // of observations; 0: any number
    std::string encoding;                   // of the files that it was trained on: "utf-8", "bytes", ...
};

// Throws InputError, with `source` as the name of the file, for everything that Python refuses.
ModelParts read_model(std::span<const std::byte> file, const std::string& source, Check check = Check::everything);

}  // namespace sparsecrf
