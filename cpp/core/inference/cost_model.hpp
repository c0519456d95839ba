// Decides when a sparse product with a transition matrix is cheaper than a dense one.
#pragma once

#include <cstddef>

namespace sparsecrf {

// Compares a forward plus a backward product with `entries` nonzero lambda among n_labels^2. n_matrices of that size
// are used alternately; their total size determines the cache level.
bool sparse_is_cheaper(std::size_t entries, int n_labels, std::size_t n_matrices);

// Compares expectations of `candidates` individual label pairs with expectations of all pairs by outer products.
bool pairs_are_cheaper(std::size_t candidates, int n_labels, std::size_t n_matrices);

}  // namespace sparsecrf
