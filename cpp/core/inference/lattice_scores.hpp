// Scores of the positions of a lattice with constraints applied: the input of forward-backward and decoding.
#pragma once

#include "core/base/aligned.hpp"
#include "core/inference/lattice.hpp"
#include "core/inference/potentials.hpp"

namespace sparsecrf {

// Not thread-safe; use one object per thread.
class LatticeScores {
   public:
    // keep_zero_pairs: list every pair of the rest rows in Lattice::rest, not only those with a nonzero weight.
    LatticeScores(const Potentials& potentials, bool keep_zero_pairs);
    const Potentials& potentials() const { return potentials_; }

    void gather_rest(Lattice& lattice);
    // Unigram scores of position t with constraints applied: -infinity for labels that are not allowed. [Yp]
    const double* constrained_scores(const Lattice& lattice, std::int64_t t);
    // lambda(y', y) of base and rest lists at position t > 0 as a dense matrix [Y, Yp], padded with -infinity.
    const double* dense_scores(const Lattice& lattice, std::int64_t t);
    // The same for the start row, [Yp].
    const double* start_scores(const Lattice& lattice);
    // start_scores at the first position, otherwise dense_scores.
    const double* pair_scores(const Lattice& lattice, std::int64_t t) {
        return t == 0 ? start_scores(lattice) : dense_scores(lattice, t);
    }

   protected:
    const Potentials& potentials_;
    const Kernels& kernels_;
    const int n_labels_, stride_;  // Y, Yp

   private:
    const bool keep_zero_pairs_;
    AlignedVector<double> scores_, start_;  // [Yp]
    AlignedVector<double> matrix_;          // [Y, Yp]
    PairScores pairs_;
};

}  // namespace sparsecrf
