#include "core/base/inflate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "core/base/error.hpp"

namespace sparsecrf {
namespace {

[[noreturn]] void fail(const char* expected) { throw InputError("zlib: expected ", expected, ", found none"); }

// A bit stream, least significant bit first.
class Bits {
   public:
    explicit Bits(std::string_view bytes) : bytes_(bytes) {}

    unsigned take(int n) {
        while (n_held_ < n) {
            if (at_ == bytes_.size()) fail("more bytes");
            held_ |= static_cast<unsigned>(static_cast<unsigned char>(bytes_[at_++])) << n_held_;
            n_held_ += 8;
        }
        const unsigned taken = held_ & ((1u << n) - 1);
        held_ >>= n;
        n_held_ -= n;
        return taken;
    }
    // Skips the rest of the current byte.
    std::string_view whole_bytes(std::size_t n) {
        held_ = 0;
        n_held_ = 0;  // discards fewer than 8 bits: take() never reads ahead by a whole byte
        if (n > bytes_.size() - at_) fail("more bytes");
        at_ += n;
        return bytes_.substr(at_ - n, n);
    }
    bool at_end() const { return at_ == bytes_.size(); }

   private:
    std::string_view bytes_;
    std::size_t at_ = 0;
    unsigned held_ = 0;
    int n_held_ = 0;
};

// A canonical Huffman code (RFC 1951, 3.2.2): codes of the same length are consecutive in symbol order and follow all
// shorter codes.
class Code {
   public:
    static constexpr int kLongest = 15;

    // lengths: code length of each symbol in bits, 0 if it is unused.
    explicit Code(std::span<const std::uint8_t> lengths) {
        for (const std::uint8_t n : lengths) ++count_[n];
        count_[0] = 0;
        int left = 1;  // unused codes of this length
        for (int n = 1; n <= kLongest; ++n) {
            left = 2 * left - count_[n];
            if (left < 0) fail("a Huffman code");
        }
        std::array<int, kLongest + 2> first{};
        for (int n = 1; n <= kLongest; ++n) first[n + 1] = first[n] + count_[n];
        for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
            if (lengths[symbol] != 0) symbol_[first[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
        }
    }

    unsigned next(Bits& bits) const {
        int code = 0, first = 0, index = 0;  // first code of this length, and the index of its symbol
        for (int n = 1; n <= kLongest; ++n) {
            code |= static_cast<int>(bits.take(1));
            if (code - first < count_[n]) return symbol_[index + code - first];
            index += count_[n];
            first = (first + count_[n]) << 1;
            code <<= 1;
        }
        fail("a code of the Huffman table");
    }

   private:
    std::array<int, kLongest + 1> count_{};    // [length] number of symbols with this code length
    std::array<std::uint16_t, 288> symbol_{};  // sorted by code length, then by symbol
};

// The lengths and distances of back-references are given by a base and extra bits (RFC 1951, 3.2.5).
constexpr std::uint16_t kLengthBase[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                           31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr std::uint8_t kLengthExtra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                           2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr std::uint16_t kDistanceBase[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                             33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                             1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr std::uint8_t kDistanceExtra[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                             6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

// Adler-32 (RFC 1950, 9) is 65536 b + a, where a = 1 + the sum of the bytes and b = the sum of all successive values of
// a, both modulo 65521.
std::uint32_t adler32(std::string_view bytes) {
    constexpr std::uint32_t kModulus = 65521;
    constexpr std::size_t kAtOnce = 5552;  // b cannot overflow within this many bytes
    std::uint32_t a = 1, b = 0;
    for (std::size_t begin = 0; begin < bytes.size(); begin += kAtOnce) {
        for (const char c : bytes.substr(begin, kAtOnce)) {
            a += static_cast<unsigned char>(c);
            b += a;
        }
        a %= kModulus;
        b %= kModulus;
    }
    return b << 16 | a;
}

struct Inflater {
    Bits bits;
    std::size_t most;
    std::string out;

    void check_room(std::size_t n) const {
        if (n > most - out.size()) throw InputError("zlib: expected at most ", most, " bytes, found more");
    }

    void stored() {
        const std::string_view head = bits.whole_bytes(4);
        const auto at = [&](int k) { return static_cast<unsigned>(static_cast<unsigned char>(head[k])); };
        const unsigned length = at(0) | at(1) << 8, inverse = at(2) | at(3) << 8;
        if ((length ^ inverse) != 0xFFFF) fail("a length and its complement");
        check_room(length);
        out += bits.whole_bytes(length);
    }

    void coded(const Code& literals, const Code& distances) {
        for (;;) {
            unsigned symbol = literals.next(bits);
            if (symbol == 256) return;
            if (symbol < 256) {
                check_room(1);
                out += static_cast<char>(symbol);
                continue;
            }
            if ((symbol -= 257) >= std::size(kLengthBase)) fail("a valid length code");
            const std::size_t length = kLengthBase[symbol] + bits.take(kLengthExtra[symbol]);
            const unsigned far = distances.next(bits);
            if (far >= std::size(kDistanceBase)) fail("a valid distance code");
            const std::size_t distance = kDistanceBase[far] + bits.take(kDistanceExtra[far]);
            if (distance > out.size()) fail("a distance within the content");
            check_room(length);
            for (std::size_t k = 0; k < length; ++k) out += out[out.size() - distance];  // may overlap
        }
    }

    void fixed() {
        std::array<std::uint8_t, 288> lengths;
        for (std::size_t k = 0; k < lengths.size(); ++k) {
            lengths[k] = static_cast<std::uint8_t>(k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8);
        }
        std::array<std::uint8_t, 30> distances;
        distances.fill(5);
        coded(Code(lengths), Code(distances));
    }

    void dynamic() {
        constexpr std::uint8_t kOrder[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
        const unsigned n_literals = bits.take(5) + 257, n_distances = bits.take(5) + 1, n_lengths = bits.take(4) + 4;
        if (n_literals > 286 || n_distances > 30) fail("at most 286 length codes and 30 distance codes");
        std::array<std::uint8_t, 19> of_lengths{};
        for (unsigned k = 0; k < n_lengths; ++k) of_lengths[kOrder[k]] = static_cast<std::uint8_t>(bits.take(3));
        const Code code(of_lengths);
        std::array<std::uint8_t, 316> lengths{};
        for (unsigned k = 0; k < n_literals + n_distances;) {
            const unsigned symbol = code.next(bits);
            if (symbol < 16) {
                lengths[k++] = static_cast<std::uint8_t>(symbol);
                continue;
            }
            if (symbol == 16 && k == 0) fail("a length to repeat");
            const std::uint8_t value = symbol == 16 ? lengths[k - 1] : 0;
            const unsigned times = symbol == 16   ? 3 + bits.take(2)
                                   : symbol == 17 ? 3 + bits.take(3)
                                                  : 11 + bits.take(7);
            if (times > n_literals + n_distances - k) fail("a repetition within the table");
            std::fill_n(lengths.begin() + k, times, value);
            k += times;
        }
        const std::span<const std::uint8_t> all(lengths);
        coded(Code(all.first(n_literals)), Code(all.subspan(n_literals, n_distances)));
    }

    void run() {
        const unsigned method = bits.take(8), flags = bits.take(8);
        if ((method & 15) != 8 || (256 * method + flags) % 31 != 0 || (flags & 32) != 0) fail("a zlib header");
        for (bool last = false; !last;) {
            last = bits.take(1) == 1;
            const unsigned type = bits.take(2);
            if (type == 3) fail("a block of type 0, 1 or 2");
            type == 0 ? stored() : type == 1 ? fixed() : dynamic();
        }
        std::uint32_t promised = 0;  // big-endian
        for (const char c : bits.whole_bytes(4)) promised = promised << 8 | static_cast<unsigned char>(c);
        if (promised != adler32(out)) throw InputError("zlib: the checksum does not match the content");
        if (!bits.at_end()) throw InputError("zlib: expected the end of the data after the checksum, found more bytes");
    }
};

}  // namespace

std::string inflate(std::string_view packed, std::size_t most) {
    Inflater inflater{Bits(packed), most, {}};
    inflater.run();
    return std::move(inflater.out);
}

std::string from_base64(std::string_view text) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const auto wrong = [] {
        return InputError("base64: expected groups of four base64 digits, found other characters");
    };
    if (text.size() % 4 != 0) throw wrong();
    std::size_t padding = 0;
    while (padding < 2 && text.ends_with('=')) {
        text.remove_suffix(1);
        ++padding;
    }
    std::string bytes;
    unsigned held = 0;
    int n_held = 0;
    for (const char c : text) {
        const std::size_t digit = kDigits.find(c);
        if (digit == std::string_view::npos) throw wrong();
        held = (held << 6 | static_cast<unsigned>(digit)) & 0xFFFF;
        n_held += 6;
        if (n_held >= 8) bytes += static_cast<char>(held >> (n_held -= 8));
    }
    return bytes;
}

}  // namespace sparsecrf
