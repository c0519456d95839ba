// The lexicons, clusters and word classes of a model's template. Their content is in the model file, or in a file that
// it names (src/sparsecrf/encoding/resources.py).
#pragma once

#include <string>

#include "core/base/json.hpp"
#include "core/text/templates/template.hpp"

namespace sparsecrf {

// Reads the resources listed in a template's record. `source` is the model file; resource files that have moved are
// looked for next to it. Also throws InputError if a file differs from the one used in training.
Template::Resources read_resources(const Json& list, const std::string& source);

// The content of a file named in the model file `model`: at this path, or under the same name next to the model.
// `where` begins the error message.
std::string named_file(const std::string& path, const std::string& where, const std::string& model);

// Throws unless the content has the checksum `sha256` of its record. `where` begins the message.
void check_content(std::string_view content, const Json& record, const std::string& where);

}  // namespace sparsecrf
