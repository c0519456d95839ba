// Asks for memory before it is needed.
//
// GCC takes a function that does nothing but this for one without any effect and drops calls of it, unless the function
// was inlined before it looks: SPARSECRF_PREFETCHES stands before every function that prefetches and does nothing else.
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
