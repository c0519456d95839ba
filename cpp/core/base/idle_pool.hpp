// A pool of idle objects that are expensive to construct: a thread takes one and returns it.
//
// If the mutex is locked, `take` makes a new object and `give_back` discards its object instead of waiting, because a
// forked child must never wait for a mutex held by a thread that does not exist in the child.
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
    // Returns an idle object or, if the pool is empty, a new one from make().
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
    static constexpr std::size_t kMost = 16;  // idle objects keep the memory of the largest sequence they have seen
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace sparsecrf
