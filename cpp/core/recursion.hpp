// Forward and backward over one sequence: scaled linear domain where that is provably safe, log domain elsewhere.
#pragma once

#include <vector>

#include "aligned.hpp"
#include "lattice.hpp"
#include "potentials.hpp"

namespace sparsecrf {

// Not thread-safe: one per thread.
class Recursion {
   public:
    // keep_zero_pairs: list every pair of the rest rows in Lattice::rest, not only those with a weight.
    explicit Recursion(const Potentials& potentials, bool keep_zero_pairs = false);

    // alpha, log Z. Throws UnsatisfiableError if no path is possible.
    void forward(Lattice& lattice);
    // v, node marginals p, pair probabilities of the rest lists. After forward on the same lattice.
    void backward(Lattice& lattice);

    // p_t(y', y) for all pairs, out: [Y + 1, Y], after backward.
    void edge_marginals(const Lattice& lattice, std::int64_t t, double* out);
    // Unigram scores of position t with constraints applied: -infinity where the label may not occur. [Yp]
    const double* constrained_scores(const Lattice& lattice, std::int64_t t);
    // lambda(y', y) summed over base and rest of position t as a dense matrix [Y, Yp] (t > 0), padding -infinity.
    const double* dense_scores(const Lattice& lattice, std::int64_t t);
    // The same for the start row, [Yp].
    const double* start_scores(const Lattice& lattice);
    void gather_rest(Lattice& lattice);

   private:
    bool forward_linear(Lattice& lattice);
    void backward_linear(Lattice& lattice);
    void forward_log(Lattice& lattice);
    void backward_log(Lattice& lattice);

    void correct_forward(const Lattice& lattice, std::int64_t t, const double* alpha, double* u);
    void correct_backward(const Lattice& lattice, std::int64_t t, const double* v, double* beta);
    void pair_probabilities(Lattice& lattice, std::int64_t t);

    const Potentials& potentials_;
    const Kernels& kernels_;
    const bool keep_zero_pairs_;
    const int n_labels_, stride_;                                        // Y, Yp
    AlignedVector<double> scores_, exp_scores_, u_, beta_, row_, ones_;  // [Yp]
    AlignedVector<double> matrix_;                                       // [Y, Yp] for the log domain
    PairScores pairs_;
    std::vector<double> rest_low_, rest_high_;  // [T] range of delta, 0 included
    std::vector<double> touched_;               // [Yp] cells of u or beta before correction
};

}  // namespace sparsecrf
