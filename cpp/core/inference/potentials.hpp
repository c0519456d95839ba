// A model's weights laid out for one corpus: scores of unigram lists, matrices of base lists, and sparse corrections
// for rest lists.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"
#include "core/inference/dense_columns.hpp"
#include "core/inference/ngrams/ngram_places.hpp"
#include "core/inference/transitions/base_pairs.hpp"
#include "core/inference/transitions/transition.hpp"
#include "core/inference/unigram_rows.hpp"

namespace sparsecrf {

// Which label pairs to use: all pairs, pairs after the start label, or pairs after another label.
enum class Pairs { all, start, inner };

class Potentials {
   public:
    // Works with any weights. `lists`: the corpus's unigram lists with entries renumbered by unigram row. `pairs`: the
    // pairs of the feature set, for weights that change often; if null, recomputed for every matrix. `forbidden`: [Y +
    // 1, Y] nonzero where a label pair is forbidden, or null; not with `pairs`. Keeps references to all of these.
    Potentials(const Corpus& corpus, const ListPool& lists, Kernel kernel, int threads,
               const BasePairs* pairs = nullptr, const std::uint8_t* forbidden = nullptr);

    // Computes all tables for these weights; call it first. Reuses allocated memory. Keeps references until the next
    // call.
    // keep_zeros: reserve space for every feature in the matrices, so that `refresh` only changes values; needs
    // `pairs`.
    void assign(const FeatureSet& features, std::span<const double> w, const UnigramRows& rows,
                bool keep_zeros = false);

    // Sets the label n-gram tables, including weights, for the same corpus and feature set. They are shared, not
    // copied.
    void set_ngrams(std::shared_ptr<NgramTables> ngrams) {
        if (ngrams != nullptr) {
            ngrams->weigh([&](std::uint32_t list) -> const Transition& { return transition_of_list(list); });
        }
        ngrams_ = std::move(ngrams);
    }
    // The same, using the weights of the last `assign`.
    void assign_ngrams(const std::shared_ptr<NgramTables>& ngrams) {
        if (ngrams != nullptr) ngrams->places->assign(w_, threads_);
        set_ngrams(ngrams);
    }
    const NgramTables* ngrams() const { return ngrams_.get(); }

    int n_labels() const { return n_labels_; }
    int stride() const { return stride_; }
    Kernel kernel() const { return kernel_; }
    const Corpus& corpus() const { return corpus_; }
    bool forbids() const { return forbidden_ != nullptr; }
    const LabelParts* parts() const { return features_->parts.get(); }  // null without label parts
    const LabelParts* classes() const {                                 // null without class-pair features
        return features_->n_class() == 0 ? nullptr : features_->parts.get();
    }

    bool tabulates_unigrams() const { return !score_table_.empty(); }
    // Unigram scores of a position, [Yp], padded with -infinity. Returns a pointer into a table, or `scratch` after
    // filling it.
    const double* scores(std::int64_t position, double* scratch) const;
    // exp(score - high) of a position and the range of its scores, if tabulated; otherwise null.
    const double* exp_scores(std::int64_t position, double* low, double* high) const;

    const Transition& transition(std::int64_t position) const { return transitions_[corpus_.base[position]]; }
    const Transition& transition_of_list(std::uint32_t list) const { return transitions_[list]; }

    bool has_rest(std::int64_t position) const { return corpus_.rest[position] != 0; }
    // delta(y', y) = sum of lambda over the rest list of a position, including kappa of the label classes. With
    // keep_zeros every pair with a feature is listed, otherwise only pairs with a nonzero weight.
    void rest(std::int64_t position, Pairs pairs, bool keep_zeros, PairScores& out) const;

    // The pairs of a base list that have a feature, in ascending order; needs `pairs`.
    std::span<const std::uint32_t> pairs_of_list(std::uint32_t list) const { return pairs_->of(list); }

    // Recomputes the tables of these lists after weights have changed in the arrays passed to `assign`.
    void refresh(std::span<const std::uint32_t> unigram_lists, std::span<const std::uint32_t> base_lists);
    // The same for label n-grams; call after `refresh` with the affected arcs (NgramPlaces) and kinds (NgramTables).
    void refresh_ngrams(std::span<const std::uint32_t> arcs, std::span<const std::uint32_t> kinds);

   private:
    // Scratch of a thread.
    struct Scratch {
        PairScores scores, merged;
        ClassScores classes;
        AlignedVector<double> sums;
    };
    void tabulate_unigrams();
    void tabulate_unigram(std::int64_t list);
    void tabulate_transition(std::uint32_t list, Scratch& scratch);
    void renew_transition(std::uint32_t list, Scratch& scratch);
    // The sums of a list's pairs, padded with zeros to a multiple of kLanes.
    const double* sum_pairs(std::uint32_t list, Scratch& scratch) const;
    void gather(const ListPool& lists, std::uint32_t list, Pairs pairs, bool keep_zeros, PairScores& out) const;
    // kappa(c', c) = sum of the weights of a list's attributes. Returns false if no attribute has class features, so
    // that kappa is 0.
    bool gather_classes(const ListPool& lists, std::uint32_t list, ClassScores& out) const;
    // Adds kappa of the classes to the scores of a base list's pairs. Returns null without classes.
    const ClassScores* add_classes(std::uint32_t list, std::span<const std::uint32_t> pairs, double* scores,
                                   Scratch& scratch) const;

    const Corpus& corpus_;
    const ListPool& lists_;
    const BasePairs* pairs_;
    Kernel kernel_;
    int threads_, n_labels_, stride_;  // Y, Yp
    const std::uint8_t* forbidden_;
    PairScores forbidden_scores_;  // -infinity for every forbidden pair

    std::shared_ptr<NgramTables> ngrams_;  // null if none

    // Set by `assign`, for its weights.
    const FeatureSet* features_ = nullptr;
    std::span<const double> w_;
    const UnigramRows* rows_ = nullptr;
    bool keep_zeros_ = false;
    DenseScores dense_;

    // These tables have one row per unigram list if enough positions share lists; otherwise they are empty.
    AlignedVector<double> score_table_, exp_table_;  // [lists, Yp]
    std::vector<double> low_, high_;                 // [lists]
    std::vector<Transition> transitions_;            // [base lists]
    std::vector<Scratch> scratch_;                   // [threads]
};

}  // namespace sparsecrf
