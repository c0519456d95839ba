// Loops over independent items. What an item computes may not depend on the thread that runs it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>

#if defined(SPARSECRF_STD_THREADS)  // instead of OpenMP, whose threads ThreadSanitizer does not understand
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>
#elif defined(_OPENMP)
#include <omp.h>
#endif

namespace sparsecrf {

inline int resolve_threads(int threads) {
#if defined(SPARSECRF_STD_THREADS)
    return threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
#elif defined(_OPENMP)
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
#if defined(SPARSECRF_STD_THREADS)
    std::mutex of_error;
#endif
    const auto guarded = [&](int thread, std::int64_t i) {
        try {
            body(thread, i);
        } catch (...) {
#if defined(SPARSECRF_STD_THREADS)
            const std::lock_guard lock(of_error);
#elif defined(_OPENMP)
#pragma omp critical(sparsecrf_error)
#endif
            if (i < failed) {
                failed = i;
                error = std::current_exception();
            }
        }
    };
#if defined(SPARSECRF_STD_THREADS)
    if (threads > 1 && n > 1) {
        std::atomic<std::int64_t> next{0};
        const auto work = [&](int thread) {
            for (std::int64_t i; (i = next.fetch_add(chunk)) < n;) {
                for (std::int64_t end = std::min<std::int64_t>(n, i + chunk); i < end; ++i) guarded(thread, i);
            }
        };
        std::vector<std::thread> team;
        for (int k = 1; k < threads; ++k) team.emplace_back(work, k);
        work(0);
        for (std::thread& one : team) one.join();
    } else
#elif defined(_OPENMP)
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
