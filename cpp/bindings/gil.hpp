// The interpreter's lock (GIL) around the core's work.
//
// At the end of the interpreter a thread that asks for the GIL does not get it. Until Python 3.13 the thread is ended
// by pthread_exit, which unwinds its stack, and that aborts the process where it meets a destructor or a catch-all
// handler of C++. Here such a thread sleeps until the process is gone, as all do from Python 3.14 on: `in_python`
// catches it where our code calls Python, and `sleep_instead_of_terminating` where nanobind does (to read an argument,
// to make a result).
#pragma once

#include <nanobind/nanobind.h>

namespace sparsecrf::bindings {

[[noreturn]] void sleep_until_the_end() noexcept;

// From now on, where C++ would end the process because a thread that the interpreter ends met a function that lets no
// exception pass, that thread sleeps instead.
void sleep_instead_of_terminating() noexcept;

// Lets other Python threads run while it exists.
class WithoutGil {
   public:
    WithoutGil() noexcept;
    ~WithoutGil();
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

   private:
    PyThreadState* state_;
};

// The result of a function of Python's C interface that may run Python code, and so lose the GIL and ask for it again.
template <class Call>
auto in_python(Call call) noexcept {
    try {
        return call();
    } catch (...) {  // functions of C throw nothing: the thread is being ended
        sleep_until_the_end();
    }
}

// Reacquires the GIL while it exists, in a call of the core made without it.
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
