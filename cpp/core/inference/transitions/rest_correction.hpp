// Corrects the plain chain for the rest lists of a sequence, whose pairs have E = E_base + E_base o (exp(delta) - 1).
#pragma once

#include "core/base/aligned.hpp"
#include "core/inference/lattice.hpp"
#include "core/inference/potentials.hpp"

namespace sparsecrf {

// Not thread-safe; use one object per thread. Does nothing at positions without corrected pairs.
class RestCorrection {
   public:
    explicit RestCorrection(const Potentials& potentials)
        : potentials_(potentials),
          n_labels_(potentials.n_labels()),
          stride_(potentials.stride()),
          touched_(stride_),
          row_(stride_) {}

    void forward(Lattice& lattice, std::int64_t t, double* u) {
        if (lattice.rest.any(t)) add(lattice, t, u);
    }
    void marginals(Lattice& lattice, std::int64_t t) {
        if (lattice.rest.any(t)) set_marginals(lattice, t);
    }
    void backward(const Lattice& lattice, std::int64_t t, double* beta) {
        if (lattice.rest.any(t)) add_backward(lattice, t, beta);
    }

   private:
    void add(Lattice& lattice, std::int64_t t, double* u);
    void set_marginals(Lattice& lattice, std::int64_t t);
    void add_backward(const Lattice& lattice, std::int64_t t, double* beta);

    const Potentials& potentials_;
    const int n_labels_, stride_;          // Y, Yp
    AlignedVector<double> touched_, row_;  // [Yp] cells of u or beta before the correction; terms of a sum
};

}  // namespace sparsecrf
