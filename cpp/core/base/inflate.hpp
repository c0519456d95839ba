// Decoders for zlib (RFC 1950, RFC 1951) and base64 (RFC 4648), as found in files written by Python.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sparsecrf {

// Decompresses. Throws InputError if `packed` is not a complete zlib stream with a correct checksum, or if the result
// would exceed `most` bytes.
std::string inflate(std::string_view packed, std::size_t most);

// Throws InputError unless the text is base64 with padding.
std::string from_base64(std::string_view text);

}  // namespace sparsecrf
