// The correction of the plain chain for label n-grams in the linear domain (recursion.cpp). It works with masses: A(c)
// is the total mass of all prefixes that end in the string c, and alpha(y') is the mass of a single label. E(y', a)
// depends only on the last pair of an arc and is therefore the same for all arcs in one tree. The cost of a position is
// a few operations per arc, independent of the number of labels.
//
// Masses are differences of sums. If a mass loses more than ten bits, or if terms are much larger than the
// probabilities they add up to, the sequence is recomputed in the log domain.
#pragma once

#include <vector>

#include "core/base/aligned.hpp"
#include "core/inference/lattice.hpp"
#include "core/inference/potentials.hpp"

namespace sparsecrf {

// A sum over label n-grams that should be a probability has lost precision if one of its terms exceeds this.
inline constexpr double kLargeTerm = 0x1p10;

// Not thread-safe: one per thread. Does nothing at positions where n-grams have no effect. Methods return false if the
// linear domain is not safe.
class NgramCorrection {
   public:
    explicit NgramCorrection(const Potentials& potentials)
        : potentials_(potentials),
          n_labels_(potentials.n_labels()),
          stride_(potentials.stride()),
          ones_(stride_, 1.0),
          touched_(stride_) {}

    // Call before forward.
    void open(Lattice& lattice) const;
    // The same for a sequence processed by NgramBatch. listed: whether the extras of the pairs listed in the tables
    // will be computed.
    void open_together(Lattice& lattice, bool listed) const;
    // The amount by which the n-grams widen the range of scores.
    static double spread(const Lattice& lattice, std::int64_t t) {
        const NgramPlace* place = lattice.ngrams.at(t);
        return place == nullptr ? 0.0 : place->arcs->high - place->arcs->low;
    }
    bool forward(Lattice& lattice, std::int64_t t, double* u) { return !matter(lattice, t) || add(lattice, t, u); }
    // Computes the masses after t. Needs alpha_t, and e / c in v_t.
    void forward_masses(Lattice& lattice, std::int64_t t) {
        if (matter(lattice, t)) set_masses(lattice, t);
    }
    // Call while v_t still holds e / c.
    void keep_scaled(const Lattice& lattice, std::int64_t t) {
        if (matter(lattice, t)) scaled_.assign(lattice.v + t * stride_, lattice.v + (t + 1) * stride_);
    }
    bool marginals(Lattice& lattice, std::int64_t t, const double* beta) {
        return !matter(lattice, t) || add_marginals(lattice, t, beta);
    }
    void backward(const Lattice& lattice, std::int64_t t, double* beta) {
        if (matter(lattice, t)) add_backward(lattice, t, beta);
    }
    // Sets E for the pairs that have n-grams at t: E of the base list, times exp(delta) if the rest list contains the
    // pair.
    void pair_weights(Lattice& lattice, std::int64_t t) const;

   private:
    static bool matter(const Lattice& lattice, std::int64_t t) { return lattice.ngrams.at(t) != nullptr; }
    bool add(Lattice& lattice, std::int64_t t, double* u);
    void set_masses(Lattice& lattice, std::int64_t t);
    bool add_marginals(Lattice& lattice, std::int64_t t, const double* beta);
    void add_backward(const Lattice& lattice, std::int64_t t, double* beta);
    bool arc_marginals(Lattice& lattice, std::int64_t t);
    bool leaves_backward(const NgramArcs& arcs, const double* before, const double* flow);

    const Potentials& potentials_;
    const int n_labels_, stride_;  // Y, Yp
    // Values per node; B of the histories after and before a position; e / c of a position; terms of beta.
    std::vector<double> node_, node_sum_, history_beta_, new_beta_, scaled_, steps_;
    AlignedVector<double> ones_, touched_;  // [Yp] touched_: u before the correction
};

// Allocates the cells of a sequence whose places are set, for its domain (linear or log).
void lay_ngrams(NgramLattice& of);

}  // namespace sparsecrf
