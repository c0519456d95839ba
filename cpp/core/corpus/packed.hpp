// Compressed names and numbers: the arrays of a compact model file (docs/model-file.md).
//
//   integer n >= 0:        7 bits per byte, the lowest first; the top bit is set in every byte but the last (LEB128)
//   numbers n_1 < n_2 ..:  n_1, n_2 - n_1, n_3 - n_2, ... as integers
//   names in byte order:   front coding. Each name consists of the first s bytes of its predecessor and r more bytes.
//                          It is stored as the byte min(s, 15) << 4 | min(r, 15); s - 15 if s >= 15 and r - 15 if
//                          r >= 15, as integers; and the r bytes. s is at most 255, so that a small file cannot expand
//                          to gigabytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/corpus/string_table.hpp"

namespace sparsecrf {

// Throws InputError unless the numbers are nonnegative and ascending.
std::vector<std::uint8_t> pack_numbers(std::span<const std::int64_t> numbers);
// Throws InputError unless the bytes encode `n` numbers.
std::vector<std::int64_t> unpack_numbers(std::span<const std::uint8_t> bytes, std::int64_t n);

// Throws InputError unless the names are numbered in byte order.
std::vector<std::uint8_t> pack_names(const StringTable& names);
StringTable unpack_names(std::span<const std::uint8_t> bytes);

// The weights q[k] * scale.
std::vector<double> unpack_weights(std::span<const std::int16_t> q, double scale);

}  // namespace sparsecrf
