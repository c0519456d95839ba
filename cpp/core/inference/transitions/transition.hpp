// The matrix of one bigram list: E(y', y) = exp(lambda(y', y)) and M = E - 1, as sparse rows and columns or as dense
// arrays, whichever is cheaper.
//
// If labels have classes (label_parts.hpp) with scores kappa(c', c), the score of a label pair is kappa(c(y'), c(y)) +
// lambda(y', y), and M = E - D, where D = exp(kappa) is the weight of a pair without lambda. A sparse product with E is
// then a product with D, which costs one sum over the labels of each class and C^2 multiply-adds, plus a product with
// M.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/label_parts.hpp"
#include "core/corpus/numbering.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {

// A corrected sum above this fraction of the original sum has lost at most 10 of 53 bits; below it, the sum is
// recomputed.
inline constexpr double kCancelled = 0x1p-10;

enum class Kernel { automatic, sparse, dense, log };

// Scores of some label pairs, in ascending order.
struct PairScores {
    std::vector<std::uint32_t> pair;
    std::vector<double> score;
    void clear() {
        pair.clear();
        score.clear();
    }
};

// Scores of all class pairs.
struct ClassScores {
    const LabelParts* parts = nullptr;
    std::vector<double> score;  // [C + 1, C] kappa(c', c), the last row for the start

    double of(std::uint32_t previous, std::uint32_t y) const { return score[parts->class_pair(previous, y)]; }
};

// Calls visit(k, index of row[k] in pairs) for ascending `row`, a subset of ascending `pairs`.
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

// There are two ways to set the scores: `assign` lays out everything; `renew` changes only values and drops data that
// only decoding needs. A method that needs data that the last of these calls did not provide throws std::logic_error.
class Transition {
   public:
    // `scores`: the scores of this list, including the start row; -infinity forbids a pair. `n_matrices`: number of
    // matrices used alternately. If the pairs are unchanged, the layout is kept; storage is always reused.
    // `classes`: scores of pairs without an entry in `scores`, instead of 0; `scores` must then include the scores of
    // the classes. Keeps a reference to its parts. Null means no label classes.
    void assign(int n_labels, const PairScores& scores, Kernel kernel, std::size_t n_matrices = 1,
                const ClassScores* classes = nullptr);
    // Replaces the scores set by `assign` with finite scores of the same pairs (all of them, including the start row,
    // in ascending order); the layout is kept. scores: one per pair, padded with zeros to a multiple of kLanes.
    // `classes`: required if `assign` received classes.
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
    // best(y) = max_{y'} epsilon(y') + lambda(y', y), both [Yp], padded with -infinity; `order`: scratch. Needs `assign`.
    void best(const double* epsilon, double* best, std::vector<int>& order) const;

    double weight(int previous, int y) const;       // E(y', y)
    double score(int previous, int y) const;        // lambda(y', y)
    void column_weights(int y, double* out) const;  // out(y') = E(y', y), [Y]
    void column_scores(int y, double* out) const;   // out(y') = lambda(y', y), [Y]; needs `assign`
    // One cell of u or beta as a sum of nonnegative terms, without cancellation.
    double column_sum(const double* alpha, int y) const;
    double row_sum(const double* v, int previous) const;

    const double* start_weight() const { return start_weight_.data(); }  // [Yp] E(start, y), padding 0
    const double* start_score() const { return start_score_.data(); }    // [Yp] lambda(start, y), padding -infinity
    // All finite lambda are in [low, high], which contains 0.
    double low() const { return low_; }
    double high() const { return high_; }
    bool dense() const { return dense_; }

    // sums(y', y) *= E(y', y);  sums: [Y + 1, Yp], last row for the start label
    void multiply(double* sums) const;
    // The same for some ascending pairs, including the start row: sums[k] *= E(pairs[k])
    void multiply(std::span<const std::uint32_t> pairs, double* sums) const;
    // lambda as a dense matrix [Y, Yp], padded with -infinity.
    void fill_scores(double* out) const;
    // out(c', c) = sum of alpha(y') E(y', y) v(y) over the labels of these classes, at most 1.  [C, C]
    // Returns false if a term is so large that the sum lost precision.
    bool class_sums(const double* alpha, const double* v, double* out) const;

   private:
    enum class State : std::uint8_t { empty, assigned, renewed };  // the call that set the current scores
    void need(State needed, const char* method) const {
        if (state_ != needed) report_stale(needed, method);
    }
    [[noreturn]] void report_stale(State needed, const char* method) const;

    // D(y', y) and kappa(c(y'), c(y)), for pairs without their own score.
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
    void best_columns(const double* epsilon, Plain plain, double highest, std::uint32_t top,
                      std::span<const std::uint32_t> columns, double* best, std::vector<int>& order) const;

    void lay_dense();
    void fill_dense(const double* weights);
    void lay_sparse();
    void fill_sparse(const double* weights);

    int n_labels_ = 0, stride_ = 0;  // Y, Yp
    State state_ = State::empty;
    bool dense_ = false;
    double low_ = 0.0, high_ = 0.0;
    PairScores scores_;               // y' < Y
    bool finite_ = true;              // whether no pair is forbidden
    AlignedVector<double> row_high_;  // [Yp] largest lambda(y', .), among the entries only if sparse; padded with
                                      // -infinity. Set by `assign`.
    AlignedVector<double> start_score_, start_weight_;

    // Label classes; null if none.
    const LabelParts* classes_ = nullptr;
    std::vector<double> class_score_, class_weight_;  // [C, C] kappa, D
    std::vector<double> plain_;                       // D of each entry of scores_; empty if all are 1
    // For class_sums: M of each entry of scores_, and the rows that have entries.
    struct Row {
        std::uint32_t label, begin, end;  // y', and its entries [begin, end)
        double largest;                   // largest |M| of the row
    };
    std::vector<double> difference_;
    std::vector<Row> rows_with_entries_;

    // Sparse, for lookups: E of each entry, parallel to scores_, and the entries by column.
    std::vector<double> weight_;
    std::vector<std::uint32_t> row_ptr_;       // [Y + 1] into scores_
    std::vector<std::uint32_t> column_ptr_;    // [Y + 1]
    std::vector<std::uint16_t> column_row_;    // y' of each entry, ascending within a column
    std::vector<std::uint32_t> column_entry_;  // index in scores_

    // Sparse, for products: nonempty lines (columns or rows), four of similar length side by side.
    struct Bundles {
        std::vector<std::uint16_t> line;  // [bundles, 4]; the last line may be repeated
        std::vector<std::uint32_t> ptr;   // [bundles + 1] into cell and m, in steps of four
        std::vector<std::uint16_t> cell;  // [depth, 4] per bundle: index within the line; shorter lines are padded
        std::vector<double> m;            // M of each entry, 0 for padding
        // Built by the first call of `renew`: the index in m of each entry of scores_.
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
    // Dense: E [Y, Yp], its transpose, and lambda, padded with 0 / 0 / -infinity. After `renew`, only E is valid,
    // because updating the other two would cost more than they save in the few products until the next call.
    AlignedVector<double> e_, et_, lambda_;
    AlignedVector<double> renewed_;  // E of the pairs passed to `renew`, then ones
};

}  // namespace sparsecrf
