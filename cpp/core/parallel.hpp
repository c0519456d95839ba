// Loops over independent items. What an item computes may not depend on the thread that runs it.
#pragma once

#include <cstdint>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace sparsecrf {

inline int resolve_threads(int threads) {
#ifdef _OPENMP
    return threads > 0 ? threads : omp_get_max_threads();
#else
    (void)threads;
    return 1;
#endif
}

// Calls body(thread, i) for 0 <= i < n, `chunk` items at a time. The exception of the smallest i is thrown again.
template <class Body>
void parallel_for(std::int64_t n, int threads, int chunk, Body body) {
    std::exception_ptr error;
    std::int64_t failed = n;
    const auto guarded = [&](int thread, std::int64_t i) {
        try {
            body(thread, i);
        } catch (...) {
#ifdef _OPENMP
#pragma omp critical(sparsecrf_error)
#endif
            if (i < failed) {
                failed = i;
                error = std::current_exception();
            }
        }
    };
#ifdef _OPENMP
    if (threads > 1 && n > 1) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, chunk)
        for (std::int64_t i = 0; i < n; ++i) guarded(omp_get_thread_num(), i);
    } else
#endif
    {
        (void)chunk;
        (void)threads;
        for (std::int64_t i = 0; i < n && !error; ++i) guarded(0, i);
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace sparsecrf
