// The dual point: a distribution u_i over the label sequences of each sequence, represented by its node and pair
// probabilities, which determine its entropy and expectations:
//
//     H(u_i) = - sum_{t > 0} sum q_t log q_t + sum_{0 < t < T-1} sum u_t log u_t
//
// Pair probabilities take most of the memory of a run, so they are stored in single precision until `use_doubles`.
// Computations always use double precision. Rounding changes the computed gap of a sequence by at most about 6e-8 of
// its score, which can hide the gap (`DualAscent::Values`). Bounds are not affected, because `make_consistent` returns
// the pair probabilities before rounding, which form an exact distribution.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/lanes.hpp"
#include "core/base/zeros.hpp"
#include "core/corpus/corpus.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {

class DualDistributions {
   public:
    // Sets u to the labels of the data. Keeps a reference to the corpus. Every label must be known.
    DualDistributions(const Corpus& corpus, int threads);

    double* nodes(std::int64_t i) { return node_values.data() + corpus.offsets[i] * stride; }  // [T, Yp]
    const double* nodes(std::int64_t i) const { return node_values.data() + corpus.offsets[i] * stride; }
    std::size_t n_pairs(std::int64_t i) const {  // (T - 1) Y Y, padded to a multiple of 8
        return first_pair(i + 1) - first_pair(i);
    }
    // Copies the pair probabilities [T - 1, YY] to `out`, followed by zeros up to n_pairs(i) + kLanes numbers, since
    // kernels read past the end.
    void read_pairs(std::int64_t i, AlignedVector<double>& out) const;
    // Stores n_pairs(i) numbers. As floats, numbers below 1e-30 become zero, because very small floats are slow.
    void write_pairs(std::int64_t i, const double* from) { move_pairs(i, from, from, 0.0); }
    // Stores from + c d.
    void move_pairs(std::int64_t i, const double* from, const double* d, double c);
    const float* prefetched_pairs(std::int64_t i) const;  // their address, as float or double, for prefetching
    void use_doubles();
    void free();  // frees all probabilities; no step may follow
    bool has_doubles() const { return doubles_.size() > 0; }
    // All pair probabilities: per sequence [T - 1, Y Y], padded.
    std::size_t n_all_pairs() const { return static_cast<std::size_t>(pair_first_.back()); }
    std::vector<double> all_pairs() const;
    void set_all_pairs(std::span<const double> pairs);

    // u_i <- share u_i + (1 - share) (the labels of the data)
    void mix_with_data(std::int64_t i, double share);
    // Replaces u_i by the Markov chain with the same first node and conditional probabilities, so that the node
    // probabilities are the marginals of the pair probabilities. q: the pair probabilities before rounding.
    void make_consistent(std::int64_t i, AlignedVector<double>& q);
    // q: the pair probabilities
    double entropy_of(std::int64_t i, const AlignedVector<double>& q) const;
    // sum_i w_i H(u_i), from `entropy`.
    double total_entropy() const;

    const Corpus& corpus;
    const int stride;                        // Yp
    std::vector<std::int64_t> counting;      // sequences with positive weight, ascending
    Zeros<double> node_values;               // [P, Yp] u_t(y)
    std::vector<double> entropy, gap, step;  // [N] H(u_i); last computed w_i KL(u_i || p_i); c of the last step

   private:
    std::size_t first_pair(std::int64_t i) const {
        return static_cast<std::size_t>(pair_first_[static_cast<std::size_t>(i)]);
    }

    const Kernels& kernels_;
    std::vector<std::int64_t> pair_first_;  // [N + 1] into the pairs, multiples of 8
    Zeros<float> floats_;                   // all pairs u_t(y', y); empty after `use_doubles`
    Zeros<double> doubles_;                 // the same; empty before `use_doubles`
    AlignedVector<double> zeros_;           // as many as the pairs or nodes of the longest sequence
};

}  // namespace sparsecrf
