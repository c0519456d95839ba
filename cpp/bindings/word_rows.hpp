// Words whose vectors are looked up, from Python objects.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "core/text/word_vectors.hpp"

namespace sparsecrf::bindings {

// None: no words; (StringTable, column): words of this column get a number as they come; WordVectors: the rows of
// theirs.
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
