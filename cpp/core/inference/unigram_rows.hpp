// Nonzero unigram weights by attribute, laid out once per weight vector.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/prefetch.hpp"
#include "core/corpus/features.hpp"

namespace sparsecrf {

// Whether a row with n of Yp cells should be stored as a dense row. A vector of cells costs about as much as two single
// cells.
inline bool worth_a_dense_row(std::int64_t n, int stride) { return 8 * n >= stride; }

// A sum of rows, s += sum_r f_r row_r. Dense rows are collected and added many at a time, so they must stay valid until
// `finish`.
class RowSum {
   public:
    // s: [stride]
    RowSum(double* s, int stride) : s_(s), stride_(stride) {}
    void add(const double* dense, double value = 1.0) {
        prefetch(dense);
        dense_[n_] = dense;
        values_[n_] = value;
        if (++n_ == kAtATime) finish();
    }
    // Adds the cells of a sparse row.
    void add(const std::uint16_t* cells, const double* weights, std::uint32_t n, double value = 1.0) {
        for (std::uint32_t i = 0; i < n; ++i) s_[cells[i]] += value * weights[i];
    }
    void finish();

   private:
    static constexpr int kAtATime = 64;
    double* s_;
    int stride_;
    int n_ = 0;
    const double* dense_[kAtATime];
    double values_[kAtATime];
};

// s += row, both [n], where n is padded
void add_dense(const double* row, int n, double* s);
// Writes the indices of the nonzero cells of a row, [n], where n is padded, in ascending order; returns their number.
int nonzero_cells(const double* row, int n, int* cells);

class UnigramRows {
   public:
    UnigramRows() = default;  // no rows
    // One row per attribute. keep_zeros: reserve a cell for every feature, so that `update` can change its weight.
    UnigramRows(const FeatureSet& features, std::span<const double> w, bool keep_zeros = false);
    // One row for each of some attributes.
    UnigramRows(const FeatureSet& features, std::span<const double> w, std::span<const std::uint32_t> attributes);

    // Updates the weights of attribute x; needs keep_zeros.
    void update(const FeatureSet& features, std::span<const double> w, std::uint32_t x);

    // Whether attribute x has a row.
    bool has(std::uint32_t x) const { return (has_row_[x / 64] >> (x % 64) & 1u) != 0; }

    // Adds v mu[x, .] to a sum of Cp cells.
    void add(std::uint32_t x, double value, RowSum& sum) const {
        if (!has(x)) return;
        const Row row = rows_[x];
        if (row.n == kDenseRow)
            return sum.add(dense_rows_.data() + std::size_t{row.begin} * static_cast<std::size_t>(cell_stride_), value);
        sum.add(labels_.data() + row.begin, weights_.data() + row.begin, row.n, value);
    }
    int n_cells_padded() const { return cell_stride_; }  // Cp
    // Computes label scores from cell scores: s [Yp], padded with -infinity. Both may be the same array if labels have
    // no parts.
    void fold(const double* cells, double* s) const;

    // s(y) = sum_{x in list} v mu[x, y], including the parts of y; the entries of the list are rows.  s: [Yp], padded
    // with -infinity
    void score(const ListPool& lists, std::uint32_t list, double* s) const;
    // The same for a list outside a pool.
    void score(std::span<const Attribute> list, double* s) const;

   private:
    UnigramRows(const FeatureSet& features, std::size_t n_rows);  // empty rows
    // The same for entries begin to end - 1 with attributes id(k) and values value(k).
    template <class Id, class Value>
    void add_up(std::int64_t begin, std::int64_t end, Id id, Value value, double* s) const;
    void add_row(const FeatureSet& features, std::span<const double> w, std::uint32_t row, std::uint32_t x,
                 bool keep_zeros);

    static constexpr std::uint32_t kDenseRow = 0xffffffffu;
    // Short rows are (cell, weight) entries; long rows are vectors of Cp weights. Cells are labels, then label parts.
    struct Row {
        std::uint32_t begin;  // index into labels_ and weights_, or the number of a dense row
        std::uint32_t n;      // entries; kDenseRow for a dense row
    };
    int n_labels_ = 0, stride_ = 0, cell_stride_ = 0;  // Y, Yp, Cp (Yp without parts)
    std::shared_ptr<const LabelParts> parts_;          // null if none
    std::vector<std::uint64_t> has_row_;               // one bit per row
    std::vector<Row> rows_;                            // [R]
    std::vector<std::uint16_t> labels_;
    std::vector<double> weights_;
    AlignedVector<double> dense_rows_;  // [dense rows, Cp]
};

}  // namespace sparsecrf
