#include "gil.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include "core/base/spin.hpp"

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace sparsecrf::bindings {
namespace {

// ---- Threads that do little work per call, such as labelling one sentence, would sleep and wake up for every call,
// although each needs the GIL for less time (20 us) than waking up takes. So a thread that wants the GIL back while
// another such thread holds it spins until the GIL is released, and only then asks Python for it.
std::atomic<PyThreadState*> holder{nullptr};  // the thread that holds the GIL, as far as is known
std::atomic<bool> occupied{false};            // whether a thread spins; one is enough, since only one can get the GIL
std::atomic<int> rest{0};                     // remaining calls that must not spin
constexpr int kRest = 16;                     // value of `rest` after a futile spin: the holder stays busy
constexpr auto kLongest = std::chrono::microseconds(150);  // longer than a thread takes to read a sentence

void wait_for_holder() noexcept {
    const auto is_free = [] { return holder.load(std::memory_order_acquire) == nullptr; };
    if (is_free()) return;
    if (rest.load(std::memory_order_relaxed) > 0) {
        rest.fetch_sub(1, std::memory_order_relaxed);
    } else if (!occupied.exchange(true)) {
        if (!spin_until(is_free, kLongest)) rest.store(kRest, std::memory_order_relaxed);
        occupied.store(false);
    }
}

// ---- The previous terminate handler, and ours.
std::terminate_handler terminate_before = nullptr;

// Whether this is the main thread, which is never ended by unwinding. This is known only on Linux; elsewhere threads
// terminate as usual.
bool on_first_thread() {
#if defined(__linux__)
    return syscall(SYS_gettid) == getpid();
#else
    return true;
#endif
}

[[noreturn]] void terminate_or_sleep() {
    // When the interpreter ends a thread, the stack is unwound without a C++ exception.
    const bool unwound = !Py_IsInitialized() && !std::current_exception();
    if (unwound && !on_first_thread()) sleep_until_the_end();
    if (terminate_before != nullptr) terminate_before();
    std::abort();
}

}  // namespace

void sleep_until_the_end() noexcept {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void sleep_instead_of_terminating() noexcept {
    if (std::get_terminate() != terminate_or_sleep) terminate_before = std::set_terminate(terminate_or_sleep);
}

WithoutGil::WithoutGil() noexcept {
    PyThreadState* const me = PyThreadState_Get();
    holder.store(me);  // this thread lost the GIL elsewhere
    state_ = PyEval_SaveThread();
    PyThreadState* expected = me;
    holder.compare_exchange_strong(expected, nullptr);  // unless another thread has it by now
}

WithoutGil::~WithoutGil() {
    wait_for_holder();
    in_python([this] {
        PyEval_RestoreThread(state_);
        return true;
    });
    holder.store(state_);
}

}  // namespace sparsecrf::bindings
