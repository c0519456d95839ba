// Objects that take long to make and are not at work: a thread takes one and gives it back.
//
// A thread that finds the lock taken does without instead of waiting, so that the child of a fork never waits for a thread
// that it lacks.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sparsecrf {

template <class T>
class IdlePool {
   public:
    // An idle one or, if there is none, a new one: make().
    template <class Make>
    std::unique_ptr<T> take(Make make) {
        {
            const std::unique_lock lock(mutex_, std::try_to_lock);
            if (lock && !idle_.empty()) {
                std::unique_ptr<T> taken = std::move(idle_.back());
                idle_.pop_back();
                return taken;
            }
        }
        return make();
    }
    void give_back(std::unique_ptr<T> object) {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (lock && idle_.size() < kMost) idle_.push_back(std::move(object));
    }

   private:
    static constexpr std::size_t kMost = 16;  // they keep the memory of their largest sequence
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace sparsecrf
