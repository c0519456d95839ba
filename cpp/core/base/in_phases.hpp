// Loops in phases: an item waits until all items of earlier phases are done. The items of one phase are independent,
// and the result of an item must not depend on the thread that runs it. Threads draw items from a shared counter, so a
// thread may start late or not at all. Between short phases, threads spin (spin.hpp) instead of sleeping.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <span>

#include "core/base/simulated_team.hpp"
#include "core/base/thread_pool.hpp"

#if !defined(SPARSECRF_ONE_THREAD)
#include <limits>
#include <mutex>

#include "core/base/spin.hpp"
#endif

namespace sparsecrf {

// Calls body(phase, k) for 0 <= k < sizes[phase]. If an item throws, one exception is rethrown and later items are
// skipped.
template <class Body>
void in_phases(std::span<const int> sizes, int threads, Body body) {
#if defined(SPARSECRF_SIMULATE_THREADS)
    SimulatedTeam team(threads);
    for (std::size_t phase = 0; phase < sizes.size(); ++phase) {
        for (int k = 0; k < sizes[phase]; ++k) team.run([&] { body(phase, k); });
        team.barrier();
    }
    return;
#endif
    if (threads <= 1) {
        for (std::size_t phase = 0; phase < sizes.size(); ++phase) {
            for (int k = 0; k < sizes[phase]; ++k) body(phase, k);
        }
        return;
    }
#if !defined(SPARSECRF_ONE_THREAD)  // otherwise threads is 1
    constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max() / 2;
    alignas(64) std::atomic<std::int64_t> next{0};
    alignas(64) std::atomic<std::int64_t> done{0};  // number of finished items
    std::exception_ptr error;
    std::mutex of_error;
    const auto wait = [&](std::int64_t items) {
        if (spin_until([&] { return done.load(std::memory_order_acquire) >= items; })) return;
        for (std::int64_t found; (found = done.load(std::memory_order_acquire)) < items;) done.wait(found);
    };
    auto work = [&](int) {
        std::int64_t first = 0;  // index of item 0 of the phase
        std::size_t phase = 0;
        for (;;) {
            const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
            while (phase < sizes.size() && i >= first + sizes[phase]) first += sizes[phase++];
            if (phase == sizes.size()) return;
            wait(first);
            try {
                if (done.load(std::memory_order_relaxed) < kAll) body(phase, static_cast<int>(i - first));
            } catch (...) {
                const std::lock_guard lock(of_error);
                if (!error) done.fetch_add(kAll);  // releases all waiting threads
                error = std::current_exception();
            }
            const std::int64_t before = done.fetch_add(1, std::memory_order_acq_rel);
            if (before + 1 >= first + sizes[phase]) done.notify_all();
        }
    };
    run_team(threads, work);
    if (error) std::rethrow_exception(error);
#endif
}

}  // namespace sparsecrf
