// Constraints on label sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/inference/lattice.hpp"

namespace sparsecrf {

struct Constraints {
    std::int64_t n_labels = 0;            // Y they are made for; 0: any
    std::vector<std::uint8_t> allowed;    // [P, Y] non-zero where a label may occur; empty: everywhere
    std::vector<std::uint8_t> forbidden;  // [Y + 1, Y] non-zero where a pair must not occur (row Y: start); empty: none
    std::vector<std::int32_t> fixed;      // [P] a label, or kMissing where free; empty: all free

    bool are_none() const { return allowed.empty() && forbidden.empty() && fixed.empty(); }
    void check(const Corpus& corpus) const;
    const std::uint8_t* forbidden_pairs() const { return forbidden.empty() ? nullptr : forbidden.data(); }
    // Sets the pointers of a lattice of sequence i.
    void apply(const Corpus& corpus, std::int64_t i, Lattice& lattice) const;
    // Whether label y is allowed at `position` after `previous` (Y: start).
    bool permits(const Corpus& corpus, std::int64_t position, std::int32_t previous, std::int32_t y) const;
};

}  // namespace sparsecrf
