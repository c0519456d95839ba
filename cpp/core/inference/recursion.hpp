// Forward and backward over one sequence: in the scaled linear domain if this is provably safe, otherwise in the log
// domain. This file handles the plain chain; rest lists and label n-grams are corrections in their own files.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/compensated_sum.hpp"
#include "core/inference/lattice_scores.hpp"
#include "core/inference/log_chain.hpp"
#include "core/inference/ngrams/ngram_correction.hpp"
#include "core/inference/transitions/rest_correction.hpp"

namespace sparsecrf {

// sum_t log c_t with few logarithms: multiplies the terms and takes the logarithm before the product can overflow or
// underflow.
class SumOfLogs {
   public:
    void add(double c, CompensatedSum& sum) {
        if (!inside(c)) return sum.add(std::log(c));
        product_ *= c;
        if (!inside(product_)) finish(sum);
    }
    void finish(CompensatedSum& sum) {
        sum.add(std::log(product_));
        product_ = 1.0;
    }

   private:
    static bool inside(double x) { return x > 0x1p-400 && x < 0x1p400; }
    double product_ = 1.0;
};

// A partial sum of log Z = sum_t (log c_t + shift_t).
struct LogZ {
    CompensatedSum sum;
    SumOfLogs logs;
    double finish() {
        logs.finish(sum);
        return sum.value();
    }
};

// Not thread-safe; use one object per thread.
class Recursion : public LatticeScores {
   public:
    explicit Recursion(const Potentials& potentials, bool keep_zero_pairs = false);

    // Computes alpha and log Z. Throws UnsatisfiableError if no path is possible.
    void forward(Lattice& lattice);
    // Computes v, node marginals p and pair probabilities of the rest lists for positions from `first` on. Needs
    // forward on the same lattice.
    void backward(Lattice& lattice, std::int64_t first = 0);

    // p_t(c', c) for all class pairs, [C, C]; at the first position p_t(start, c), [C]. Needs backward.
    void class_marginals(const Lattice& lattice, std::int64_t t, double* out);
    // p_t(y', y) for all pairs. out: [Y + 1, Y]. Needs backward.
    void edge_marginals(const Lattice& lattice, std::int64_t t, double* out);
    // Calls visit(k, p_t(pairs[k])) for ascending pairs of one kind (all after the start, or none). Needs backward.
    // Handles one pair at a time, which is fastest for a few pairs (class Sbcd) and in the log domain. Other code
    // computes sums over positions as outer products, sum_t alpha_{t-1}(y') v_t(y), times E. PairFamily computes them
    // over the positions of a block, in tiles; SgdStep computes them over the positions of one sequence, with E from
    // `renew`. A shared implementation would make one of the two slower.
    template <class Visit>
    void pair_marginals(const Lattice& lattice, std::int64_t t, std::span<const std::uint32_t> pairs, Visit visit);
    // p_t(y', y) of all y', start label last, for the labels y with a column: out[columns[y] stride + y']; columns[y]
    // is kNoString for the other labels. Needs backward. Does not write impossible cells.
    void pair_columns(const Lattice& lattice, std::int64_t t, const std::uint32_t* columns, std::size_t stride,
                      double* out);

    // The plain chain and its rest lists in the linear domain, one position at a time.
    void start_forward(Lattice& lattice, std::int64_t t, double* u);
    // Computes alpha, v and log c from u. Returns false if the linear domain is not safe.
    bool finish_forward(Lattice& lattice, std::int64_t t, const double* u, LogZ& log_z);
    // Computes v and p from beta; returns sum_y v(y).
    double start_backward(Lattice& lattice, std::int64_t t, const double* beta);
    // Computes beta of the previous position.
    void finish_backward(const Lattice& lattice, std::int64_t t, double total, double* beta);
    const NgramCorrection& ngrams() const { return ngrams_; }

   private:
    bool forward_linear(Lattice& lattice);
    // Returns false if the linear domain is not safe, which can only happen with label n-grams.
    bool backward_linear(Lattice& lattice, std::int64_t first);
    void sum_class_marginals(const Lattice& lattice, std::int64_t t, double* out);

    RestCorrection rest_;
    NgramCorrection ngrams_;
    LogChain log_;
    AlignedVector<double> exp_scores_, u_, beta_, row_, ones_;  // [Yp]
    std::vector<double> pair_weight_;                           // E of some pairs
};

template <class Visit>
void Recursion::pair_marginals(const Lattice& lattice, std::int64_t t, std::span<const std::uint32_t> pairs,
                               Visit visit) {
    if (lattice.logarithmic) {
        const LogPairs log = log_.pairs(*this, lattice, t);
        return for_each_pair(pairs, n_labels_,
                             [&](std::size_t k, std::size_t i, std::size_t y) { visit(k, log.at(i, y)); });
    }
    const double* v = lattice.v + t * stride_;
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const Transition& transition = potentials_.transition(lattice.first + t);
    std::int64_t r = lattice.rest.ptr[t];
    const bool ngrams = lattice.ngrams.any();
    if (ngrams) {  // E of all pairs at once, because n-grams need them at every position
        pair_weight_.assign(pairs.size(), 1.0);
        transition.multiply(pairs, pair_weight_.data());
    }
    NgramLattice::Extras extras(lattice.ngrams, t);
    for_each_pair(pairs, n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
        while (r < lattice.rest.ptr[t + 1] && lattice.rest.pair[r] < pairs[k]) ++r;
        if (r < lattice.rest.ptr[t + 1] && lattice.rest.pair[r] == pairs[k]) {
            visit(k, lattice.rest.p[r]);
        } else if (ngrams) {
            const double e = t == 0 ? pair_weight_[k] : alpha[i] * pair_weight_[k];
            visit(k, e * v[y] + extras.of(pairs[k]));
        } else {
            const double e = t == 0 ? transition.start_weight()[y]
                                    : alpha[i] * transition.weight(static_cast<int>(i), static_cast<int>(y));
            visit(k, e * v[y]);
        }
    });
}

}  // namespace sparsecrf
