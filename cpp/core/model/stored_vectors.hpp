// The word vectors of a model, in its own file or in a file that it names (src/sparsecrf/encoding/vectors.py).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "core/model/container.hpp"
#include "core/text/resources/word_vectors.hpp"

namespace sparsecrf {

// Standardization of dense columns, x' = (x - mean) scale.
struct DenseScale {
    std::vector<double> mean, scale;  // [columns]
};

// Parses the metadata `dense`; returns false if they are invalid.
bool read_dense_scale(const Json& record, DenseScale& out);

// Reads the vectors described by the metadata `vectors`; throws if they are incomplete. Null if they are in a separate
// file.
std::shared_ptr<const WordVectors> stored_vectors(const Container& file, const Json& record, const DenseScale& dense);
// Reads the vectors from that separate file. `source` is the model file; a file that has moved is looked for next to
// it.
std::shared_ptr<const WordVectors> named_vectors(const Json& record, const DenseScale& dense,
                                                 const std::string& source);

}  // namespace sparsecrf
