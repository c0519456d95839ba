#include <atomic>
#include <cstdlib>

#include "core/base/error.hpp"
#include "kernels.hpp"

#ifdef SPARSECRF_X86
#if defined(_MSC_VER) && !defined(__clang__)
#include <immintrin.h>
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace sparsecrf {
namespace {

#ifdef SPARSECRF_X86
struct Cpuid {
    unsigned a, b, c, d;  // registers EAX to EDX
};

#if defined(_MSC_VER) && !defined(__clang__)
Cpuid cpuid(int leaf) {
    int r[4];
    __cpuidex(r, leaf, 0);
    return {static_cast<unsigned>(r[0]), static_cast<unsigned>(r[1]), static_cast<unsigned>(r[2]),
            static_cast<unsigned>(r[3])};
}
unsigned saved_registers() { return static_cast<unsigned>(_xgetbv(0)); }
#else
// __builtin_cpu_supports would need a runtime library that some compilers lack.
Cpuid cpuid(int leaf) {
    Cpuid r;
    __cpuid_count(leaf, 0, r.a, r.b, r.c, r.d);
    return r;
}
unsigned saved_registers() {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#endif

constexpr unsigned bit(int n) { return 1u << n; }
constexpr bool all_of(unsigned word, unsigned wanted) { return (word & wanted) == wanted; }

// Whether the processor supports the instructions, and the operating system saves the registers on context switches
// (XCR0).
bool has_avx2() {
    const unsigned fma = bit(12), osxsave = bit(27), avx = bit(28), avx2 = bit(5), ymm = bit(1) | bit(2);
    return cpuid(0).a >= 7 && all_of(cpuid(1).c, fma | osxsave | avx) && all_of(saved_registers(), ymm) &&
           all_of(cpuid(7).b, avx2);
}
bool has_avx512() {
    const unsigned f = bit(16), dq = bit(17), bw = bit(30), vl = bit(31), zmm = bit(5) | bit(6) | bit(7);
    return has_avx2() && all_of(saved_registers(), zmm) && all_of(cpuid(7).b, f | dq | bw | vl);
}
#endif

// The available clones, from slowest to fastest.
std::vector<const Kernels*> available() {
    std::vector<const Kernels*> all{&baseline::table()};
#ifdef SPARSECRF_X86
    if (has_avx2()) all.push_back(&avx2::table());
    if (has_avx512()) all.push_back(&avx512::table());
#endif
#ifdef SPARSECRF_ARM64
    all.push_back(&neon::table());  // supported by every 64-bit ARM processor
#endif
    return all;
}

const Kernels* find(const std::string& name, const char* where) {
    std::string names;
    for (const Kernels* k : available()) {
        if (name == k->name) return k;
        names += names.empty() ? k->name : std::string(", ") + k->name;
    }
    throw InputError(message(where, ": expected an instruction set of this machine (", names, "), found '", name, "'"));
}

std::atomic<const Kernels*> current{nullptr};

}  // namespace

const Kernels& kernels() {
    const Kernels* k = current.load(std::memory_order_acquire);
    if (k == nullptr) {
        const char* forced = std::getenv("SPARSECRF_ISA");
        k = forced != nullptr && *forced != '\0' ? find(forced, "SPARSECRF_ISA") : available().back();
        current.store(k, std::memory_order_release);
    }
    return *k;
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const Kernels* k : available()) names.emplace_back(k->name);
    return names;
}

void set_instruction_set(const std::string& name) {
    current.store(find(name, "set_instruction_set"), std::memory_order_release);
}

}  // namespace sparsecrf
