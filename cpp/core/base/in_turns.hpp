// Parallel loops whose items add to shared sums. Rounding depends on the order of the terms, so the additions are done
// in the order of the items; all other work of an item can run at any time. One thread runs an item from start to end,
// because its intermediate results are in that core's cache. A step waits only for the same step of the previous item,
// so all additions to one sum must be made in the same step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "core/base/simulated_team.hpp"
#include "core/base/thread_pool.hpp"

#if !defined(SPARSECRF_ONE_THREAD)
#include <array>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>

#include "core/base/spin.hpp"
#endif

namespace sparsecrf {

#if defined(SPARSECRF_ONE_THREAD)

struct Turns {
    static constexpr std::size_t kMostSteps = 64;
    bool wait(std::size_t, std::int64_t) { return true; }
    void done(std::size_t, std::int64_t) {}
};

#else

// State shared by the items of one loop: how many items have finished each step.
class Turns {
   public:
    static constexpr std::size_t kMostSteps = 64;

    // Waits until item i may run this step. Returns false if another item failed and the loop should stop.
    bool wait(std::size_t step, std::int64_t i) {
        std::atomic<std::int64_t>& through = through_[step].items;
        const auto ready = [&] { return through.load(std::memory_order_acquire) >= i; };
        if (!spin_until(ready)) {
            for (std::int64_t found; (found = through.load(std::memory_order_acquire)) < i;) through.wait(found);
        }
        return !stopped_.load();
    }
    void done(std::size_t step, std::int64_t i) {
        std::atomic<std::int64_t>& through = through_[step].items;
        through.store(i + 1);
        if (stopped_.load()) through.store(kAll);
        through.notify_all();
    }
    // Wakes all waiting threads.
    void stop() {
        stopped_.store(true);
        for (Step& step : through_) {
            step.items.store(kAll);
            step.items.notify_all();
        }
    }
    bool stopped() const { return stopped_.load(); }

   private:
    static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
    struct alignas(64) Step {  // one cache line each
        std::atomic<std::int64_t> items{0};
    };
    std::array<Step, kMostSteps> through_;
    std::atomic<bool> stopped_{false};
};

#endif

// The turns of one item: turn(f) calls f after the previous item's call with the same index (first, second, ...) has
// returned. Every item makes the same calls, at most kMostSteps. A loop with one thread never waits.
class Turn {
   public:
    Turn(Turns* turns, std::int64_t item) : turns_(turns), item_(item) {}

    template <class F>
    void operator()(F f) {
#if defined(SPARSECRF_SIMULATE_THREADS)
        if (simulated_ != nullptr) return simulated_->turn(f);
#endif
        if (turns_ == nullptr) return f();
        if (step_ == Turns::kMostSteps) throw std::logic_error("Turn: too many steps");
        if (turns_->wait(step_, item_)) f();
        turns_->done(step_++, item_);
    }

   private:
    Turns* turns_;
    const std::int64_t item_;
    std::size_t step_ = 0;
#if defined(SPARSECRF_SIMULATE_THREADS)
   public:
    SimulatedTeam* simulated_ = nullptr;
#endif
};

// Calls body(thread, i, turn) for 0 <= i < n, 0 <= thread < threads. If items throw, the exception of the smallest i is
// rethrown; later items may be skipped.
template <class Body>
void in_turns(std::int64_t n, int threads, Body body) {
#if defined(SPARSECRF_SIMULATE_THREADS)
    SimulatedTeam team(threads);
    for (std::int64_t i = 0; i < n; ++i) {
        Turn turn(nullptr, i);
        turn.simulated_ = &team;
        team.run([&] { body(0, i, turn); });
    }
    return;
#endif
    threads = static_cast<int>(std::min<std::int64_t>(threads, n));
    if (threads <= 1) {
        for (std::int64_t i = 0; i < n; ++i) {
            Turn turn(nullptr, i);
            body(0, i, turn);
        }
        return;
    }
#if !defined(SPARSECRF_ONE_THREAD)  // otherwise threads is 1
    const auto turns = std::make_unique<Turns>();
    std::atomic<std::int64_t> next{0};
    std::int64_t failed = n;
    std::exception_ptr error;
    std::mutex of_error;
    auto work = [&](int thread) {
        for (std::int64_t i; !turns->stopped() && (i = next.fetch_add(1)) < n;) {
            try {
                Turn turn(turns.get(), i);
                body(thread, i, turn);
            } catch (...) {
                const std::lock_guard lock(of_error);
                if (i < failed) {
                    failed = i;
                    error = std::current_exception();
                }
                turns->stop();
            }
        }
    };
    run_team(threads, work);
    if (error) std::rethrow_exception(error);
#endif
}

}  // namespace sparsecrf
