// When a sparse product with a transition matrix is cheaper than a dense one.
#pragma once

#include <cstddef>

namespace sparsecrf {

// A forward plus a backward product with `entries` non-zero lambda among n_labels^2, when n_matrices of that size take
// turns: what they occupy together decides from which cache they come.
bool sparse_is_cheaper(std::size_t entries, int n_labels, std::size_t n_matrices);

// Expectations of `candidates` label pairs one by one, against all of them by outer products.
bool pairs_are_cheaper(std::size_t candidates, int n_labels, std::size_t n_matrices);

}  // namespace sparsecrf
