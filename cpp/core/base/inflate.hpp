// Content that zlib packed (RFC 1950, RFC 1951), and base64 (RFC 4648), as files written by Python have them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sparsecrf {

// The content again. Throws InputError for what is no whole zlib stream with the right checksum at its end, and for
// more than `most` bytes.
std::string inflate(std::string_view packed, std::size_t most);

// The bytes that the text stands for. Throws InputError unless it is base64 with its padding.
std::string from_base64(std::string_view text);

}  // namespace sparsecrf
