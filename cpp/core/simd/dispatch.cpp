#include <atomic>
#include <cstdlib>

#include "core/base/error.hpp"
#include "kernels.hpp"

#if defined(SPARSECRF_X86) && defined(_MSC_VER) && !defined(__clang__)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace sparsecrf {
namespace {

#ifdef SPARSECRF_X86
#if defined(_MSC_VER) && !defined(__clang__)
// The processor has the instructions and the system saves the registers (XCR0).
bool has_avx2() {
    int r[4];
    __cpuid(r, 0);
    if (r[0] < 7) return false;
    __cpuid(r, 1);
    const bool osxsave = r[2] & (1 << 27), fma = r[2] & (1 << 12);
    if (!osxsave || !fma || (_xgetbv(0) & 6) != 6) return false;
    __cpuidex(r, 7, 0);
    return r[1] & (1 << 5);
}
bool has_avx512() {
    if (!has_avx2() || (_xgetbv(0) & 0xe6) != 0xe6) return false;
    int r[4];
    __cpuidex(r, 7, 0);
    const int f = 1 << 16, dq = 1 << 17, bw = 1 << 30, vl = static_cast<int>(1u << 31);
    return (r[1] & f) && (r[1] & dq) && (r[1] & bw) && (r[1] & vl);
}
#else
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif
#endif

// Slowest first.
std::vector<const Kernels*> available() {
    std::vector<const Kernels*> all{&baseline::table()};
#ifdef SPARSECRF_X86
    if (has_avx2()) all.push_back(&avx2::table());
    if (has_avx512()) all.push_back(&avx512::table());
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
