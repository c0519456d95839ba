// Returns freed memory to the system.
#pragma once

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace sparsecrf {

// glibc keeps freed memory for later unless it lies at the end of the heap. After large tables are gone, that can be
// most of what a process holds. Takes milliseconds: for moments that are rare.
inline void trim_heap() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

}  // namespace sparsecrf
