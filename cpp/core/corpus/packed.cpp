#include "core/corpus/packed.hpp"

#include <algorithm>
#include <string>

#include "core/base/error.hpp"

namespace sparsecrf {
namespace {

constexpr std::int64_t kInByte = 15, kMostShared = 255;

void put(std::uint64_t n, std::vector<std::uint8_t>& out) {
    for (; n >= 0x80; n >>= 7) out.push_back(static_cast<std::uint8_t>(n | 0x80));
    out.push_back(static_cast<std::uint8_t>(n));
}

// Reads integers and bytes from the front of a buffer.
class Taker {
   public:
    explicit Taker(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    bool done() const { return at_ == bytes_.size(); }
    std::uint8_t byte() {
        if (done()) fail("more bytes");
        return bytes_[at_++];
    }
    // Below 2^63.
    std::int64_t number() {
        std::uint64_t n = 0;
        for (int shift = 0; shift < 63; shift += 7) {
            const std::uint64_t next = byte();
            n |= (next & 0x7F) << shift;
            if (next < 0x80) return static_cast<std::int64_t>(n);
        }
        fail("a number below 2^63");
    }
    std::string_view text(std::int64_t size) {
        if (static_cast<std::uint64_t>(size) > bytes_.size() - at_) fail("a name");
        at_ += static_cast<std::size_t>(size);
        return {reinterpret_cast<const char*>(bytes_.data()) + at_ - size, static_cast<std::size_t>(size)};
    }

   private:
    [[noreturn]] void fail(const char* expected) const {
        throw InputError("byte ", at_, " of ", bytes_.size(), ": expected ", expected, ", found the end");
    }

    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
};

}  // namespace

std::vector<std::uint8_t> pack_numbers(std::span<const std::int64_t> numbers) {
    std::vector<std::uint8_t> out;
    std::int64_t before = 0;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        if (numbers[k] < before || (k > 0 && numbers[k] == before)) {
            throw InputError("number ", k, ": expected a number above ", before, ", found ", numbers[k]);
        }
        put(static_cast<std::uint64_t>(numbers[k] - before), out);
        before = numbers[k];
    }
    return out;
}

std::vector<std::int64_t> unpack_numbers(std::span<const std::uint8_t> bytes, std::int64_t n) {
    if (n < 0 || static_cast<std::uint64_t>(n) > bytes.size()) {
        throw InputError("expected ", n, " numbers, found ", bytes.size(), " bytes");
    }
    Taker left(bytes);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(n));
    std::int64_t before = 0;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        const std::int64_t more = left.number();
        if (more > INT64_MAX - before || (k > 0 && more == 0)) {
            throw InputError("number ", k, ": expected a number above ", before,
                             " and below 2^63, found one out of range");
        }
        numbers[k] = before += more;
    }
    if (!left.done()) throw InputError("expected ", n, " numbers, found more bytes");
    return numbers;
}

std::vector<std::uint8_t> pack_names(const StringTable& names) {
    std::vector<std::uint8_t> out;
    std::string_view before;
    for (std::uint32_t k = 0; k < names.size(); ++k) {
        const std::string_view name = names[k];
        if (k > 0 && name <= before) {
            throw InputError("name ", k, ": expected sorted, distinct names, found '", name, "' after '", before, "'");
        }
        const auto size = static_cast<std::int64_t>(name.size());
        const std::int64_t most = std::min({size, static_cast<std::int64_t>(before.size()), kMostShared});
        const auto [differs, other] = std::mismatch(name.begin(), name.begin() + most, before.begin());
        const std::int64_t shared = differs - name.begin(), rest = size - shared;
        out.push_back(static_cast<std::uint8_t>(std::min(shared, kInByte) << 4 | std::min(rest, kInByte)));
        if (shared >= kInByte) put(static_cast<std::uint64_t>(shared - kInByte), out);
        if (rest >= kInByte) put(static_cast<std::uint64_t>(rest - kInByte), out);
        out.insert(out.end(), differs, name.end());
        before = name;
    }
    return out;
}

StringTable unpack_names(std::span<const std::uint8_t> bytes) {
    Taker left(bytes);
    std::string text, name, before;
    std::vector<std::int64_t> ptr{0};
    while (!left.done()) {
        const std::uint8_t both = left.byte();
        std::int64_t shared = both >> 4, rest = both & 15;
        if (shared == kInByte) shared += std::min(left.number(), INT64_MAX / 2);
        if (rest == kInByte) rest += std::min(left.number(), INT64_MAX / 2);
        if (shared > std::min(kMostShared, static_cast<std::int64_t>(before.size()))) {
            throw InputError("string ", ptr.size() - 1, ": expected at most ", before.size(),
                             " shared bytes (255), found ", shared);
        }
        name.assign(before, 0, static_cast<std::size_t>(shared));
        name += left.text(rest);
        if (ptr.size() > 1 && name <= before) {
            throw InputError("string ", ptr.size() - 1,
                             ": expected strings in ascending order, found a smaller string");
        }
        text += name;
        ptr.push_back(static_cast<std::int64_t>(text.size()));
        name.swap(before);
    }
    return {std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), ptr};
}

std::vector<double> unpack_weights(std::span<const std::int16_t> q, double scale) {
    std::vector<double> w(q.size());
    for (std::size_t k = 0; k < w.size(); ++k) w[k] = static_cast<double>(q[k]) * scale;
    return w;
}

}  // namespace sparsecrf
