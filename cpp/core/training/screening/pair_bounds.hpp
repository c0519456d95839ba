// Upper bounds on the expectations of all label pairs of a base list, for models with many labels.
//
// At the positions of a list, p_t(y', y) = alpha_{t-1}(y') E(y', y) v_t(y) (recursion.hpp), so we need U(y', y) = sum_t
// alpha_{t-1}(y') v_t(y). This takes Y^2 products per position, nearly all with two small factors. Split
// each number into a part l above kLarge and a part s below (alpha = l + s, where l or s is 0; the same for v). Then
//     U(y', y) = sum_t l_alpha(y') v(y) + sum_t s_alpha(y') l_v(y) + sum_t s_alpha(y') s_v(y),
// where the first two sums cost Y for each of the few large numbers of a position, and by Cauchy-Schwarz
//     sum_t s_alpha(y') s_v(y) <= sqrt(sum_t s_alpha(y')^2) sqrt(sum_t s_v(y)^2).
// E is the matrix of the list, except where a rest list corrects a pair: there alpha E (exp(delta) - 1) v is added if
// positive. U E is therefore an upper bound on the expectation. The bound is tight: of 630,000 pairs whose two labels
// are both frequent enough (screen.hpp), a few thousand remain (benchmarks/record/parts.md).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/in_turns.hpp"
#include "core/inference/potentials.hpp"
#include "core/training/block_rows.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

class PairBounds {
   public:
    PairBounds() = default;  // no lists
    // Bounds for these base lists.
    PairBounds(const Corpus& corpus, std::vector<std::uint32_t> lists, int threads);

    // The maximum number of lists for which the tables of this class take at most 256 MB.
    static std::size_t most_lists(int n_labels);

    // Adds the inner positions of a block of the plan.
    void add(int thread, const Block& block, const BlockRows& rows, Turn& turn);
    // Call once after the last block.
    void finish(const Potentials& potentials);

    // Whether this object covers any lists.
    bool any() const { return !tables_.empty(); }
    // Whether the bounds are valid. They are invalid if the log domain was used, with label n-grams, or if items have
    // negative weights.
    bool known() const { return any() && !failed_; }
    // An upper bound of sum_t w p_t(y', y) over the inner positions of one of the lists; needs finish.
    double at(std::uint32_t list, std::uint32_t previous, std::uint32_t y) const {
        return tables_[table_of_[list]].sums[std::size_t{previous} * static_cast<std::size_t>(stride_) + y];
    }

   private:
    struct Table {
        std::uint32_t list;
        AlignedVector<double> sums;      // [Y + 1, Yp] U of large alpha; U E after finish. The last row is unused
        AlignedVector<double> columns;   // [Y, Yp] (y, y'): U of small alpha and large v; until finish
        std::vector<double> alpha2, v2;  // [Yp] sums of squares of the small numbers
    };
    // A large number of a block, and the row that it multiplies.
    struct Large {
        std::uint32_t table, label;
        double value;
        const double* row;
    };
    struct Correction {
        std::uint32_t table, pair;
        double more;
    };
    // Scratch of a thread for the current block.
    struct Scratch {
        std::vector<Large> alpha, v;                  // sorted by table and label, then by position
        std::vector<Correction> twice, more;          // large alpha times large v, counted twice; rest lists
        std::vector<std::vector<double>> alpha2, v2;  // [tables]
        bool failed = false;
    };
    void collect(const Block& block, const BlockRows& rows, Scratch& scratch) const;
    void collect_row(std::uint32_t table, const BlockRows& rows, std::uint32_t r, Scratch& scratch) const;
    void add_rows(const std::vector<Large>& large, AlignedVector<double> Table::* sums, std::size_t share,
                  std::size_t n_shares);

    int n_labels_ = 0, stride_ = 0, threads_ = 1;
    std::vector<std::uint32_t> table_of_;  // [base lists] index, or kNoTable
    std::vector<Table> tables_;
    std::vector<Scratch> scratch_;  // [threads]
    bool failed_ = false;
};

}  // namespace sparsecrf
