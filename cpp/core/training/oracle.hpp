// Loss, gradient and curvature of a labelled corpus on any set of features.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/inference/potentials.hpp"
#include "core/inference/transitions/base_pairs.hpp"
#include "core/inference/unigram_rows.hpp"
#include "core/training/block_rows.hpp"
#include "core/training/families/family.hpp"
#include "core/training/plan.hpp"
#include "core/training/screening/screen.hpp"
#include "core/training/value_sizes.hpp"

namespace sparsecrf {

// Options of `sequence_factors`.
struct FactorOptions {
    std::span<const double> thresholds;  // [L] rho1 or, with feature groups, its replacement for each feature
    double rho2;                         // > 0
    int sweeps;                          // maximum number of sweeps over the sequences
    std::int64_t max_entries;            // maximum number of stored gradient entries; sequences beyond it keep s = 1
    bool alone;                          // whether this corpus is all the data
    std::span<const double> centre;      // [L] w0; empty means 0
};

// Not thread-safe: one call at a time. Keeps a reference to the corpus.
class Oracle {
   public:
    Oracle(const Corpus& corpus, Kernel kernel, int threads);

    const Corpus& corpus() const { return corpus_; }

    // C_k: weighted number of times feature k occurs on the labelled paths (those without a missing label).  [K]
    const std::vector<double>& counts(const FeatureSet& features);

    // sum_i w_i { log Z(x_i) - theta . F(x_i, y_i) }
    double loss(const FeatureSet& features, std::span<const double> w);

    // The same, with gradient g = E - C and, if not empty, curvature h = sum_t w v^2 p (1 - p).  g, h: [K]
    // `counts`: C, if the caller has it; otherwise it is computed and kept for the next call with the same set.
    double gradient(const FeatureSet& features, std::span<const double> w, std::span<double> g, std::span<double> h,
                    std::span<const double> counts = {});

    // Curvature between the features of a block (indices in the set, in ascending order) at w, over every n-th item
    // (block_curvature.cpp).  h: [M, M]
    void block_curvature(const FeatureSet& features, std::span<const double> w, std::span<const std::int64_t> block,
                         int every, std::span<double> h);

    // The dual point at w with a factor for each sequence (sequence_factors.cpp). listed: indices in the set, in
    // ascending order. Returns its entropy. G: [L]; on entry, the gradient of all data at w, including other corpora,
    // which keep s = 1; on return, the gradient of this corpus alone with the new factors.
    double sequence_factors(const FeatureSet& features, std::span<const double> w, std::span<const std::int64_t> listed,
                            const FactorOptions& options, std::span<double> G);

    // Whether |E_k - C_k| <= max(E_k, C_k) is certain for every feature, because no value is negative, no label is
    // missing, and there are no dense columns. `lists`: only for features of attributes in lists.
    bool signs_agree(bool lists = false) const;

    // Sums of w v by attribute, from which expectations under uniform labels follow. `absolute`: sums of |w v|.
    Masses masses(bool absolute = false) const { return attribute_masses(corpus_, plan_, absolute, threads_); }

    // The sums by attribute that determine the typical size of the attribute's values.
    ValueLogs value_logs() const { return ValueLogs(corpus_, plan_); }

    // Numbers of all features, in the set or not, whose expectation at w could exceed `bound` > 0; ascending.
    std::vector<std::int64_t> candidates(const FeatureSet& features, std::span<const double> w, double bound);

    // Takes the features with these indices (ascending, at least two labels, none beginning with the start label) and
    // extends each feature by every preceding label, the start label last. Computes the counts of the extended features
    // and upper bounds on their expectations (ngram_screen.cpp). bound, counts: [L, Y + 1]. Returns the number of items
    // for which the bounds are not exact. If this is 0, the bounds are the expectations of all strings that are not in
    // the set.
    std::int64_t ngram_bounds(const FeatureSet& features, std::span<const double> w,
                              std::span<const std::int64_t> listed, std::span<double> bound, std::span<double> counts);

    // Like `candidates` for one of several shards, whose absolute masses sum to `whole`. Returns the contribution of
    // this shard to the candidates of all shards (screen.hpp).
    ShardSums shard_sums(const FeatureSet& features, std::span<const double> w, double bound, const Masses& whole,
                         double fraction);

    // Frees the memory that passes keep for later ones, for callers that need it temporarily.
    void release_tables();

   private:
    // Runs all items block by block, one thread per block, and adds the blocks to `sums` in order. Without `sums`, runs
    // the forward recursion only. Returns the sum of weight * log Z.
    using Sums = std::vector<BlockSums*>;
    double pass(const Potentials& potentials, std::span<const double> weights, const Sums& sums);
    void run_block(const Plan& plan, const Block& block, const Potentials& potentials, std::span<const double> weights,
                   const Sums& sums, Recursion& recursion, NgramBatch& batch, BlockRows& rows,
                   std::span<double> log_z) const;
    std::vector<double> item_weights() const;
    void check(const FeatureSet& features, std::span<const double> w) const;
    // Throws unless these are ascending indices in the set.
    static void check_places(const char* what, const FeatureSet& features, std::span<const std::int64_t> places);
    // State shared by passes over one feature set, and storage for everything that also depends on the weights. Solvers
    // make many passes before they change the set.
    struct Prepared {
        Prepared(const Corpus& corpus, const FeatureSet& features, Kernel kernel, int threads)
            : serial(features.serial), tables(corpus, features, kernel, threads) {}
        const std::uint64_t serial;  // serial number of the set
        SetTables tables;
        std::vector<std::unique_ptr<Family>> families;  // empty after release_tables
        UnigramRows rows;
        std::optional<Potentials> potentials;
    };
    // The state with the tables for these weights.
    Prepared& prepare(const FeatureSet& features, std::span<const double> w);
    // The plan of a pass.
    const Plan& plan_for(const Potentials& potentials);
    // Frees memory that only gradients over the set need; the next gradient rebuilds it.
    void release_sums(Prepared& of);
    // Returns the memory of released tables to the system if it is large.
    void trim() const;
    // Runs a complete screening pass. `whole`: as for Screen.
    Screen screened(const FeatureSet& features, std::span<const double> w, double bound, const Masses* whole);
    // Adds E to g and, unless h is empty, the curvature to h. weights: [items]
    double expectations(const FeatureSet& features, std::span<const double> w, std::span<const double> weights,
                        std::span<double> g, std::span<double> h);
    // The gradient of sum_i s_i loss_i.  s: [items]
    std::vector<double> gradient_with_factors(const FeatureSet& features, std::span<const double> w,
                                              std::span<const double> s);

    const Corpus& corpus_;
    const Kernel kernel_;
    const int threads_;
    const Plan plan_;
    std::optional<Plan> large_plan_;  // the same items in larger blocks, built when label n-grams need it
    std::vector<double> counts_;      // the counts C of the feature set counts_of_
    std::uint64_t counts_of_ = 0;
    std::unique_ptr<Prepared> prepared_;
    std::vector<BlockRows> rows_;  // [threads]
};

}  // namespace sparsecrf
