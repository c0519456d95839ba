#include "core/corpus/packed.hpp"

#include "arrays.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

// Bytes instead of an array, so that opening a model does not import NumPy.
template <class T>
nb::bytes bytes_of(const std::vector<T>& values) {
    return nb::bytes(values.data(), values.size() * sizeof(T));
}

}  // namespace

void bind_packed(nb::module_& m) {
    m.def(
        "pack_numbers", [](Array1<std::int64_t> numbers) { return bytes_of(pack_numbers(view(numbers))); },
        array("numbers"), "Compress ascending numbers (cpp/core/corpus/packed.hpp).");
    m.def(
        "unpack_numbers",
        [](Array1<std::uint8_t> packed, std::int64_t n) { return bytes_of(unpack_numbers(view(packed), n)); },
        array("packed"), "n"_a, "Decompress n numbers, returned as the bytes of int64[n].");
    m.def(
        "pack_names", [](const StringTable& names) { return bytes_of(pack_names(names)); }, "names"_a,
        "Compress names, whose ids must be in byte order.");
    m.def(
        "unpack_names", [](Array1<std::uint8_t> packed) { return unpack_names(view(packed)); }, array("packed"),
        "Decompress names.");
    m.def(
        "unpack_weights", [](Array1<std::int16_t> q, double scale) { return bytes_of(unpack_weights(view(q), scale)); },
        array("q"), "scale"_a, "The weights q * scale: the bytes of float64[K].");
}

}  // namespace sparsecrf::bindings
