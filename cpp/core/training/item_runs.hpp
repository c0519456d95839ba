// Runs forward-backward on selected items of a plan, one thread per item, for sums over data that a pass of the oracle
// does not keep.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"
#include "core/inference/potentials.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/families/listed.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// State of a thread.
struct ItemRun {
    Recursion recursion;
    OwnedLattice lattice;
    ListedScratch scratch;

    ListedPosition at(std::int64_t t, const double* cells) {
        return {recursion.potentials().corpus(), recursion, lattice, t, cells, scratch};
    }
};

class ItemRuns {
   public:
    // Keeps references to its arguments.
    ItemRuns(const Plan& plan, const Potentials& potentials, int threads)
        : plan_(plan), potentials_(potentials), threads_(threads) {
        for (int k = 0; k < threads; ++k) runs_.push_back({Recursion(potentials, true), {}, {}});
    }

    // Calls visit(thread, k, item, run) with item `number(k)` of the plan for 0 <= k < n.
    template <class Number, class Visit>
    void run(std::int64_t n, Number number, Visit visit) {
        parallel_for(n, threads_, 4, [&](int thread, std::int64_t k) {
            const Item& item = plan_.items[number(k)];
            ItemRun& run = runs_[static_cast<std::size_t>(thread)];
            run.lattice.take(potentials_.corpus(), item.sequence, potentials_.stride());
            run.lattice.fixed = plan_.fixed_labels(item);
            run.recursion.forward(run.lattice);
            run.recursion.backward(run.lattice);
            visit(thread, k, item, run);
        });
    }

   private:
    const Plan& plan_;
    const Potentials& potentials_;
    const int threads_;
    std::vector<ItemRun> runs_;  // [threads]
};

}  // namespace sparsecrf
