// Python callbacks for the core.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <functional>
#include <optional>

#include "gil.hpp"

namespace sparsecrf::bindings {

// A Python function that takes the number of steps done and returns whether to continue.
using GoOn = std::optional<nanobind::typed<nanobind::callable, bool(int)>>;

// Wraps the function, or returns null if there is none. The wrapper is called by a thread that has released the GIL.
inline std::function<bool(std::size_t)> ask_in_python(const GoOn& go_on) {
    if (!go_on) return nullptr;
    return [&go_on](std::size_t steps) {
        const WithGil locked;
        return nanobind::cast<bool>(
            owned(in_python([&] { return PyObject_CallFunction(go_on->ptr(), "n", static_cast<Py_ssize_t>(steps)); })));
    };
}

}  // namespace sparsecrf::bindings
