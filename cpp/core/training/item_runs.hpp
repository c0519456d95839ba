// Forward-backward of some items of a plan at a time, each by one thread, for sums that need more of an item than a
// pass of the oracle keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"
#include "core/inference/potentials.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

class ItemRuns {
   public:
    // References are kept.
    ItemRuns(const Plan& plan, const Potentials& potentials, int threads)
        : plan_(plan), potentials_(potentials), threads_(threads), lattices_(static_cast<std::size_t>(threads)) {
        for (int k = 0; k < threads; ++k) recursions_.emplace_back(potentials, true);
    }

    // For 0 <= k < n the item `number(k)` of the plan: visit(thread, k, item, recursion, lattice).
    template <class Number, class Visit>
    void run(std::int64_t n, Number number, Visit visit) {
        parallel_for(n, threads_, 4, [&](int thread, std::int64_t k) {
            const Item& item = plan_.items[number(k)];
            OwnedLattice& lattice = lattices_[static_cast<std::size_t>(thread)];
            lattice.take(potentials_.corpus(), item.sequence, potentials_.stride());
            lattice.fixed = plan_.fixed_labels(item);
            Recursion& recursion = recursions_[static_cast<std::size_t>(thread)];
            recursion.forward(lattice);
            recursion.backward(lattice);
            visit(thread, k, item, recursion, lattice);
        });
    }

   private:
    const Plan& plan_;
    const Potentials& potentials_;
    const int threads_;
    std::vector<Recursion> recursions_;
    std::vector<OwnedLattice> lattices_;
};

}  // namespace sparsecrf
