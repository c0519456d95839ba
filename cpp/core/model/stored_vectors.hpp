// The vectors of words of a model: in its file, or in one that it names (src/sparsecrf/encoding/vectors.py).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "core/model/container.hpp"
#include "core/text/word_vectors.hpp"

namespace sparsecrf {

// How dense columns are standardised, x' = (x - mean) scale.
struct DenseScale {
    std::vector<double> mean, scale;  // [columns]
};

// Reads the metadata `dense`; false if they are invalid.
bool read_dense_scale(const Json& record, DenseScale& out);

// Of the metadata `vectors`; throws unless they are whole. Null: they are in a file of their own.
std::shared_ptr<const WordVectors> stored_vectors(const Container& file, const Json& record, const DenseScale& dense);
// Those of that file. `source` is the model's, beside which a file that has moved is looked for.
std::shared_ptr<const WordVectors> named_vectors(const Json& record, const DenseScale& dense,
                                                 const std::string& source);

}  // namespace sparsecrf
