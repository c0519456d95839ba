// What labels have in common: a label has parts, and a part stands for all labels that have it.
//
// `NOUN|Case=Nom` has the parts `NOUN` and `Case=Nom`. A unigram feature is of a label (x, y) or of a part (x, j), and
// the score of a label is the sum of its own and those of its parts. So a unigram row has Y + P cells, those of the
// labels and then those of the parts, which are folded into Y scores; probabilities unfold likewise:
//     s(y) = cells[y] + sum over its parts j of cells[Y + j],      p(Y + j) = sum of p(y) over the labels that have j
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sparsecrf {

class LabelParts {
   public:
    // The parts of label y, each once, are part[ptr[y]] to part[ptr[y + 1] - 1], all of them below n_parts.
    LabelParts(std::int64_t n_parts, std::span<const std::int64_t> ptr, std::span<const std::int32_t> part);

    int n_labels() const { return static_cast<int>(ptr_.size()) - 1; }  // Y
    int n_parts() const { return n_parts_; }                            // P
    int n_cells() const { return n_labels() + n_parts_; }

    std::span<const std::uint32_t> cells_of(std::size_t y) const {  // of the parts of a label, ascending: Y + j
        return std::span(cell_).subspan(ptr_[y], ptr_[y + 1] - ptr_[y]);
    }
    bool has(std::size_t y, std::uint32_t cell) const;  // whether a label is that cell, or has that part

    void fold(const double* cells, double* s) const;    // cells: [Y + P], s: [Y]
    void unfold(const double* p, double* cells) const;  // p: [Y], cells: [Y + P]

   private:
    int n_parts_;
    std::vector<std::uint32_t> ptr_;   // [Y + 1]
    std::vector<std::uint32_t> cell_;  // of each part
};

}  // namespace sparsecrf
