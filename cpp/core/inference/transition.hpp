// The matrix of one bigram list: E(y', y) = exp(lambda(y', y)), M = E - 1, as sparse rows and columns or as dense
// arrays, whichever is cheaper.
//
// Where labels have classes (label_parts.hpp) and these have scores kappa(c', c), the score of a pair of labels is
// kappa(c(y'), c(y)) + lambda(y', y), and M = E - D, with D = exp(kappa) what a pair without lambda has. A sparse
// product with E is then one with D, which costs a sum over the labels of each class and C^2 multiply-adds, and one
// with M.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/label_parts.hpp"
#include "core/corpus/numbering.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {

// A sum after a correction keeps at least 53 - 10 bits above this share of what it was; below, it is summed again.
inline constexpr double kCancelled = 0x1p-10;

enum class Kernel { automatic, sparse, dense, log };

// Scores of some label pairs, ascending.
struct PairScores {
    std::vector<std::uint32_t> pair;
    std::vector<double> score;
    void clear() {
        pair.clear();
        score.clear();
    }
};

// Scores of all pairs of classes of labels.
struct ClassScores {
    const LabelParts* parts = nullptr;
    std::vector<double> score;  // [C + 1, C] kappa(c', c), the last row for the start

    double of(std::uint32_t previous, std::uint32_t y) const { return score[parts->class_pair(previous, y)]; }
};

// visit(k, place of row[k] among pairs) for ascending `row`, a part of ascending `pairs`.
template <class Visit>
void for_each_place(std::span<const std::uint32_t> row, std::span<const std::uint32_t> pairs, Visit visit) {
    if (row.size() == pairs.size()) {
        for (std::size_t k = 0; k < row.size(); ++k) visit(k, k);
        return;
    }
    std::size_t place = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
        while (pairs[place] < row[k]) ++place;
        visit(k, place);
    }
}

// Two ways to give it scores: `assign` lays everything out, `renew` changes numbers and gives up what only decoding
// needs. A method that needs what the last of these calls did not leave throws std::logic_error.
class Transition {
   public:
    // `scores` of this list, start row included; -infinity forbids a pair. `n_matrices`: how many take turns. Where the
    // pairs are those of the last time, nothing is laid out anew; storage is kept in any case.
    // `classes`: what pairs without a score of their own have, instead of 0; `scores` are sums, those of their classes
    // included. Its parts are kept by reference. Null: labels have no classes.
    void assign(int n_labels, const PairScores& scores, Kernel kernel, std::size_t n_matrices = 1,
                const ClassScores* classes = nullptr);
    // After `assign`, the same pairs (all of them, start row included, ascending) with other finite scores: nothing is
    // laid out anew. scores: as many as pairs, then zeros up to a multiple of kLanes. `classes`: if `assign` had some.
    void renew(std::span<const std::uint32_t> pairs, const double* scores, const ClassScores* classes = nullptr);
    // E of each of these pairs; needs `renew`.
    const double* renewed() const {
        need(State::renewed, "renewed");
        return renewed_.data();
    }

    // u(y) = sum_{y'} alpha(y') E(y', y), for alpha that sums to one (the paper's forward equation when sparse)
    void forward(const double* alpha, double* u) const;
    // beta(y') = sum_y E(y', y) v(y), total = sum_y v(y)
    void backward(const double* v, double total, double* beta) const;
    // best(y) = max_{y'} epsilon(y') + lambda(y', y); `order`: scratch for Y labels. Needs `assign`.
    void best(const double* epsilon, double* best, std::vector<int>& order) const;

    double weight(int previous, int y) const;       // E(y', y)
    double score(int previous, int y) const;        // lambda(y', y)
    void column_weights(int y, double* out) const;  // out(y') = E(y', y), [Y]
    void column_scores(int y, double* out) const;   // out(y') = lambda(y', y), [Y]; needs `assign`
    // One cell of u or beta as a sum of non-negative terms, nothing cancelled.
    double column_sum(const double* alpha, int y) const;
    double row_sum(const double* v, int previous) const;

    const double* start_weight() const { return start_weight_.data(); }  // [Yp] E(start, y), padding 0
    const double* start_score() const { return start_score_.data(); }    // [Yp] lambda(start, y), padding -infinity
    // All finite lambda lie in [low, high], which holds 0.
    double low() const { return low_; }
    double high() const { return high_; }
    bool dense() const { return dense_; }

    // sums(y', y) *= E(y', y);  sums: [Y + 1, Yp], last row for the start label
    void multiply(double* sums) const;
    // The same for some pairs, ascending, start row included: sums[k] *= E(pairs[k])
    void multiply(std::span<const std::uint32_t> pairs, double* sums) const;
    // lambda as a dense matrix [Y, Yp], padding -infinity.
    void fill_scores(double* out) const;
    // out(c', c) = sum of alpha(y') E(y', y) v(y), at most 1, over the labels of these classes.  [C, C]
    // False: a term is so large that the sum lost digits.
    bool class_sums(const double* alpha, const double* v, double* out) const;

   private:
    enum class State : std::uint8_t { empty, assigned, renewed };  // the call that set the current scores
    void need(State needed, const char* method) const {
        if (state_ != needed) report_stale(needed, method);
    }
    [[noreturn]] void report_stale(State needed, const char* method) const;

    // D(y', y) and kappa(c(y'), c(y)): of pairs without a score of their own.
    double plain_weight(std::size_t previous, std::size_t y) const {
        return classes_ == nullptr ? 1.0 : class_weight_[class_cell(previous, y)];
    }
    double plain_score(std::size_t previous, std::size_t y) const {
        return classes_ == nullptr ? 0.0 : class_score_[class_cell(previous, y)];
    }
    std::size_t class_cell(std::size_t previous, std::size_t y) const {
        return std::size_t{classes_->class_of(previous)} * static_cast<std::size_t>(classes_->n_classes()) +
               classes_->class_of(y);
    }
    void set_classes(const ClassScores* classes);
    void set_differences(const double* weights);
    void best_without_classes(const double* epsilon, double* best, std::vector<int>& order) const;
    template <class Plain>
    void best_columns(const double* epsilon, Plain plain, std::uint32_t top, std::span<const std::uint32_t> columns,
                      double* best, std::vector<int>& order) const;

    void lay_dense();
    void fill_dense(const double* weights);
    void lay_sparse();
    void fill_sparse(const double* weights);

    int n_labels_ = 0, stride_ = 0;  // Y, Yp
    State state_ = State::empty;
    bool dense_ = false;
    double low_ = 0.0, high_ = 0.0;
    PairScores scores_;  // y' < Y
    AlignedVector<double> start_score_, start_weight_;

    // Classes of labels; null: none.
    const LabelParts* classes_ = nullptr;
    std::vector<double> class_score_, class_weight_;  // [C, C] kappa, D
    std::vector<double> plain_;                       // D of each entry of scores_, or empty: 1
    // For class_sums: M of each entry of scores_, and the rows that have entries.
    struct Row {
        std::uint32_t label, begin, end;  // y', its entries
        double largest;                   // |M| of them
    };
    std::vector<double> difference_;
    std::vector<Row> rows_with_entries_;

    // Sparse, for lookups: E of each entry, parallel to scores_, and the entries by column.
    std::vector<double> weight_;
    std::vector<std::uint32_t> row_ptr_;       // [Y + 1] into scores_
    std::vector<std::uint32_t> column_ptr_;    // [Y + 1]
    std::vector<std::uint16_t> column_row_;    // y' of each entry, ascending within a column
    std::vector<std::uint32_t> column_entry_;  // index in scores_

    // Sparse, for products: lines (columns or rows) with entries, four of about equal length side by side.
    struct Bundles {
        std::vector<std::uint16_t> line;  // [bundles, 4]; the last line may stand there more than once
        std::vector<std::uint32_t> ptr;   // [bundles + 1] into cell and m, in steps of four
        std::vector<std::uint16_t> cell;  // [depth, 4] a bundle: where in the line; shorter lines are filled up
        std::vector<double> m;            // M of each entry, 0 where filled up
        // What `renew` needs, laid out when it is first called: where the entries of scores_ stand in m.
        struct Place {
            std::uint32_t at, entry;
        };
        std::vector<Place> places;
        void clear();
    };
    void lay_bundles(Bundles& bundles, bool by_column) const;
    void fill_bundles(Bundles& bundles, bool by_column) const;
    void renew_bundles(Bundles& bundles, bool by_column);
    void renew_dense();
    template <class Base, class Again>
    static void sparse_product(const Bundles& bundles, const double* x, Base base, double* out, Again again);
    template <class Weight, class Again>
    void class_product(const Bundles& bundles, const double* x, Weight weight, double* out, Again again) const;
    Bundles columns_, rows_;
    // Dense: E [Y, Yp], its transpose, and lambda, padding 0 / 0 / -infinity. After `renew` there is E alone: the
    // others would cost more than the few products until the next.
    AlignedVector<double> e_, et_, lambda_;
    AlignedVector<double> renewed_;  // E of the pairs given to `renew`, then ones
};

}  // namespace sparsecrf
