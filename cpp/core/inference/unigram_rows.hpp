// Non-zero unigram weights by attribute, laid out once per weight vector.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/features.hpp"

namespace sparsecrf {

// Whether n of the Yp cells of a row are better handled as the whole row: a vector of cells costs about as much as two
// single ones.
inline bool worth_a_dense_row(std::int64_t n, int stride) { return 8 * n >= stride; }

// A sum of rows, s += sum_r f_r row_r. Dense rows are noted and then added many at a time: they must stay until `finish`.
class RowSum {
   public:
    // s: [stride]
    RowSum(double* s, int stride) : s_(s), stride_(stride) {}
    void add(const double* dense, double value = 1.0);
    // The cells of a sparse row.
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

class UnigramRows {
   public:
    UnigramRows() = default;  // no rows
    // One row an attribute. keep_zeros: give every feature of the set a place, so that `update` can change its weight.
    UnigramRows(const FeatureSet& features, std::span<const double> w, bool keep_zeros = false);
    // One row for each of some attributes.
    UnigramRows(const FeatureSet& features, std::span<const double> w, std::span<const std::uint32_t> attributes);

    // Updates the weights of attribute x; needs keep_zeros.
    void update(const FeatureSet& features, std::span<const double> w, std::uint32_t x);

    // Whether attribute x has a weight, or a place for one.
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
    // The scores of labels from those of cells: s [Yp], padding -infinity. The same array where labels have no parts.
    void fold(const double* cells, double* s) const;

    // s(y) = sum_{x in list} v mu[x, y], with those of the parts of y; the list's entries are rows.  s: [Yp], padding
    // -infinity
    void score(const ListPool& lists, std::uint32_t list, double* s) const;
    // The same for a list that is in no pool.
    void score(std::span<const Attribute> list, double* s) const;

   private:
    // The same for entries begin to end - 1, whose attributes and values are id(k) and value(k).
    template <class Id, class Value>
    void add_up(std::int64_t begin, std::int64_t end, Id id, Value value, double* s) const;
    void add_row(const FeatureSet& features, std::span<const double> w, std::uint32_t row, std::uint32_t x,
                 bool keep_zeros);

    static constexpr std::uint32_t kDenseRow = 0xffffffffu;
    // Short rows are (cell, weight) entries, long ones vectors of Cp weights. Cells are labels, then parts of labels.
    struct Row {
        std::uint32_t begin;  // into labels_ and weights_, or the number of a dense row
        std::uint32_t n;      // entries; kDenseRow for a dense row
    };
    int n_labels_ = 0, stride_ = 0, cell_stride_ = 0;  // Y, Yp, Cp: Yp without parts
    std::shared_ptr<const LabelParts> parts_;          // null: none
    std::vector<std::uint64_t> has_row_;               // one bit per row
    std::vector<Row> rows_;                            // [R]
    std::vector<std::uint16_t> labels_;
    std::vector<double> weights_;
    AlignedVector<double> dense_rows_;  // [dense rows, Cp]
};

}  // namespace sparsecrf
