// How much memory this process can have at most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#if defined(_WIN32)
#include <windows.h>
#elif defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <fstream>
#endif

namespace sparsecrf {

// In bytes: what the machine has, or what a limit leaves (`ulimit -v`, that of a container). The largest number where
// that is not known.
inline std::uint64_t usable_memory() {
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
#if defined(_WIN32)
    MEMORYSTATUSEX status;
    status.dwLength = sizeof status;
    if (GlobalMemoryStatusEx(&status)) bytes = status.ullTotalPhys;
#elif (defined(__unix__) || defined(__APPLE__)) && defined(_SC_PHYS_PAGES)
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
    rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        bytes = std::min<std::uint64_t>(bytes, limit.rlim_cur);
    }
#endif
#if defined(__linux__)
    std::ifstream container("/sys/fs/cgroup/memory.max");  // "max" where there is none
    if (std::uint64_t most; container >> most) bytes = std::min(bytes, most);
#endif
    return bytes;
}

}  // namespace sparsecrf
