// Forward-backward of one sequence for a step of dual ascent, at the weights represented by DualSpace, with the
// probabilities of all label pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/simd/kernels.hpp"
#include "core/training/dual_space.hpp"

namespace sparsecrf {

// Holds scratch space: one per thread.
class DualSequence {
   public:
    explicit DualSequence(DualSpace& space);

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
    double score(const double* nodes, const double* pairs);
    // d[t - 1] = p_t(y', y) - u[t - 1]              [T - 1, Y Y]; also writes up to 7 numbers past the end
    void pair_differences(const double* u, double* d);

    // The distinct pair rows (DualSpace::Z_pairs) of the sequence's attributes, and the change of E_u F in them: sum_t
    // v d_t for nodes d [T, Yp] and pairs d [T - 1, Y Y], into out [rows, pairs].
    const std::vector<std::uint32_t>& pair_rows() const { return rows_; }
    void sum_pairs(const double* nodes, const double* d, AlignedVector<double>& out);
    // Without weights: prepares only the lists of positions and pair_rows().
    void take(std::int64_t i);

   private:
    // The pair matrix of one list of bigram attributes.
    struct Matrix {
        AlignedVector<double> scores;     // [Y Y], padded
        AlignedVector<double> E, by_row;  // [Y, Yp] exp(score - shift): E[y', y] and its transpose
        double shift = 0.0;               // the largest score
        std::int64_t t = 0;               // a position that has the list
    };
    template <class Visit>
    void for_each_bigram(std::int64_t t, Visit visit) const;  // visit(row, value) for the attributes at a position
    void find_lists();
    void fill(Matrix& matrix);
    void add_start();
    void forward_linear();
    void backward_linear();
    void forward_log();
    void backward_log();
    Matrix& at(std::size_t t) { return matrices_[list_of_[t]]; }
    const Matrix& at(std::size_t t) const { return matrices_[list_of_[t]]; }
    double* row(AlignedVector<double>& of, std::size_t t) { return of.data() + t * Yp_; }

    DualSpace& space_;
    const Corpus& corpus_;
    const Kernels& kernels_;
    const std::size_t Y_, Yp_, inner_;  // inner_: Y Y, padded
    std::int64_t first_ = 0, sequence_ = 0;
    std::size_t n_ = 0;
    double log_z_ = 0.0;
    bool logarithmic_ = false;                 // pair scores differ too much for the linear domain
    AlignedVector<double> s_, alpha_, v_, p_;  // [T, Yp]; in the log domain alpha_ and v_ are logarithms
    AlignedVector<double> e_, u_, sum_;        // [Yp], [Yp], [lists, inner_]
    std::vector<Matrix> matrices_;             // for the lists of the sequence, the first n_lists_ in use
    std::size_t n_lists_ = 0;
    std::vector<std::uint32_t> list_of_;           // [T] list of each position after the first
    std::vector<std::uint32_t> list_place_;        // [base lists] index of those without a rest list
    std::vector<std::uint32_t> rows_, row_place_;  // pair rows of this sequence; [rows] their indices
};

}  // namespace sparsecrf
