// Forward-backward of one sequence for a step of dual ascent, at the weights represented by DualSpace, with the
// probabilities of all label pairs.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/simd/kernels.hpp"
#include "core/training/dual/dual_space.hpp"

namespace sparsecrf {

// The pair matrix of one list of bigram attributes.
class PairMatrix {
   public:
    PairMatrix(const DualSpace& space, std::int64_t position) : t(position), space_(space) {}

    // Computes the matrix from the current weights.
    void fill();

    std::int64_t t;                   // a position with this list, or negative if none exists
    AlignedVector<double> scores;     // [Y Y], padded with zeros
    AlignedVector<double> E, by_row;  // [Y, Yp] exp(score - shift): E[y', y] and its transpose
    double shift = 0.0;               // the largest score
    bool wide = false;                // whether the scores differ too much for the linear domain

   private:
    const DualSpace& space_;
    AlignedVector<double> exp_;  // [Y Y], padded
};

// A position with the most common list among the positions after the first of each sequence, or -1.
std::int64_t position_of_common_list(const Corpus& corpus);

// Not thread-safe, because it holds scratch space.
class DualSequence {
   public:
    // `common`: the matrix of a common list, which must be up to date.
    DualSequence(DualSpace& space, const PairMatrix& common);

    // Computes scores and log Z of sequence i.
    void forward(std::int64_t i);
    // Call after forward: computes p_t(y); `pair_differences` then gives p_t(y', y).
    void backward();

    double log_z() const { return log_z_; }
    std::int64_t first() const { return first_; }
    std::size_t length() const { return n_; }
    const double* p() const { return p_.data(); }  // [T, Yp]

    // theta . F of the sequence's own labels, and theta . E_u F for node [T, Yp] and pair [T - 1, Y Y] probabilities.
    double score_of_labels() const;
    double score(const double* nodes, const double* pairs) const;
    // d[t - 1] = p_t(y', y) - u[t - 1]              [T - 1, Y Y]; also writes up to 7 numbers past the end, and sums d
    // like sum_pairs
    void pair_differences(const double* u, double* d);

    // Sums d [T - 1, Y Y] over the positions of each list.
    void sum_pairs(const double* d);
    // The distinct pair rows (DualSpace::Z_pairs) of the sequence's attributes.
    const std::vector<std::uint32_t>& pair_rows() const { return rows_; }
    // The change of E_u F in these rows: sum_t v d_t, from nodes d [T, Yp] and the sums of sum_pairs.
    // out: [rows, pairs]
    void sum_by_row(const double* nodes, AlignedVector<double>& out);
    // Prepares only the lists of positions and pair_rows(), which do not depend on the weights.
    void take(std::int64_t i);

   private:
    void find_lists();
    void add_start();
    void forward_linear();
    void backward_linear();
    void forward_log();
    void backward_log();
    void clear_sums();
    double* sum_of(std::size_t t) { return sum_.data() + list_of_[t] * Y_ * Yp_; }
    void add_to_sum(std::size_t t, const double* d);
    const PairMatrix& at(std::size_t t) const { return *lists_[list_of_[t]]; }
    double* row(AlignedVector<double>& of, std::size_t t) { return of.data() + t * Yp_; }

    DualSpace& space_;
    const Corpus& corpus_;
    const Kernels& kernels_;
    const std::size_t Y_, Yp_, inner_;  // inner_: Y Y, padded
    std::int64_t first_ = 0, sequence_ = 0;
    std::size_t n_ = 0;
    double log_z_ = 0.0;
    bool logarithmic_ = false;                 // whether pair scores differ too much for the linear domain
    AlignedVector<double> s_, alpha_, v_, p_;  // [T, Yp]; in the log domain alpha_ and v_ are logarithms
    AlignedVector<double> e_, u_, sum_;        // [Yp], [Yp], [lists, Y, Yp]
    const PairMatrix& common_;
    std::deque<PairMatrix> own_;  // matrices of other lists, the first n_own_ in use
    std::size_t n_own_ = 0;
    std::vector<const PairMatrix*> lists_;         // the lists of the sequence
    std::vector<std::uint32_t> list_of_;           // [T] list of each position after the first
    std::vector<std::uint32_t> list_place_;        // [base lists] index in lists_, for positions without a rest list
    std::vector<std::uint32_t> rows_, row_place_;  // pair rows of this sequence; [rows] their indices
};

}  // namespace sparsecrf
