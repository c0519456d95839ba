// Converts Python objects to WordRows.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "core/text/resources/word_vectors.hpp"

namespace sparsecrf::bindings {

// None: no words. (StringTable, column): number the words of this column in order of appearance. WordVectors: use
// the rows of their vectors.
using Numbered = std::pair<std::shared_ptr<StringTable>, std::int64_t>;
using Words = std::optional<std::variant<std::shared_ptr<const WordVectors>, Numbered>>;

inline WordRows word_rows(const Words& words) {
    if (!words) return {};
    if (const auto* vectors = std::get_if<0>(&*words)) return {*vectors};
    const auto& [seen, column] = std::get<Numbered>(*words);
    return {seen, column};
}

}  // namespace sparsecrf::bindings
