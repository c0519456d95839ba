// Label n-grams at eight positions side by side: input of the kernels of simd/ngram_rows.inl.
//
// A row consists of eight values, one for each of eight positions (lanes) that have the same arcs. Every scalar of
// ngrams/ngram_correction.cpp becomes a row here, so nothing has to be gathered. The result of a lane depends neither
// on the other lanes nor on the instruction set. ngrams/ngram_batch.hpp describes how the rows are filled.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sparsecrf {

struct NgramRows {
    // Arcs are numbered leaves first, by history, then inner arcs; nodes are inner arcs, then pairs (NgramArcs).
    std::size_t n_histories, n_history_pairs, n_leaves, n_inner, n_own;
    const std::uint32_t *parent, *history, *pair_of;  // [arcs]
    const double *x, *x_parent, *more;                // [arcs]
    const std::uint16_t *pair_previous, *pair_label;  // [n_own] pairs that arcs end in
    const std::uint16_t *first, *label;               // [n_histories] histories before this position
    const std::uint32_t* suffix;                      // [n_histories]; kNone if the history is a single label
    static constexpr std::uint32_t kNone = UINT32_MAX;

    double* mass;    // [n_histories] A
    double* rise;    // [n_histories] dB by `ngram_backward`, B(c) - beta(last label) by `ngram_histories`
    double* leaves;  // [nodes] sum over leaves of A (X - X(parent)) by `ngram_forward`; E e / c B'(target) by
                     // `ngram_backward`
    double* node;    // [nodes] masses by `ngram_forward`; p of arcs and p - alpha E v of pairs by `ngram_backward`
    double* weight;  // [n_own] E

    // Rows for this position, [Yp]: alpha of the previous position, u or v of this one.
    double *alpha, *u, *v;
    double* value;     // [nodes] scratch; on entry to ngram_backward, e / c B'(target)
    double* node_sum;  // [nodes] scratch
    // Rows of the previous position: beta, e / c, and the contributions of its histories to p and to the preceding
    // beta.
    double *beta, *scaled, *p, *step;
    double* steps;  // [n_history_pairs] e / c (B - beta), to be multiplied by E

    double* safe;        // one row: 1, or 0 where cancellation lost too much precision
    double least, most;  // limits of the cancellation (kCancelled, kLargeTerm)
    const double* item;  // one row: weights of the items
    // [arcs, padded to 8] sums of w p (for leaves without X) and of w p^2, or null; scratch rows for their terms.
    double *sum, *square, *term, *term_square;
};

}  // namespace sparsecrf
