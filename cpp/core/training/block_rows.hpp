// The results of forward-backward for a block of a pass, for code that sums over its positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/label_parts.hpp"
#include "core/inference/lattice.hpp"
#include "core/inference/ngrams/ngram_batch.hpp"

namespace sparsecrf {

inline constexpr std::size_t kRowsAtATime = 32;  // per block, so that their alpha and v stay in the L1 cache

// Row r belongs to item k = item[r] and is position r - first_row[k] of lattice k.
struct BlockRows {
    AlignedVector<double> alpha, v, p;  // [rows, Yp]; v scaled by the item's weight unless logarithmic
    AlignedVector<double> cells;      // [rows, Cp] p of labels and their parts, filled by `unfold`; empty without parts
    AlignedVector<double> classes;    // [rows, C C padded] p of class pairs, [C] for first rows; or empty
    std::vector<double> weight;       // [rows] weight of the item
    std::vector<std::uint32_t> item;  // [rows] index into lattices
    std::vector<Lattice> lattices;    // [items of the block]
    std::vector<std::int64_t> first_row;  // [items of the block]
    NgramSums ngram_sums;                 // sums of the items processed side by side
    bool sum_ngrams = false;              // whether to compute them

    void unfold(const LabelCells& of, int stride, int cell_stride) {
        of.unfold(p.data(), weight.size(), stride, cell_stride, cells);
    }
    // Probabilities of the cells of unigram rows.  [Cp]
    const double* cell_p(std::size_t row, int cell_stride) const {
        return (cells.empty() ? p : cells).data() + row * static_cast<std::size_t>(cell_stride);
    }
};

}  // namespace sparsecrf
