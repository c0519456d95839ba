// Returns freed memory to the system.
#pragma once

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace sparsecrf {

// glibc keeps freed memory unless it is at the end of the heap. After large tables have been freed, this can be most of
// the memory of the process. A call takes milliseconds, so make it rarely.
inline void trim_heap() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

}  // namespace sparsecrf
