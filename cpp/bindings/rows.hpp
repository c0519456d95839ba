// Rows of columns that come from Python.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "core/text/columns.hpp"

namespace sparsecrf::bindings {

// A sequence of rows, each a sequence of text or one text, as the core sees them: views of objects that `owners` keeps
// alive. `where` begins every error: "" or "sequence 3, ".
Rows rows_of(nanobind::sequence sequence, nanobind::list& owners, const std::string& where = "");

}  // namespace sparsecrf::bindings
