// Coordinate ascent on the factors s_i of sequences (sequence_factors.cpp), on all threads:
//
//     D(s) = sum_i w_i H(u_i) - sum_k max(|G_k(s)| - rho1_k, 0)^2 / (2 rho2),     G(s) = G(1) + sum_i (s_i - 1) w_i g_i
//
// A sweep visits the sequences in blocks, and the blocks in rounds of eight. The blocks of a round start from the same
// G, so that threads can process them in parallel. Within a block, each sequence sees the changes of the sequences
// before it. After the round, all changes are added to G in order, so the result does not depend on the number of
// threads. As in dual_step.hpp, the changes of different blocks together must not overshoot. If n_k blocks of the round
// contain feature k, a block counts its change of G_k m_k times. m_k = n_k is safe by convexity; initially,
// m_k = (n_k + 1) / 2. In terms of G_k / sqrt(m_k), rho1_k / sqrt(m_k) and sqrt(m_k) w_i g_ik, the sums of a line
// search have the same form as for a single block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sparsecrf {

// H((1 - s) delta(y) + s p) with weight w, where h = H(p) and q = p(y):
//
//     w { - a log a - (1 - q) s log s + s (h + q log q) },        a = 1 - s + s q
struct MixedEntropy {
    double weight, h, q;

    double at(double s) const;
    double slope(double s) const;
    double curvature(double s) const;  // second derivative of -H, at least 0
};

// w_i g_i without small terms: the indices of features, and values.
struct SequenceGradient {
    std::vector<std::uint32_t> place;
    std::vector<float> value;
};

// Raises D in at most this many sweeps. free: the items whose factors may change, in ascending order, with the gradient
// of each. entropy: [items]; rho1: [L]; s: [items]; G: [L] at s, updated approximately.
void ascend_factors(std::vector<std::size_t> free, std::vector<SequenceGradient> gradients,
                    std::span<const MixedEntropy> entropy, std::span<const double> rho1, double rho2, int threads,
                    int sweeps, std::span<double> s, std::span<double> G);

// D, given G(s).
double factor_bound(std::span<const MixedEntropy> entropy, std::span<const double> s, std::span<const double> rho1,
                    double rho2, std::span<const double> G, int threads);

}  // namespace sparsecrf
