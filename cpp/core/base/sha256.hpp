// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sparsecrf {

class Sha256 {
   public:
    void update(std::span<const std::byte> bytes);
    void update(std::string_view text) { update(std::as_bytes(std::span(text.data(), text.size()))); }
    // The digest of all bytes added so far, as 64 hexadecimal digits. Call it once; nothing can be added afterwards.
    std::string hex_digest();

   private:
    void compress(const std::byte* block);

    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::byte, 64> block_{};  // the first `filled_` bytes are waiting for a full block
    std::size_t filled_ = 0;
    std::uint64_t n_bytes_ = 0;
};

}  // namespace sparsecrf
