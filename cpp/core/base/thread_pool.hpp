// The threads of loops (parallel.hpp). They are made when first needed, shared by all callers, and kept until the
// process ends. A child made by fork() has none of its parent's threads and makes its own.
#pragma once

#include <memory>

// WebAssembly is built without threads: each loop runs in the thread that calls it.
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
#define SPARSECRF_ONE_THREAD 1
#endif

namespace sparsecrf {

// The number of threads that 0 stands for: OMP_NUM_THREADS if it is set, else the cores that this process may use.
int default_threads();

inline int resolve_threads(int threads) { return threads > 0 ? threads : default_threads(); }

// The work of a team: call(context, k) is part k of it.
struct TeamWork {
    void (*call)(void* context, int k);
    void* context;
};

// Calls part 0 in this thread and parts 1, ..., threads - 1 in others. A part that no thread has begun when part 0 ends
// is left out: parts share one supply of items, so nothing is left to do then. Returns when all that began have ended.
void run_team(int threads, TeamWork work);

// The same for a function object of k, which must not throw.
template <class Work>
void run_team(int threads, Work& work) {
    run_team(threads, TeamWork{[](void* context, int k) { (*static_cast<Work*>(context))(k); }, std::addressof(work)});
}

}  // namespace sparsecrf
