// Scores of label pairs at positions with individual matrices. A few lists of attributes account for most positions, so
// the matrix of each of these lists is summed once and kept. The other attributes of a position are rare and change
// single cells of the matrix; these changes are undone afterwards. (Transition lays out one matrix for many positions.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/lanes.hpp"
#include "core/corpus/features.hpp"
#include "core/corpus/string_table.hpp"
#include "core/inference/transitions/max_plus.hpp"

namespace sparsecrf {

// Not thread-safe.
class PairRows {
   public:
    // Whether this class supports a feature set: few labels, and no class pairs.
    static bool fits(const FeatureSet& features) {
        return features.n_class() == 0 && size_of(features.n_labels) <= kMostCells;
    }
    PairRows(const FeatureSet& features, std::span<const double> w);

    // Starts a sequence and invalidates all matrix numbers.
    void begin();
    // Whether the matrices of this sequence take too much memory, so that the caller should give up.
    bool is_full() const { return matrices_.size() > 4 * kMostNumbers; }
    // The number of the matrix m(y', y) = sum of lambda[x, y', y] over the attributes x of a list.
    std::uint32_t matrix(std::span<const std::uint32_t> list);
    // m: [Y, Yp], padded with -infinity. Valid until the next call of `matrix`.
    ScoreMatrix scores(std::uint32_t matrix) const {
        const double* const m = begin_of(matrix);
        return {m, m + size_, Y_, Yp_, true};
    }
    const double* start_scores(std::uint32_t matrix) const { return begin_of(matrix) + Y_ * Yp_; }
    // m(., y): [Yp], padded with -infinity
    const double* column(std::uint32_t matrix, std::int64_t y) const {
        return begin_of(matrix) + size_ + Yp_ + y * Yp_;
    }

    // Adds the weights of attributes to a matrix, but not to its columns; undo() reverts the last call.
    void add(std::uint32_t matrix, std::span<const std::uint32_t> attributes);
    void undo();
    // column(y') += sum of lambda[x, y', y] over the attributes x
    void add_to_column(std::span<const std::uint32_t> attributes, std::int64_t y, double* column) const;

   private:
    static constexpr int kMostCells = 1 << 15;
    static constexpr std::size_t kMostNumbers = std::size_t{1} << 20;  // limit for matrices kept across sequences: 8 MB
    static constexpr int kRecentBits = 11;
    static int size_of(int n_labels) { return (n_labels + 1) * padded(n_labels); }

    const double* begin_of(std::uint32_t matrix) const { return matrices_.data() + matrix * stride_; }
    // The same as `matrix`, for a list that is not among the recent lists.
    std::uint32_t look_up(std::span<const std::uint32_t> list);

    struct Row {
        std::uint32_t begin, end;
    };
    struct Cell {
        std::uint16_t at, previous;  // y' Yp + y, y'
        double weight;
    };
    struct Changed {
        double* cell;
        double before;
    };
    int Y_, Yp_, size_;        // size_: (Y + 1) Yp
    std::size_t stride_;       // of matrices_: a matrix, the largest score of each row, and the columns
    std::vector<Row> rows_;    // [X]
    std::vector<Cell> cells_;  // cells of all rows
    StringTable lists_;        // lists that have matrices
    // The most recent list with each hash.
    struct Recent {
        std::size_t n = kNone;
        std::uint32_t ids[4];
        std::uint32_t matrix;
    };
    static constexpr std::size_t kNone = ~std::size_t{0};
    std::vector<Recent> recent_ = std::vector<Recent>(1 << kRecentBits);
    AlignedVector<double> matrices_;  // [lists, stride_]
    std::vector<Changed> changed_;    // cells changed by `add`
};

}  // namespace sparsecrf
