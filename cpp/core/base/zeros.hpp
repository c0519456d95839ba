// Large arrays of zeros. The system provides their pages when they are first written, so threads share that work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "core/base/aligned.hpp"

namespace sparsecrf {

// Starts on a cache line.
template <class T>
class Zeros {
   public:
    Zeros() = default;
    explicit Zeros(std::size_t n) : size_(n), memory_(std::calloc(n + kLine, sizeof(T))) {
        if (memory_ == nullptr) throw std::bad_alloc();
        use_huge_pages(memory_.get(), (n + kLine) * sizeof(T));
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.get()), line = kLine * sizeof(T);
        data_ = reinterpret_cast<T*>((address + line - 1) / line * line);
    }
    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::span<T> all() { return {data_, size_}; }

   private:
    static constexpr std::size_t kLine = 64 / sizeof(T);
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::size_t size_ = 0;
    std::unique_ptr<void, Free> memory_;
    T* data_ = nullptr;
};

}  // namespace sparsecrf
