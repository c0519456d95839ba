// A model's weights laid out for one corpus: scores of unigram lists, matrices of base lists, and the sparse
// corrections of rest lists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "corpus.hpp"
#include "features.hpp"
#include "transition.hpp"
#include "unigram_rows.hpp"

namespace sparsecrf {

// Which label pairs: all, those after the start label, those after another label.
enum class Pairs { all, start, inner };

class Potentials {
   public:
    // `lists`: the corpus's unigram lists, entries named by row of `rows`. `forbidden`: [Y + 1, Y] non-zero where a
    // label pair must not occur, or null. References are kept, not copied.
    // keep_zeros: every feature has its place in the matrices, so that `refresh` only changes numbers; not with
    // `forbidden`.
    Potentials(const Corpus& corpus, const FeatureSet& features, std::span<const double> w, const UnigramRows& rows,
               const ListPool& lists, Kernel kernel, int threads, const std::uint8_t* forbidden = nullptr,
               bool keep_zeros = false);

    int n_labels() const { return n_labels_; }
    int stride() const { return stride_; }
    Kernel kernel() const { return kernel_; }
    const Corpus& corpus() const { return corpus_; }
    bool forbids() const { return forbidden_ != nullptr; }

    bool tabulates_unigrams() const { return !score_table_.empty(); }
    // Unigram scores of a position, [Yp], padding -infinity. Either a pointer into a table or `scratch`, filled.
    const double* scores(std::int64_t position, double* scratch) const;
    // exp(score - high) of a position and the range of its scores, if tabulated; else null.
    const double* exp_scores(std::int64_t position, double* low, double* high) const;

    const Transition& transition(std::int64_t position) const { return transitions_[corpus_.base[position]]; }
    const Transition& transition_of_list(std::uint32_t list) const { return transitions_[list]; }

    bool has_rest(std::int64_t position) const { return corpus_.rest[position] != 0; }
    // delta(y', y) = sum of lambda over the rest list of a position. With keep_zeros every pair of the feature set's
    // rows is listed, otherwise only those with a non-zero weight.
    void rest(std::int64_t position, Pairs pairs, bool keep_zeros, PairScores& out) const;
    // The same sum over a base list.
    void gather_base(std::uint32_t list, Pairs pairs, bool keep_zeros, PairScores& out) const;

    // With keep_zeros: the pairs of a base list that have a feature, ascending.
    std::span<const std::uint32_t> kept_pairs(std::uint32_t list) const { return kept_[list].pair; }

    // Weights changed, in the arrays this was made from: renew what was computed from these lists.
    void refresh(std::span<const std::uint32_t> unigram_lists, std::span<const std::uint32_t> base_lists);

   private:
    void tabulate_unigrams(int threads);
    void tabulate_transitions(int threads);
    void tabulate_unigram(std::int64_t list);
    void tabulate_transition(std::int64_t list);
    void renew_transition(std::uint32_t list);
    void gather(const ListPool& lists, std::uint32_t list, Pairs pairs, bool keep_zeros, PairScores& out) const;

    const Corpus& corpus_;
    const FeatureSet& features_;
    std::span<const double> w_;
    const UnigramRows& rows_;
    const ListPool& lists_;
    Kernel kernel_;
    int n_labels_, stride_;  // Y, Yp
    const std::uint8_t* forbidden_;
    PairScores forbidden_scores_;  // -infinity for every forbidden pair

    // One row per unigram list where lists are shared by enough positions; else empty.
    AlignedVector<double> score_table_, exp_table_;  // [lists, Yp]
    std::vector<double> low_, high_;                 // [lists]
    std::vector<Transition> transitions_;            // [base lists]
    struct Kept {
        std::vector<std::uint32_t> pair;
        AlignedVector<double> score;  // padded with zeros to a multiple of kLanes
    };
    std::vector<Kept> kept_;  // [base lists] with keep_zeros: what each transition holds
};

}  // namespace sparsecrf
