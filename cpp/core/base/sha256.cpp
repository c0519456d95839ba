#include "core/base/sha256.hpp"

#include <algorithm>
#include <bit>

// Many x86 processors have SHA instructions, which are several times as fast as other code; support is detected at run
// time.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#include <immintrin.h>
#define SPARSECRF_SHA_INSTRUCTIONS
#endif

namespace sparsecrf {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#if defined(SPARSECRF_SHA_INSTRUCTIONS)
bool has_sha_instructions() {
    static const bool known = [] {
        unsigned int a = 0, b = 0, c = 0, d = 0;
        return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0 && __builtin_cpu_supports("sse4.1");
    }();
    return known;
}

// Four rounds at a time. The instructions expect the state as (a, b, e, f) and (c, d, g, h). w[g % 4] holds the four
// words of group g and is then overwritten with those of group g + 4.
__attribute__((target("sha,sse4.1"))) void compress_quickly(std::uint32_t* state, const std::byte* block) {
    const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i badc = _mm_shuffle_epi32(load(state), 0xb1), hgfe = _mm_shuffle_epi32(load(state + 4), 0x1b);
    const __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    __m128i s0 = abef, s1 = cdgh, w[4];
    for (int g = 0; g < 4; ++g) w[g] = _mm_shuffle_epi8(load(block + 16 * g), big_endian);
    for (int g = 0; g < 16; ++g) {
        const __m128i sums = _mm_add_epi32(w[g % 4], load(kRound + 4 * g));
        s1 = _mm_sha256rnds2_epu32(s1, s0, sums);
        s0 = _mm_sha256rnds2_epu32(s0, s1, _mm_shuffle_epi32(sums, 0x0e));
        if (g >= 12) continue;
        const __m128i before = _mm_alignr_epi8(w[(g + 3) % 4], w[(g + 2) % 4], 4);  // w[t - 7]
        const __m128i begun = _mm_add_epi32(_mm_sha256msg1_epu32(w[g % 4], w[(g + 1) % 4]), before);
        w[g % 4] = _mm_sha256msg2_epu32(begun, w[(g + 3) % 4]);
    }
    const __m128i feba = _mm_shuffle_epi32(_mm_add_epi32(s0, abef), 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(_mm_add_epi32(s1, cdgh), 0xb1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

}  // namespace

// Ch(e, f, g) = (e & f) ^ (~e & g),  Maj(a, b, c) = (a & b) ^ (a & c) ^ (b & c);  S0, S1, s0, s1 as in section 4.1.2.
void Sha256::compress(const std::byte* block) {
#if defined(SPARSECRF_SHA_INSTRUCTIONS)
    if (has_sha_instructions()) return compress_quickly(state_.data(), block);
#endif
    std::uint32_t w[64];
    for (int t = 0; t < 16; ++t) {
        w[t] = 0;
        for (int k = 0; k < 4; ++k) w[t] = w[t] << 8 | std::to_integer<std::uint32_t>(block[4 * t + k]);
    }
    for (int t = 16; t < 64; ++t) {
        const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
        const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (int t = 0; t < 64; ++t) {
        const std::uint32_t S1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t S0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t t1 = h + S1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
        const std::uint32_t t2 = S0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    const std::uint32_t found[8] = {a, b, c, d, e, f, g, h};
    for (int k = 0; k < 8; ++k) state_[k] += found[k];
}

void Sha256::update(std::span<const std::byte> bytes) {
    n_bytes_ += bytes.size();
    if (filled_ > 0) {
        const std::size_t n = std::min(bytes.size(), block_.size() - filled_);
        std::copy_n(bytes.data(), n, block_.data() + filled_);
        filled_ += n;
        bytes = bytes.subspan(n);
        if (filled_ < block_.size()) return;
        compress(block_.data());
        filled_ = 0;
    }
    for (; bytes.size() >= block_.size(); bytes = bytes.subspan(block_.size())) compress(bytes.data());
    std::copy_n(bytes.data(), bytes.size(), block_.data());
    filled_ = bytes.size();
}

std::string Sha256::hex_digest() {
    // Padding: a one bit, zeros up to 8 bytes before the end of a block, and the length in bits.
    const std::uint64_t n_bits = 8 * n_bytes_;
    std::array<std::byte, 72> end{std::byte{0x80}};
    const std::size_t zeros = (119 - filled_) % 64;
    for (int k = 0; k < 8; ++k) end[1 + zeros + k] = static_cast<std::byte>(n_bits >> (56 - 8 * k));
    update(std::span(end).first(1 + zeros + 8));
    std::string text;
    for (const std::uint32_t word : state_) {
        for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15];
    }
    return text;
}

}  // namespace sparsecrf
