// Parallel loops over independent items. The result of an item must not depend on the thread that runs it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "core/base/simulated_team.hpp"
#include "core/base/thread_pool.hpp"

#if !defined(SPARSECRF_ONE_THREAD)
#include <mutex>
#endif

namespace sparsecrf {

// The chunk size for n items of uneven cost. It is one if there are few items. If there are many, fetching them one by
// one would cost more than the imbalance at the end of the loop.
inline int items_at_a_time(std::int64_t n, int threads) {
    constexpr std::int64_t kTimes = 16, kMost = 32;
    return static_cast<int>(std::clamp<std::int64_t>(n / (kTimes * threads), 1, kMost));
}

// Calls body(thread, i) for 0 <= i < n in chunks of `chunk` items, 0 <= thread < threads. If items throw, the exception
// of the smallest i is rethrown.
template <class Body>
void parallel_for(std::int64_t n, int threads, [[maybe_unused]] int chunk, Body body) {
#if defined(SPARSECRF_SIMULATE_THREADS)
    SimulatedTeam team(threads);
    for (std::int64_t i = 0; i < n; i += chunk) {
        team.run([&] {
            for (std::int64_t j = i; j < std::min<std::int64_t>(n, i + chunk); ++j) body(0, j);
        });
    }
    return;
#endif
    if (threads <= 1 || n <= 1) {
        for (std::int64_t i = 0; i < n; ++i) body(0, i);
        return;
    }
#if !defined(SPARSECRF_ONE_THREAD)  // otherwise threads is 1
    std::atomic<std::int64_t> next{0};
    std::atomic<std::int64_t> failed{n};  // the smallest i that threw; later items may be skipped
    std::exception_ptr error;
    std::mutex of_error;
    const auto guarded = [&](int thread, std::int64_t i) {
        try {
            body(thread, i);
        } catch (...) {
            const std::lock_guard lock(of_error);
            if (i < failed.load()) {
                failed.store(i);
                error = std::current_exception();
            }
        }
    };
    auto work = [&](int thread) {
        for (std::int64_t i; (i = next.fetch_add(chunk, std::memory_order_relaxed)) < failed.load();) {
            const std::int64_t end = std::min<std::int64_t>(n, i + chunk);
            for (; i < end; ++i) guarded(thread, i);
        }
    };
    const std::int64_t chunks = (n + chunk - 1) / chunk;
    run_team(static_cast<int>(std::min<std::int64_t>(threads, chunks)), work);
    if (error) std::rethrow_exception(error);
#endif
}

}  // namespace sparsecrf
