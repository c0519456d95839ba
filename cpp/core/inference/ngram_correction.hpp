// What label n-grams add to the plain chain in the linear domain (recursion.cpp), by masses of all prefixes that end in a
// string. A(c) is such a mass, alpha(y') that of a single label; E(y', a) is of the last pair of an arc, so of all arcs
// that hang together. A position costs a few operations for each of its arcs, whatever the number of labels.
//
// Masses are differences of sums. Where one loses more than ten bits, and where terms are much larger than the
// probabilities that they add up to, the sequence is done again in the log domain.
#pragma once

#include <vector>

#include "core/base/aligned.hpp"
#include "core/inference/lattice.hpp"
#include "core/inference/potentials.hpp"

namespace sparsecrf {

inline constexpr double kLargeTerm = 0x1p10;  // a sum over label n-grams that is a probability has lost digits

// Not thread-safe: one per thread. Nothing is done at positions where n-grams do not matter. False: not safe here.
class NgramCorrection {
   public:
    explicit NgramCorrection(const Potentials& potentials)
        : potentials_(potentials),
          n_labels_(potentials.n_labels()),
          stride_(potentials.stride()),
          ones_(stride_, 1.0),
          touched_(stride_) {}

    // Before forward.
    void open(Lattice& lattice) const;
    // The same where NgramBatch does the sequence. listed: there will be extras of the pairs that the tables list.
    void open_together(Lattice& lattice, bool listed) const;
    // How much wider the range of scores is.
    static double spread(const Lattice& lattice, std::int64_t t) {
        const NgramPlace* place = lattice.ngrams.at(t);
        return place == nullptr ? 0.0 : place->arcs->high - place->arcs->low;
    }
    bool forward(Lattice& lattice, std::int64_t t, double* u) { return !matter(lattice, t) || add(lattice, t, u); }
    // Once there is alpha_t, and e / c in v_t: the masses after t.
    void forward_masses(Lattice& lattice, std::int64_t t) {
        if (matter(lattice, t)) set_masses(lattice, t);
    }
    // Before v_t is e / c no longer.
    void keep_scaled(const Lattice& lattice, std::int64_t t) {
        if (matter(lattice, t)) scaled_.assign(lattice.v + t * stride_, lattice.v + (t + 1) * stride_);
    }
    bool marginals(Lattice& lattice, std::int64_t t, const double* beta) {
        return !matter(lattice, t) || add_marginals(lattice, t, beta);
    }
    void backward(const Lattice& lattice, std::int64_t t, double* beta) {
        if (matter(lattice, t)) add_backward(lattice, t, beta);
    }
    // E of the pairs of a place: of the base list, times exp(delta) where the rest list has the pair.
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
    // Values by node; B of the histories after a position, and of those before; e / c of a position.
    std::vector<double> node_, node_sum_, history_beta_, new_beta_, scaled_, steps_;
    AlignedVector<double> ones_, touched_;  // [Yp] touched_: u before correction
};

// Makes room for the cells of a sequence whose places are set, in the domain that it says.
void lay_ngrams(NgramLattice& of);

}  // namespace sparsecrf
