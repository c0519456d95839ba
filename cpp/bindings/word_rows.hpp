// Converts Python objects to WordRows.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "core/text/resources/word_vectors.hpp"

namespace sparsecrf::bindings {

// None: no words. (StringTable, column): number the words of this column in order of appearance. WordVectors: use the
// rows of their vectors.
inline WordRows word_rows(nanobind::handle words) {
    namespace nb = nanobind;
    if (words.is_none()) return {};
    if (nb::isinstance<nb::tuple>(words)) {
        auto [seen, column] = nb::cast<std::pair<std::shared_ptr<StringTable>, std::int64_t>>(words);
        return {std::move(seen), column};
    }
    return {nb::cast<std::shared_ptr<const WordVectors>>(words)};
}

}  // namespace sparsecrf::bindings
