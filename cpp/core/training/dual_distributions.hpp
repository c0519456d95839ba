// The dual point: a distribution u_i over the label sequences of each sequence, represented by its node and pair
// probabilities, which determine its entropy and expectations:
//
//     H(u_i) = - sum_{t > 0} sum q_t log q_t + sum_{0 < t < T-1} sum u_t log u_t
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/lanes.hpp"
#include "core/base/zeros.hpp"
#include "core/corpus/corpus.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {

class DualDistributions {
   public:
    // u = the labels of the data. Keeps a reference to the corpus. Every label must be known.
    DualDistributions(const Corpus& corpus, int threads);

    double* nodes(std::int64_t i) { return node_values.data() + corpus.offsets[i] * stride; }  // [T, Yp]
    const double* nodes(std::int64_t i) const { return node_values.data() + corpus.offsets[i] * stride; }
    double* pairs(std::int64_t i) {
        return pair_values.data() + pair_first_[static_cast<std::size_t>(i)];
    }  // [T-1, YY]
    const double* pairs(std::int64_t i) const { return pair_values.data() + pair_first_[static_cast<std::size_t>(i)]; }
    std::size_t n_pairs(std::int64_t i) const {  // padded with zeros to a multiple of 8
        return static_cast<std::size_t>(pair_first_[static_cast<std::size_t>(i) + 1] -
                                        pair_first_[static_cast<std::size_t>(i)] - kLanes);
    }

    // u_i += share * (the labels of the data)
    void add_data(std::int64_t i, double share);
    // Replaces u_i by the Markov chain with the same first node and conditional probabilities, so that the node
    // probabilities are the marginals of the pair probabilities.
    void make_consistent(std::int64_t i);
    double entropy_of(std::int64_t i) const;
    // sum_i w_i H(u_i), from `entropy`.
    double total_entropy() const;

    const Corpus& corpus;
    const int stride;                        // Yp
    std::vector<std::int64_t> counting;      // sequences with positive weight, ascending
    Zeros node_values;                       // [P, Yp] u_t(y)
    Zeros pair_values;                       // per sequence [T - 1, Y Y], padded: u_t(y', y); then 8 zeros, since
                                             // kernels read past the end
    std::vector<double> entropy, gap, step;  // [N] H(u_i); last computed w_i KL(u_i || p_i); c of the last step

   private:
    const Kernels& kernels_;
    std::vector<std::int64_t> pair_first_;  // [N + 1] into pair_values, multiples of 8
    AlignedVector<double> zeros_;           // as many as the pairs or nodes of the longest sequence
};

}  // namespace sparsecrf
