// The forward and backward recursions of recursion.cpp in the log domain, which is slower but always safe. Values are
// normalized at every position, so that long sequences do not lose precision. -infinity marks an impossible label or
// pair.
#pragma once

#include <cmath>
#include <vector>

#include "core/inference/lattice_scores.hpp"

namespace sparsecrf {

// p_t(y', y) in the log domain, one pair at a time; valid after backward.
class LogPairs {
   public:
    // lambda: result of LatticeScores::pair_scores.
    LogPairs(const Lattice& lattice, std::int64_t t, const double* lambda, int n_labels, int stride)
        : lambda_(lambda),
          v_(lattice.v + t * stride),
          stride_(static_cast<std::size_t>(stride)),
          alpha_(t == 0 ? nullptr : lattice.alpha + (t - 1) * stride) {
        if (!lattice.ngrams.any()) return;
        known_ = t == 0 ? lattice.p : lattice.ngrams.edge.data() + t * n_labels * n_labels;
        stride_ = static_cast<std::size_t>(n_labels);
    }
    double at(std::size_t previous, std::size_t y) const {
        const std::size_t cell = alpha_ == nullptr ? y : previous * stride_ + y;
        if (known_ != nullptr) return known_[cell];
        return alpha_ == nullptr ? std::exp(lambda_[y] + v_[y]) : std::exp(alpha_[previous] + lambda_[cell] + v_[y]);
    }

   private:
    const double *lambda_, *v_;
    std::size_t stride_;
    const double* alpha_;            // null at the first position, where all pairs begin with the start label
    const double* known_ = nullptr;  // with label n-grams: the pair probabilities
};

class LogChain {
   public:
    explicit LogChain(const Potentials& potentials);

    // Computes alpha, v and log Z. Throws UnsatisfiableError if no path is possible.
    void forward(LatticeScores& scores, Lattice& lattice);
    // Computes v, p and the pair probabilities of the rest lists, for positions from `first` on.
    void backward(LatticeScores& scores, Lattice& lattice, std::int64_t first);
    LogPairs pairs(LatticeScores& scores, const Lattice& lattice, std::int64_t t) const {
        return {lattice, t, lattice.ngrams.any() ? nullptr : scores.pair_scores(lattice, t), n_labels_, stride_};
    }

   private:
    void forward_labels(LatticeScores& scores, Lattice& lattice);
    void backward_labels(LatticeScores& scores, Lattice& lattice, std::int64_t first);
    // The same with label n-grams (log_chain_ngrams.cpp).
    void forward_ngrams(LatticeScores& scores, Lattice& lattice);
    void backward_ngrams(LatticeScores& scores, Lattice& lattice);
    void set_rest(Lattice& lattice, std::int64_t t, const double* lambda) const;

    const Kernels& kernels_;
    const int n_labels_, stride_;                // Y, Yp
    AlignedVector<double> u_, beta_, row_;       // [Yp]
    std::vector<std::vector<double>> log_mass_;  // [T] by state after the position: labels, then histories
};

// Throws unless the sum log_c at position t is finite.
void check_log_sum(const Lattice& lattice, std::int64_t t, double log_c);

}  // namespace sparsecrf
