// The Viterbi step with a matrix: best(y) = max_{y'} epsilon(y') + m(y', y).
//
// Let `top` be the label with the largest epsilon. Every best(y) is at least epsilon(top) + min_y m(top, y), so rows y'
// with epsilon(y') + max_y m(y', y) <= that bound can be left out. Often few rows remain.
#pragma once

#include <vector>

namespace sparsecrf {

struct ScoreMatrix {
    const double* m;     // [Y, Yp], padded with -infinity
    const double* high;  // [Yp] an upper bound of each row, padded with -infinity
    int n_labels, stride;
    bool finite;  // whether all cells are finite; otherwise, no rows are left out
};

// epsilon, best: [Yp], padded with -infinity; rows: scratch
void max_plus(const double* epsilon, const ScoreMatrix& of, double* best, std::vector<int>& rows);

}  // namespace sparsecrf
