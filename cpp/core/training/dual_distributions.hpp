// The dual point: a distribution u_i over the label sequences of each sequence, kept by its node and pair probabilities,
// which is all that its entropy and its expectations depend on:
//
//     H(u_i) = - sum_{t > 0} sum q_t log q_t + sum_{0 < t < T-1} sum u_t log u_t
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/corpus.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {

class DualDistributions {
   public:
    // u = the labels of the data. Keeps a reference to the corpus. Every label must be known.
    explicit DualDistributions(const Corpus& corpus);

    double* nodes(std::int64_t i) { return node_values.data() + corpus.offsets[i] * stride; }  // [T, Yp]
    double* pairs(std::int64_t i) {
        return pair_values.data() + pair_first_[static_cast<std::size_t>(i)];
    }                                            // [T-1, YY]
    std::size_t n_pairs(std::int64_t i) const {  // numbers, padded with zeros to a multiple of 8
        return static_cast<std::size_t>(pair_first_[static_cast<std::size_t>(i) + 1] -
                                        pair_first_[static_cast<std::size_t>(i)]);
    }

    // u_i += share * (the labels of the data)
    void add_data(std::int64_t i, double share);
    // u_i <- the Markov chain with its first node and its conditional probabilities: the node probabilities are then the
    // marginals of the pair probabilities.
    void make_consistent(std::int64_t i);
    double entropy_of(std::int64_t i);
    // sum_i w_i H(u_i), by `entropy`.
    double total_entropy() const;

    const Corpus& corpus;
    const int stride;                        // Yp
    std::vector<std::int64_t> counting;      // the sequences of weight above 0, ascending
    AlignedVector<double> node_values;       // [P, Yp] u_t(y)
    AlignedVector<double> pair_values;       // of each sequence [T - 1, Y Y], padded: u_t(y', y)
    std::vector<double> entropy, gap, step;  // [N] H(u_i); w_i KL(u_i || p_i) when last computed; c of the last step

   private:
    const Kernels& kernels_;
    std::vector<std::int64_t> pair_first_;  // [N + 1] into pair_values, multiples of 8
    AlignedVector<double> zeros_;
};

}  // namespace sparsecrf
