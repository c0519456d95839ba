// The lexicons, clusters and word classes of a model's template: their content is in the model's file, or in a file
// that it names (src/sparsecrf/encoding/resources.py).
#pragma once

#include <string>

#include "core/base/json.hpp"
#include "core/text/template.hpp"

namespace sparsecrf {

// Of the list in a template's record. `source` is the model's file, beside which a file that has moved is looked for.
// Throws InputError also where a file is not the one that the model was trained with.
Template::Resources read_resources(const Json& list, const std::string& source);

// The content of a file that the model in `model` names: at that path, or a file with the same name next to the model.
// `where` begins the message if there is none.
std::string named_file(const std::string& path, const std::string& where, const std::string& model);

}  // namespace sparsecrf
