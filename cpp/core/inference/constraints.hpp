// Constraints on label sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/inference/lattice.hpp"

namespace sparsecrf {

struct Constraints {
    std::int64_t n_labels = 0;            // Y of the model that they apply to; 0 means any
    std::vector<std::uint8_t> allowed;    // [P, Y] nonzero where a label is allowed; empty means everywhere
    std::vector<std::uint8_t> forbidden;  // [Y + 1, Y] nonzero where a pair is forbidden (row Y: start); empty if none
    std::vector<std::int32_t> fixed;      // [P] a label, or kMissing if free; empty means all free

    bool are_none() const { return allowed.empty() && forbidden.empty() && fixed.empty(); }
    void check(const Corpus& corpus) const;
    const std::uint8_t* forbidden_pairs() const { return forbidden.empty() ? nullptr : forbidden.data(); }
    // Sets the constraint pointers of the lattice of sequence i.
    void apply(const Corpus& corpus, std::int64_t i, Lattice& lattice) const;
    // Whether label y is allowed at `position` after `previous` (Y: start).
    bool permits(const Corpus& corpus, std::int64_t position, std::int32_t previous, std::int32_t y) const;
};

}  // namespace sparsecrf
