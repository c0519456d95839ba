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
class Zeros {
   public:
    Zeros() = default;
    explicit Zeros(std::size_t n) : size_(n), memory_(std::calloc(n + kLine, sizeof(double))) {
        if (memory_ == nullptr) throw std::bad_alloc();
        use_huge_pages(memory_.get(), (n + kLine) * sizeof(double));
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.get()), line = kLine * sizeof(double);
        data_ = reinterpret_cast<double*>((address + line - 1) / line * line);
    }
    double* data() { return data_; }
    const double* data() const { return data_; }
    std::span<double> all() { return {data_, size_}; }

   private:
    static constexpr std::size_t kLine = 64 / sizeof(double);
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::size_t size_ = 0;
    std::unique_ptr<void, Free> memory_;
    double* data_ = nullptr;
};

}  // namespace sparsecrf
