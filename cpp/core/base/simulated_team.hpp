// Predicts how long parallel loops would take on more cores than the machine has: one thread runs all items, and the
// processor time of each item is scheduled on `threads` simulated threads. This exists only in builds with
// SPARSECRF_SIMULATE_THREADS, for benchmarks/process/serial.py. Starting threads and sharing caches and memory cost
// nothing in this prediction.
#pragma once

#if defined(SPARSECRF_SIMULATE_THREADS)
#include <algorithm>
#include <array>
#include <ctime>
#include <vector>

namespace sparsecrf {

struct SimulatedTime {
    double processor = 0.0;  // seconds of all parallel loops on one thread, including reading the clock
    double clock = 0.0;      // predicted elapsed seconds of these loops
};

// One loop. A loop inside an item of another loop counts as part of that item.
class SimulatedTeam {
   public:
    explicit SimulatedTeam(int threads) : outermost_(running == nullptr), free_at_(static_cast<std::size_t>(threads)) {
        if (!outermost_) return;
        running = this;
        began_ = processor_seconds();
    }
    ~SimulatedTeam() {
        if (!outermost_) return;
        barrier();
        total.processor += processor_seconds() - began_;
        total.clock += free_at_.front();
        running = nullptr;
    }
    SimulatedTeam(const SimulatedTeam&) = delete;
    SimulatedTeam& operator=(const SimulatedTeam&) = delete;

    template <class Item>
    void run(Item item) {
        if (!outermost_) return item();
        const auto thread = std::min_element(free_at_.begin(), free_at_.end());
        now_ = *thread;
        step_ = 0;
        looked_ = processor_seconds();
        item();
        look();
        *thread = now_;
    }
    // Later items start when all earlier ones have ended.
    void barrier() { std::fill(free_at_.begin(), free_at_.end(), *std::max_element(free_at_.begin(), free_at_.end())); }
    // A turn (in_turns.hpp) of the current item.
    template <class F>
    void turn(F f) {
        if (!outermost_) return f();
        look();
        now_ = std::max(now_, turn_ended_[step_]);
        f();
        look();
        turn_ended_[step_++] = now_;
    }

    inline static SimulatedTime total;

   private:
    static double processor_seconds() {
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
    void look() {
        const double seconds = processor_seconds();
        now_ += seconds - looked_;
        looked_ = seconds;
    }

    inline static SimulatedTeam* running = nullptr;

    const bool outermost_;
    std::vector<double> free_at_;  // [threads] simulated time at which a thread ends its last item
    std::array<double, 64> turn_ended_{};
    double began_ = 0.0;               // processor time
    double now_ = 0.0, looked_ = 0.0;  // simulated time of the current item; processor time when it was last updated
    std::size_t step_ = 0;
};

}  // namespace sparsecrf
#endif
