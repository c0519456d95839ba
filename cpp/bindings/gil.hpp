// Releases and reacquires the interpreter's lock (GIL) around the core's work.
//
// While the interpreter shuts down, a thread that requests the GIL does not get it. Up to Python 3.13, pthread_exit
// ends such a thread and unwinds its stack. If a C++ destructor or catch-all handler is on the stack, the process
// aborts. Here such a thread sleeps until the process exits, as Python itself makes it do from 3.14 on: `in_python`
// handles calls to Python from our code, and `sleep_instead_of_terminating` those from nanobind (to convert arguments
// and results).
#pragma once

#include <nanobind/nanobind.h>

namespace sparsecrf::bindings {

[[noreturn]] void sleep_until_the_end() noexcept;

// Installs a terminate handler: if C++ would terminate the process because a thread ended by the interpreter is unwound
// through a noexcept function, that thread sleeps instead.
void sleep_instead_of_terminating() noexcept;

// Releases the GIL during its lifetime.
class WithoutGil {
   public:
    WithoutGil() noexcept;
    ~WithoutGil();
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

   private:
    PyThreadState* state_;
};

// Makes a call without holding the GIL and returns its result.
template <class Call>
auto without_gil(Call call) {
    const WithoutGil unlocked;
    return call();
}

// Constructs an object, in memory that nanobind has allocated, without holding the GIL.
template <class T, class... Args>
void construct(T* self, const Args&... args) {
    const WithoutGil unlocked;
    new (self) T(args...);
}

// Calls a Python C API function that may run Python code, and may therefore release and reacquire the GIL.
template <class Call>
auto in_python(Call call) noexcept {
    try {
        return call();
    } catch (...) {  // C functions do not throw, so the interpreter is ending the thread
        sleep_until_the_end();
    }
}

// The object that a Python C API function returned. Throws Python's error if there is none.
inline nanobind::object owned(PyObject* made) {
    if (made == nullptr) throw nanobind::python_error();
    return nanobind::steal(made);
}

// Holds the GIL during its lifetime, for calls from code that has released it.
class WithGil {
   public:
    WithGil() noexcept : state_(in_python([] { return PyGILState_Ensure(); })) {}
    ~WithGil() { PyGILState_Release(state_); }
    WithGil(const WithGil&) = delete;
    WithGil& operator=(const WithGil&) = delete;

   private:
    PyGILState_STATE state_;
};

}  // namespace sparsecrf::bindings
