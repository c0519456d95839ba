// Prefetches memory into the cache.
//
// GCC treats a function that only prefetches as having no side effects and drops calls to it unless it was inlined
// first. Mark every such function with SPARSECRF_PREFETCHES.
#pragma once

#if defined(__GNUC__) || defined(__clang__)
#define SPARSECRF_PREFETCHES [[gnu::always_inline]] inline
#else
#define SPARSECRF_PREFETCHES inline
#endif

namespace sparsecrf {

SPARSECRF_PREFETCHES void prefetch([[maybe_unused]] const void* memory) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(memory);
#endif
}

}  // namespace sparsecrf
