// Rows of columns from Python.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "core/text/columns.hpp"

namespace sparsecrf::bindings {

// Converts a sequence of rows, each a sequence of strings or one string, to views of objects that `owners` keeps alive.
// `where` begins every error message: "" or "sequence 3, ".
Rows rows_of(nanobind::sequence sequence, nanobind::list& owners, const std::string& where = "");

}  // namespace sparsecrf::bindings
