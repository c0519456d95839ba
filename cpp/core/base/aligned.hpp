// Vectors whose storage starts on a cache line. On Linux, large vectors use huge pages; with small pages, page faults
// and TLB misses took 5% of the time of dual ascent.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace sparsecrf {

// Requests huge pages for a large allocation. This is only a hint: if it fails, pages stay small.
inline void use_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    constexpr std::size_t kLarge = std::size_t{4} << 20, kPage = 4096;
    if (bytes >= kLarge && std::align(kPage, kLarge / 2, memory, bytes)) {
        madvise(memory, bytes / kPage * kPage, MADV_HUGEPAGE);
    }
#endif
}

// Returns the complete pages of an allocation to the system before it is freed, once its content is no longer needed.
inline void give_back([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (std::align(page, page, memory, bytes)) madvise(memory, bytes / page * page, MADV_DONTNEED);
#endif
}

template <class T>
struct CacheLineAllocator {
    using value_type = T;
    static constexpr std::align_val_t kAlign{64};
    CacheLineAllocator() = default;
    template <class U>
    CacheLineAllocator(const CacheLineAllocator<U>&) {}
    T* allocate(std::size_t n) {
        void* p = ::operator new(n * sizeof(T), kAlign);
        use_huge_pages(p, n * sizeof(T));
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t) { ::operator delete(p, kAlign); }
    bool operator==(const CacheLineAllocator&) const { return true; }
};

template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace sparsecrf
