// The structure of labels: a label has parts, and labels can share parts.
//
// `NOUN|Case=Nom` has the parts `NOUN` and `Case=Nom`. A unigram feature belongs to a label (x, y) or to a part (x, j),
// and the score of a label is its own score plus the scores of its parts. A unigram row therefore has Y + P cells,
// labels first, then parts. Folding maps them to Y scores; unfolding maps probabilities of labels to cells:
//     s(y) = cells[y] + sum over its parts j of cells[Y + j],      p(Y + j) = sum of p(y) over the labels with part j
//
// Labels may also be partitioned into classes: each label belongs to the class of one of its parts (e.g. `NOUN`) or
// forms its own class. A bigram feature then belongs to two labels or to two classes, (x, c', c). Class pairs are
// numbered like label pairs (numbering.hpp), with C as the start. A pair of two singleton classes would duplicate a
// label pair and has no features.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/corpus/numbering.hpp"

namespace sparsecrf {

class LabelParts {
   public:
    // The distinct parts of label y are part[ptr[y]] to part[ptr[y + 1] - 1], all below n_parts.
    // class_cell: [Y] the cell of each label's class, one of its parts or the label itself; empty if there are no
    // classes.
    LabelParts(std::int64_t n_parts, std::span<const std::int64_t> ptr, std::span<const std::int32_t> part,
               std::span<const std::int32_t> class_cell = {});

    int n_labels() const { return static_cast<int>(ptr_.size()) - 1; }  // Y
    int n_parts() const { return n_parts_; }                            // P
    int n_cells() const { return n_labels() + n_parts_; }

    std::span<const std::uint32_t> cells_of(std::size_t y) const {  // cells Y + j of the parts of a label, ascending
        return std::span(cell_).subspan(ptr_[y], ptr_[y + 1] - ptr_[y]);
    }
    bool has(std::size_t y, std::uint32_t cell) const;  // whether the cell is label y or one of its parts

    void fold(const double* cells, double* s) const;    // cells: [Y + P], s: [Y]
    void unfold(const double* p, double* cells) const;  // p: [Y], cells: [Y + P]

    int n_classes() const { return static_cast<int>(class_cell_.size()); }  // C; 0 without classes
    LabelPairs class_pairs() const { return LabelPairs(n_classes()); }
    std::uint32_t class_of(std::size_t y) const { return class_of_[y]; }
    std::uint32_t class_cell(std::uint32_t c) const { return class_cell_[c]; }  // ascending
    std::span<const std::uint32_t> members(std::uint32_t c) const {             // labels of a class, ascending
        return std::span(member_).subspan(member_ptr_[c], member_ptr_[c + 1] - member_ptr_[c]);
    }
    // Whether a class pair can have features; it has none if it contains a single label pair.
    bool has_features(std::uint32_t class_pair) const;
    // The class pair that contains a label pair.
    std::uint32_t class_pair(std::uint32_t previous, std::uint32_t y) const {
        const LabelPairs pairs = class_pairs();
        return pairs.pair(previous < class_of_.size() ? class_of_[previous] : pairs.start(), class_of_[y]);
    }
    // out(c) = sum of p(y) over the labels of c.  p: [Y], out: [C]
    void sum_classes(const double* p, double* out) const;

   private:
    void set_classes(std::span<const std::int32_t> class_cell);

    int n_parts_;
    std::vector<std::uint32_t> ptr_;                  // [Y + 1]
    std::vector<std::uint32_t> cell_;                 // cell of each part
    std::vector<std::uint32_t> class_of_;             // [Y]
    std::vector<std::uint32_t> class_cell_;           // [C]
    std::vector<std::uint32_t> member_ptr_, member_;  // [C + 1], [Y]
};

// The cells of unigram rows, for labels with or without parts (null).
class LabelCells {
   public:
    LabelCells(int n_labels, const LabelParts* parts) : n_labels_(n_labels), parts_(parts) {}

    int size() const { return parts_ == nullptr ? n_labels_ : parts_->n_cells(); }  // Y + P
    // Calls visit(cell) for the cell of label y, then for the cells of its parts.
    template <class Visit>
    void for_each(std::uint32_t y, Visit visit) const {
        visit(y);
        if (parts_ == nullptr) return;
        for (const std::uint32_t cell : parts_->cells_of(y)) visit(cell);
    }
    bool has(std::uint32_t y, std::uint32_t cell) const {
        return cell == y || (parts_ != nullptr && parts_->has(y, cell));
    }
    // Unfolds n rows of p [n, stride] to rows [n, cell_stride]. Returns a pointer to the first row: `scratch` or,
    // without parts, p itself.
    template <class Scratch>
    const double* unfold(const double* p, std::size_t n, int stride, int cell_stride, Scratch& scratch) const {
        scratch.resize(parts_ == nullptr ? 0 : n * static_cast<std::size_t>(cell_stride));
        if (parts_ == nullptr) return p;
        for (std::size_t r = 0; r < n; ++r) {
            parts_->unfold(p + r * static_cast<std::size_t>(stride),
                           scratch.data() + r * static_cast<std::size_t>(cell_stride));
        }
        return scratch.data();
    }

   private:
    int n_labels_;
    const LabelParts* parts_;
};

}  // namespace sparsecrf
