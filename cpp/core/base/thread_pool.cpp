#include "core/base/thread_pool.hpp"

#if defined(SPARSECRF_ONE_THREAD)

namespace sparsecrf {

int default_threads() { return 1; }

void run_team(int, TeamWork work) { work.call(work.context, 0); }

}  // namespace sparsecrf

#else

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/spin.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace sparsecrf {
namespace {

int available_cores() {
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// ---- A thread of the pool. Between invite() and dismiss() it belongs to one caller.
class Worker {
   public:
    Worker() { start(); }

    void invite(TeamWork work, int k) {
        work_ = work;
        k_ = k;
        if (state_.exchange(kInvited) == kAsleep) state_.notify_one();
    }

    // Waits until the work is done; cancels work that has not started.
    void dismiss() {
        unsigned found = kInvited;
        if (state_.compare_exchange_strong(found, kIdle)) return;
        if (spin_until([&] { return state_.load(std::memory_order_acquire) == kIdle; })) return;
        found = kBusy;
        if (!state_.compare_exchange_strong(found, kAwaited)) return;
        state_.wait(kAwaited);
    }

   private:
    enum : unsigned {
        kIdle,     // polls for an invitation
        kAsleep,   // waits to be woken
        kInvited,  // work_ and k_ are set
        kBusy,     // working
        kAwaited,  // working, and the caller wants to be woken
    };

    // Throws std::system_error if no more threads can be created. Blocks all signals in the new thread: the program's
    // own threads must receive them, so that their blocking system calls are interrupted.
    void start() {
#if !defined(_WIN32)
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            std::thread([this] { live(); }).detach();
        } catch (...) {
            pthread_sigmask(SIG_SETMASK, &before, nullptr);
            throw;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
#else
        std::thread([this] { live(); }).detach();
#endif
    }

    [[noreturn]] void live() {
        for (;;) {
            unsigned found = kInvited;
            if (state_.compare_exchange_strong(found, kBusy)) {
                work_.call(work_.context, k_);
                if (state_.exchange(kIdle) == kAwaited) state_.notify_one();
            } else if (!spin_until([&] { return state_.load(std::memory_order_acquire) == kInvited; })) {
                found = kIdle;
                if (state_.compare_exchange_strong(found, kAsleep)) state_.wait(kAsleep);
            }
        }
    }

    std::atomic<unsigned> state_{kIdle};
    TeamWork work_{};
    int k_ = 0;
};

// ---- The pool holds the threads that no caller is using. It is never destroyed, because its threads run until the
// process exits.
class Pool {
   public:
    // Appends up to n threads, fewer if the system cannot create more.
    void take(int n, std::vector<Worker*>& out) {
        const std::lock_guard lock(mutex_);
        out.reserve(out.size() + static_cast<std::size_t>(n));
        for (; n > 0 && !free_.empty(); --n) {
            out.push_back(free_.back());
            free_.pop_back();
        }
        for (; n > 0; --n) {
            try {
                free_.reserve(made_ + 1);  // give_back() must not throw
                out.push_back(new Worker());
                ++made_;
            } catch (const std::system_error&) {
                return;
            }
        }
    }

    void give_back(const std::vector<Worker*>& workers) {
        const std::lock_guard lock(mutex_);
        free_.insert(free_.end(), workers.rbegin(), workers.rend());
    }

   private:
    std::mutex mutex_;
    std::vector<Worker*> free_;  // the most recently used thread is last, because it may still be awake
    std::size_t made_ = 0;
};

std::atomic<Pool*> current{nullptr};

Pool& pool() {
    if (Pool* found = current.load()) return *found;
    Pool *made = new Pool(), *found = nullptr;
    if (current.compare_exchange_strong(found, made)) return *made;
    delete made;  // another thread was faster
    return *found;
}

#if !defined(_WIN32)
// In a forked child, the mutex of the parent's pool may be locked forever and the pool's threads do not exist.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { current.store(nullptr); });
#endif

}  // namespace

int default_threads() {
    if (const char* text = std::getenv("OMP_NUM_THREADS")) {
        const long asked = std::strtol(text, nullptr, 10);
        if (asked > 0 && asked <= 1024) return static_cast<int>(asked);
    }
    return available_cores();
}

void run_team(int threads, TeamWork work) {
    Pool& shared = pool();
    std::vector<Worker*> team;
    shared.take(threads - 1, team);
    for (std::size_t k = 0; k < team.size(); ++k) team[k]->invite(work, static_cast<int>(k) + 1);
    work.call(work.context, 0);
    for (Worker* worker : team) worker->dismiss();
    shared.give_back(team);
}

}  // namespace sparsecrf

#endif
