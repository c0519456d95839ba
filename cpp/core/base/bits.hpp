// Reinterprets the bits of a number as another type, like std::bit_cast, which Emscripten's C++ library still lacks.
#pragma once

#include <cstring>
#include <type_traits>

namespace sparsecrf {

template <class To, class From>
To bits_as(const From& from) {
    static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<From>);
    To made;
    std::memcpy(&made, &from, sizeof made);
    return made;
}

}  // namespace sparsecrf
