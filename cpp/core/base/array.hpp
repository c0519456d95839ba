// An immutable array that owns a vector or views part of a mapped file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sparsecrf {

// In both cases, elements are read through one pointer, so access costs the same.
template <class T>
class Array {
   public:
    using value_type = T;

    Array() = default;
    Array(std::vector<T> own) : own_(std::move(own)), all_(own_) {}
    // `memory` owns the storage that `all` points to.
    Array(std::span<const T> all, std::shared_ptr<const void> memory) : all_(all), memory_(std::move(memory)) {}

    Array(const Array& other)
        : own_(other.own_), all_(other.memory_ ? other.all_ : std::span<const T>(own_)), memory_(other.memory_) {}
    Array(Array&& other) noexcept  // moving a vector keeps its buffer, so the view stays valid
        : own_(std::move(other.own_)), all_(std::exchange(other.all_, {})), memory_(std::move(other.memory_)) {}
    Array& operator=(Array other) noexcept {
        own_.swap(other.own_);
        std::swap(all_, other.all_);
        memory_.swap(other.memory_);
        return *this;
    }

    const T& operator[](std::size_t k) const { return all_[k]; }
    const T& back() const { return all_.back(); }
    const T* data() const { return all_.data(); }
    const T* begin() const { return all_.data(); }
    const T* end() const { return all_.data() + all_.size(); }
    std::size_t size() const { return all_.size(); }
    bool empty() const { return all_.empty(); }

   private:
    std::vector<T> own_;
    std::span<const T> all_;
    std::shared_ptr<const void> memory_;  // null if all_ is own_
};

}  // namespace sparsecrf
