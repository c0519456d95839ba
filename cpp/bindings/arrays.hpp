// Converts NumPy arrays to spans and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/error.hpp"
#include "gil.hpp"

namespace sparsecrf::bindings {

namespace nb = nanobind;

template <class T>
using Array1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<N>, nb::c_contig>;

// An argument that must be an array of this type; arrays of other types are not converted.
inline auto array(const char* name) { return nb::arg(name).noconvert(); }

// NumPy arrays can start at any address, e.g. those in a message from another process.
template <class A>
auto view(const A& array) {
    if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(typename A::Scalar) != 0) {
        throw InputError(
            "array: expected aligned numbers, found unaligned ones; use numpy.require(..., requirements='A')");
    }
    return std::span<const typename A::Scalar>(array.data(), array.size());
}

template <class A>
auto view(const std::optional<A>& array) {
    return array ? view(*array) : std::span<const typename A::Scalar>();
}

// Throws for misaligned arrays; optional arrays may be missing.
template <class... A>
void check_aligned(const A&... arrays) {
    (static_cast<void>(view(arrays)), ...);
}

template <class A>
void expect_length(const A& array, std::size_t n, std::string_view what) {
    if (array.size() != n) throw InputError(what, ": expected ", n, " entries, found ", array.size());
}
template <class A>
void expect_length(const std::optional<A>& array, std::size_t n, std::string_view what) {
    if (array) expect_length(*array, n, what);
}

// Returns an uninitialized NumPy array of shape (n, ...) that owns its memory.
template <class T, class... Size>
auto make(Size... n) {
    const std::size_t shape[] = {static_cast<std::size_t>(n)...};
    auto data = std::make_unique<T[]>((static_cast<std::size_t>(n) * ...));
    T* raw = data.get();
    nb::capsule owner(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    data.release();
    return Result<T, sizeof...(n)>(raw, sizeof...(n), shape, owner);
}

template <class A>
std::span<typename A::Scalar> span_of(A& array) {
    return {array.data(), array.size()};
}

// Fills the array by fill(span), without holding the GIL, and returns it.
template <class A, class Fill>
A filled(A array, Fill fill) {
    const WithoutGil unlocked;
    fill(span_of(array));
    return array;
}

template <class T, class Source>
Result<T, 1> copy(const Source& source) {
    Result<T, 1> out = make<T>(source.size());
    std::size_t k = 0;
    for (const auto& x : source) out.data()[k++] = static_cast<T>(x);
    return out;
}

}  // namespace sparsecrf::bindings
