// The memory available to this process.
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
#include <string>
#endif

namespace sparsecrf {

#if defined(__linux__)
// The smallest memory limit of the control groups of this process (version 2, or the memory groups of version 1),
// including those of a container.
inline std::uint64_t control_group_limit() {
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
    std::ifstream groups("/proc/self/cgroup");  // lines such as 0::/user.slice, 4:memory:/job_12
    for (std::string line; std::getline(groups, line);) {
        const std::size_t kinds = line.find(':'), path = line.find(':', kinds + 1);
        if (kinds == line.npos || path == line.npos) continue;
        const bool second = line.compare(0, path, "0:") == 0;
        if (!second && line.substr(kinds, path - kinds).find("memory") == line.npos) continue;
        const std::string root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        const char* file = second ? "/memory.max" : "/memory.limit_in_bytes";
        for (std::string group = line.substr(path + 1);; group.resize(group.rfind('/'))) {
            std::ifstream limit(root + (group == "/" ? "" : group) + file);  // "max" if unlimited
            if (std::uint64_t most; limit >> most) bytes = std::min(bytes, most);
            if (group.find('/') == group.npos) break;
        }
    }
    return bytes;
}
#endif

// The physical memory in bytes, or a lower limit (`ulimit -v`, `ulimit -d`, container). 2^64 - 1 if unknown.
inline std::uint64_t usable_memory() {
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
#if defined(_WIN32)
    MEMORYSTATUSEX status;
    status.dwLength = sizeof status;
    if (GlobalMemoryStatusEx(&status)) bytes = status.ullTotalPhys;
#elif (defined(__unix__) || defined(__APPLE__)) && defined(_SC_PHYS_PAGES)
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
    for (const int kind : {RLIMIT_AS, RLIMIT_DATA}) {
        rlimit limit;
        if (getrlimit(kind, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
            bytes = std::min<std::uint64_t>(bytes, limit.rlim_cur);
        }
    }
#endif
#if defined(__linux__)
    bytes = std::min(bytes, control_group_limit());
#endif
    return bytes;
}

}  // namespace sparsecrf
