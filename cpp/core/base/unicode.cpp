#include "core/base/unicode.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace sparsecrf {
namespace {

// The classes in the order of CharClass, and A for runs in which upper and lower case alternate.
enum RunClass : std::uint8_t { U, L, O, N, P, S, M, R, A };

struct ClassRun {
    char32_t first;  // a run ends where the next one begins
    RunClass kind;
};
struct LowerRun {
    char32_t first, last, step;
    std::int32_t distance;
};

#include "core/base/unicode_table.inl"

CharClass found_class(char32_t code) {
    const auto* next = std::upper_bound(std::begin(kClassRuns), std::end(kClassRuns), code,
                                        [](char32_t c, const ClassRun& run) { return c < run.first; });
    const ClassRun& run = *std::prev(next);
    if (run.kind == A) return (code - run.first) % 2 == 0 ? CharClass::upper : CharClass::lower;
    return static_cast<CharClass>(run.kind);
}

char32_t found_lower(char32_t code) {
    if (code == 0x130) return 'i';
    const auto* next = std::upper_bound(std::begin(kLowerRuns), std::end(kLowerRuns), code,
                                        [](char32_t c, const LowerRun& run) { return c < run.first; });
    if (next == std::begin(kLowerRuns)) return code;
    const LowerRun& run = *std::prev(next);
    const bool inside = code <= run.last && (code - run.first) % run.step == 0;
    return inside ? static_cast<char32_t>(static_cast<std::int32_t>(code) + run.distance) : code;
}

// A direct table for the most common scripts, which then need no search.
constexpr std::size_t kListed = 0x3000;
struct Listed {
    std::array<CharClass, kListed> kind;
    std::array<std::uint16_t, kListed> lower;
    Listed() {
        for (std::size_t code = 0; code < kListed; ++code) {
            kind[code] = found_class(static_cast<char32_t>(code));
            lower[code] = static_cast<std::uint16_t>(found_lower(static_cast<char32_t>(code)));
        }
    }
};

const Listed& listed() {
    static const Listed made;
    return made;
}

}  // namespace

CharClass class_of(char32_t code) { return code < kListed ? listed().kind[code] : found_class(code); }

char32_t lower_of(char32_t code) { return code < kListed ? listed().lower[code] : found_lower(code); }

}  // namespace sparsecrf
