// Waits for another thread without sleeping. Waking a thread takes 5 to 50 us, as long as many entire loops, so a
// waiting thread polls for up to kSpin before it sleeps. This helps only if the core is otherwise idle. If a spinning
// thread notices that it was descheduled for kInterrupted, its core must be shared with other work, and no thread spins
// for the next kBusy: spinning would only use up this program's time slices.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#if defined(__x86_64__) || defined(_M_X64)
#include <emmintrin.h>  // _mm_pause
#endif

namespace sparsecrf {

namespace spinning {

using Clock = std::chrono::steady_clock;
constexpr auto kSpin = std::chrono::microseconds(50);
constexpr auto kInterrupted = std::chrono::microseconds(200);
constexpr auto kBusy = std::chrono::milliseconds(50);
inline std::atomic<Clock::rep> none_before{0};  // the time before which no thread spins

inline void relax() {
#if defined(__x86_64__) || defined(_M_X64)
    _mm_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    asm volatile("isb" ::: "memory");
#else
    std::this_thread::yield();
#endif
}

}  // namespace spinning

// Spins for at most `limit`; returns whether ready() became true.
template <class Ready>
bool spin_until(Ready ready, spinning::Clock::duration limit = spinning::kSpin) {
    using namespace spinning;
    if (ready()) return true;
    const Clock::time_point began = Clock::now();
    if (began.time_since_epoch().count() < none_before.load(std::memory_order_relaxed)) return false;
    for (Clock::time_point last = began;;) {
        for (int k = 0; k < 32; ++k) {
            if (ready()) return true;
            relax();
        }
        const Clock::time_point now = Clock::now();
        if (now - last > kInterrupted) {
            none_before.store((now + kBusy).time_since_epoch().count(), std::memory_order_relaxed);
            return false;
        }
        if (now - began > limit) return false;
        last = now;
    }
}

}  // namespace sparsecrf
