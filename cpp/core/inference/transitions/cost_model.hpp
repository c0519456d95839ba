// Decides when a sparse product with a transition matrix is cheaper than a dense product.
#pragma once

#include <cstddef>

namespace sparsecrf {

// Compares the costs of one forward and one backward product with a matrix with `entries` nonzero lambda among
// n_labels^2. n_matrices matrices of that size are used alternately; their total size determines the cache level.
bool sparse_is_cheaper(std::size_t entries, int n_labels, std::size_t n_matrices);

// Compares the cost of computing expectations of `candidates` label pairs one by one with the cost of computing the
// expectations of all pairs by outer products.
bool pairs_are_cheaper(std::size_t candidates, int n_labels, std::size_t n_matrices);

}  // namespace sparsecrf
