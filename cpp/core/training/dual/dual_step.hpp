// One step of dual ascent: u_i <- u_i + c (p_i - u_i), with c from a line search on D.
//
// The steps of a batch start from the same Z, so that threads can run them in parallel; their changes of Z are added
// afterwards. Let f be the conjugate of the penalty, which is convex and a sum over rows, and let row r occur in n_r
// sequences of the batch. Then
//
//     f_r(Z + sum_j d_j) <= (1/n_r) sum_j f_r(Z + n_r d_j)
//
// so the steps of a batch never lower D if every line search counts a change of row r m_r = n_r times. The changes of
// different sequences partly cancel, so initially m_r is about half of n_r (DualSpace::set_times). For a quadratic f, D
// still increases then, even if all changes are equal. If D decreases nevertheless, DualAscent::never_descend sets
// m_r = n_r.
#pragma once

#include <cstdint>
#include <vector>

#include "core/training/dual/dual_distributions.hpp"
#include "core/training/dual/dual_sequence.hpp"

namespace sparsecrf {

// Holds scratch space, so every sequence of a batch needs its own object.
class DualStep {
   public:
    // `shares`: bounds of ranges of rows, for `add_to_rows`.
    DualStep(DualSpace& space, DualDistributions& u, const PairMatrix& common, const std::vector<std::uint32_t>& shares)
        : space_(space), u_(u), at_(space, common), kernels_(kernels()), shares_(shares), places_(shares.size()) {}

    // Moves u_i and leaves Z unchanged. `next`: a sequence whose pairs are prefetched.
    void take(std::int64_t i, std::int64_t next);
    // Computes w_i KL(u_i || p_i), the gap of sequence i, and returns its loss and w_i (|log Z_i| + |score of u_i|).
    struct Values {
        double loss, size;
    };
    Values find_gap(std::int64_t i);
    // Sets u_i to the model's distribution.
    void take_model(std::int64_t i);
    // Makes u_i consistent, computes its entropy, and sets the change to w_i (E_{u_i} F - F_i), whose sum over all
    // sequences is G. Does not take a step.
    void certify(std::int64_t i);
    // Sets the change to w_i (E_{p_i} F - F_i), the gradient of the loss of sequence i. Returns that loss.
    double differentiate(std::int64_t i);
    // Adds the change, times c, to the rows of this share in `to`, and to its pair rows.
    void add_to_rows(DualSpace::Sums to, std::size_t share);
    void add_to_pairs(DualSpace::Sums to);

   private:
    void find_direction();
    void find_pair_differences();
    void find_rows();
    void subtract_labels();
    void find_places();
    double search(std::int64_t next);

    DualSpace& space_;
    DualDistributions& u_;
    DualSequence at_;
    const Kernels& kernels_;
    const std::vector<std::uint32_t>& shares_;
    std::vector<std::size_t> places_;  // [shares + 1] where each share begins in the rows of the sequence

    std::int64_t i_ = 0;
    double weight_ = 0.0, c_ = 0.0;         // w_i; step length
    std::size_t n_nodes_ = 0;               // size of the node arrays, T Yp
    std::size_t n_near_ = 0, n_own_ = 0;    // rows of Z that can affect the search: label rows, pair rows
    AlignedVector<double> u_pairs_;         // [T - 1, Y Y] pairs of u_i
    AlignedVector<double> d_nodes_;         // [T, Yp] p - u
    AlignedVector<double> d_pairs_;         // [T - 1, Y Y]
    AlignedVector<double> d_rows_, d_own_;  // [rows, Yp], [pair rows, pairs] the change of Z
    AlignedVector<double> near_Z_, near_d_, own_Z_, own_d_;  // rows that can affect the search, and m_r times their
                                                             // change
    std::vector<DualRow> near_, own_;
};

}  // namespace sparsecrf
