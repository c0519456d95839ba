#include "gil.hpp"

#include <chrono>
#include <thread>

namespace sparsecrf::bindings {

void sleep_until_the_end() noexcept {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void WithoutGil::take_back() noexcept {
    in_python([this] {
        PyEval_RestoreThread(state_);
        return true;
    });
}

}  // namespace sparsecrf::bindings
