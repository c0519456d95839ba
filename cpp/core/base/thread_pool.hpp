// The threads for parallel loops (parallel.hpp). They are created on first use, shared by all callers, and kept until
// the process exits. A forked child does not inherit its parent's threads and creates its own.
#pragma once

#include <memory>

// WebAssembly is built without threads: each loop runs in the calling thread.
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
#define SPARSECRF_ONE_THREAD 1
#endif

namespace sparsecrf {

// The number of threads used for threads = 0: OMP_NUM_THREADS if set, otherwise the number of cores available to this
// process.
int default_threads();

inline int resolve_threads(int threads) { return threads > 0 ? threads : default_threads(); }

// Work for a team of threads: call(context, k) runs part k.
struct TeamWork {
    void (*call)(void* context, int k);
    void* context;
};

// Runs part 0 in the calling thread and parts 1, ..., threads - 1 in others. Parts that have not started when part 0
// ends are skipped, because all parts draw from one supply of items, which is then exhausted. Returns when every
// started part has ended.
void run_team(int threads, TeamWork work);

// The same for a callable that takes k and must not throw.
template <class Work>
void run_team(int threads, Work& work) {
    run_team(threads, TeamWork{[](void* context, int k) { (*static_cast<Work*>(context))(k); }, std::addressof(work)});
}

}  // namespace sparsecrf
