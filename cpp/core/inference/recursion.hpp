// Forward and backward over one sequence: scaled linear domain where that is provably safe, log domain elsewhere.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/compensated_sum.hpp"
#include "core/inference/lattice.hpp"
#include "core/inference/potentials.hpp"

namespace sparsecrf {

inline constexpr double kLargeTerm = 0x1p10;  // of a sum over label n-grams that is a probability: it has lost digits

// sum_t log c_t with few logarithms: of products, each taken before it could leave the range of numbers.
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

// log Z = sum_t (log c_t + shift_t) as far as it has come.
struct LogZ {
    CompensatedSum sum;
    SumOfLogs logs;
    double finish() {
        logs.finish(sum);
        return sum.value();
    }
};

// Not thread-safe: one per thread.
class Recursion {
   public:
    // keep_zero_pairs: list every pair of the rest rows in Lattice::rest, not only those with a weight.
    explicit Recursion(const Potentials& potentials, bool keep_zero_pairs = false);
    const Potentials& potentials() const { return potentials_; }

    // alpha, log Z. Throws UnsatisfiableError if no path is possible.
    void forward(Lattice& lattice);
    // v, node marginals p, pair probabilities of the rest lists, for the positions from `first` on. After forward on
    // the same lattice.
    void backward(Lattice& lattice, std::int64_t first = 0);

    // p_t(c', c) for all pairs of classes of labels, [C, C], at a first position p_t(start, c), [C]; after backward.
    void class_marginals(const Lattice& lattice, std::int64_t t, double* out);
    // p_t(y', y) for all pairs, out: [Y + 1, Y], after backward.
    void edge_marginals(const Lattice& lattice, std::int64_t t, double* out);
    // visit(k, p_t(pairs[k])) for ascending pairs of one kind (after the start, or not), after backward. One pair after
    // the other: right for a few pairs (Sbcd) and in the log domain. Elsewhere sums over positions are outer products,
    // sum_t alpha_{t-1}(y') v_t(y), times E: PairFamily takes them over the positions of a block, in tiles,
    // SgdStep over those of one sequence, with E as `renew` left it. Neither could do as the other
    // does without being slower.
    template <class Visit>
    void pair_marginals(const Lattice& lattice, std::int64_t t, std::span<const std::uint32_t> pairs, Visit visit);
    // p_t(y', y) of all y', the start label last, for the labels y with a column: out[columns[y] (Y + 1) + y'],
    // columns[y] being kNoString for all others; after backward. Cells that cannot be stay as they are.
    void pair_columns(const Lattice& lattice, std::int64_t t, const std::uint32_t* columns, double* out);
    // Unigram scores of position t with constraints applied: -infinity where the label may not occur. [Yp]
    const double* constrained_scores(const Lattice& lattice, std::int64_t t);
    // lambda(y', y) summed over base and rest of position t as a dense matrix [Y, Yp] (t > 0), padding -infinity.
    const double* dense_scores(const Lattice& lattice, std::int64_t t);
    // The same for the start row, [Yp].
    const double* start_scores(const Lattice& lattice);
    void gather_rest(Lattice& lattice);

    // The linear domain one position at a time, for NgramBatch: as forward and backward, but for what n-grams add.
    // listed: there will be extras of the pairs that the tables list.
    void open_together(Lattice& lattice, bool listed);
    void start_forward(Lattice& lattice, std::int64_t t, double* u);
    // alpha, v and log c of u; false: not safe here.
    bool finish_forward(Lattice& lattice, std::int64_t t, const double* u, LogZ& log_z);
    // v and p of beta; returns sum_y v(y).
    double start_backward(Lattice& lattice, std::int64_t t, const double* beta);
    // beta of the position before.
    void finish_backward(const Lattice& lattice, std::int64_t t, double total, double* beta);
    void ngram_pair_weights(Lattice& lattice, std::int64_t t);

   private:
    bool forward_linear(Lattice& lattice);
    // False: not safe here, which only label n-grams can make it.
    bool backward_linear(Lattice& lattice, std::int64_t first);
    void forward_log(Lattice& lattice);
    void backward_log(Lattice& lattice, std::int64_t first);

    void correct_forward(Lattice& lattice, std::int64_t t, const double* alpha, double* u);
    void correct_backward(const Lattice& lattice, std::int64_t t, const double* v, double* beta);
    void pair_probabilities(Lattice& lattice, std::int64_t t);
    void sum_class_marginals(const Lattice& lattice, std::int64_t t, double* out);

    // Label n-grams (recursion_ngrams.cpp, recursion_ngrams_log.cpp).
    void open_ngrams(Lattice& lattice);
    void lay_ngrams(NgramLattice& of);
    bool ngrams_forward(Lattice& lattice, std::int64_t t, double* u);
    void ngrams_masses(Lattice& lattice, std::int64_t t);
    bool ngrams_marginals(Lattice& lattice, std::int64_t t, const double* beta);
    bool ngram_arc_marginals(Lattice& lattice, std::int64_t t);
    bool leaves_backward(const NgramArcs& arcs, const double* before, const double* flow);
    void ngrams_backward(const Lattice& lattice, std::int64_t t, double* beta);
    void ngrams_forward_log(Lattice& lattice);
    void ngrams_backward_log(Lattice& lattice);

    const Potentials& potentials_;
    const Kernels& kernels_;
    const bool keep_zero_pairs_;
    const int n_labels_, stride_;                                        // Y, Yp
    AlignedVector<double> scores_, exp_scores_, u_, beta_, row_, ones_;  // [Yp]
    AlignedVector<double> matrix_;                                       // [Y, Yp] for the log domain
    PairScores pairs_;
    std::vector<double> touched_;      // [Yp] cells of u or beta before correction
    std::vector<double> pair_weight_;  // E of some pairs
    // Label n-grams: values by node; B of the histories after a position, and of those before; e / c of a position.
    std::vector<double> node_, node_sum_, history_beta_, new_beta_, scaled_, steps_;
    std::vector<std::vector<double>> log_mass_;  // [T] of the states after a position: labels, then histories
};

template <class Visit>
void Recursion::pair_marginals(const Lattice& lattice, std::int64_t t, std::span<const std::uint32_t> pairs,
                               Visit visit) {
    const LabelPairs numbers(n_labels_);
    const double* v = lattice.v + t * stride_;
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const Transition& transition = potentials_.transition(lattice.first + t);
    const double* lambda = nullptr;
    const bool ngrams = lattice.ngrams.any();
    if (lattice.logarithmic && ngrams) {
        const double* edge = lattice.ngrams.edge.data() + t * n_labels_ * n_labels_;
        for (std::size_t k = 0; k < pairs.size(); ++k) {
            visit(k, t == 0 ? lattice.p[numbers.start_label(pairs[k])] : edge[pairs[k]]);
        }
        return;
    }
    if (lattice.logarithmic) lambda = t == 0 ? start_scores(lattice) : dense_scores(lattice, t);
    std::int64_t r = lattice.rest.ptr[t];
    if (ngrams) {  // E of all pairs at once: with n-grams these are asked for at every position
        pair_weight_.assign(pairs.size(), 1.0);
        transition.multiply(pairs, pair_weight_.data());
    }
    NgramLattice::Extras extras(lattice.ngrams, t);
    for_each_pair(pairs, n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
        if (lattice.logarithmic) {
            const std::size_t cell = i * static_cast<std::size_t>(stride_) + y;
            return visit(k, t == 0 ? std::exp(lambda[y] + v[y]) : std::exp(alpha[i] + lambda[cell] + v[y]));
        }
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
