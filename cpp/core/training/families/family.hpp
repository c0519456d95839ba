// A feature family: all features of one form, such as an attribute with a label. It defines how its features are
// counted and how their derivatives are summed over a corpus. To add a family, implement the class Family below in a
// new file, declare its FamilyKind here, and add it to the list in families.cpp. Numbers, scores and bounds of its
// features are computed elsewhere: corpus/numbering.hpp, inference/potentials.cpp, screening/screen.cpp and
// sequence_factors.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/base/in_turns.hpp"
#include "core/corpus/features.hpp"
#include "core/inference/potentials.hpp"
#include "core/inference/recursion.hpp"
#include "core/inference/transitions/base_pairs.hpp"
#include "core/training/block_rows.hpp"
#include "core/training/plan.hpp"
#include "core/training/unigram_index.hpp"

namespace sparsecrf {

// State shared by passes over one feature set; independent of the weights.
struct SetTables {
    SetTables(const Corpus& corpus, const FeatureSet& features, Kernel kernel, int threads);

    const Corpus& corpus;
    const FeatureSet* features;  // set for each pass, since a set may be copied
    const Kernel kernel;
    const int threads;
    const UnigramIndex unigrams;
    const BasePairs pairs;
    const std::shared_ptr<NgramTables> ngrams;  // null if the set contains no n-grams
};

// Interface of an accumulator that sums over the positions of all blocks of a pass.
class BlockSums {
   public:
    virtual ~BlockSums() = default;
    // Called before forward-backward of a block.
    virtual void open(BlockRows&) {}
    // Called after forward-backward of the item that starts at this row; v is not yet multiplied by the item's weight.
    virtual void keep(Recursion&, const Lattice&, std::size_t /*first_row*/, BlockRows&) {}
    // Adds the block, in turns.
    virtual void add(int thread, std::size_t block, BlockRows& rows, Turn& turn) = 0;
};

// A pass for the gradient.
struct GradientPass {
    const Plan& plan;
    const Potentials& potentials;
    std::span<double> g, h;  // [K] the sums so far; h is empty if curvature is not needed
    bool curvature() const { return !h.empty(); }
};

// Built for one feature set and used for any number of passes: begin, add every block, finish. In addition to these
// functions, a family defines
//     static bool present(const Corpus&, const FeatureSet&);   // whether the set can contain such features
//     static void count(const Corpus&, const FeatureSet&, std::span<const double> weights, int threads,
//                       std::span<double> counts);             // adds C, given the weights of the sequences [N]
class Family : public BlockSums {
   public:
    explicit Family(SetTables& tables) : tables_(tables) {}
    virtual void begin(const GradientPass& pass) = 0;  // keeps a reference to the pass
    virtual void finish() {}
    // Frees memory that only gradients need; the next gradient rebuilds it.
    virtual void release() {}

   protected:
    SetTables& tables_;
    const GradientPass* pass_ = nullptr;
};

// The functions of a family whose class is private to its file.
struct FamilyKind {
    bool (*present)(const Corpus&, const FeatureSet&);
    void (*count)(const Corpus&, const FeatureSet&, std::span<const double> weights, int threads,
                  std::span<double> counts);
    std::unique_ptr<Family> (*make)(SetTables&);
};

template <class Made>
FamilyKind family_kind() {
    return {Made::present, Made::count,
            [](SetTables& tables) -> std::unique_ptr<Family> { return std::make_unique<Made>(tables); }};
}

FamilyKind label_family();
FamilyKind pair_family();
FamilyKind class_pair_family();
FamilyKind ngram_family();
FamilyKind dense_family();

// The families used by the set, in the order in which they must finish, because label n-grams add to the finished sums
// of the pair features. Blocks are added in reverse order, because the pair family overwrites the rows.
std::vector<std::unique_ptr<Family>> make_families(SetTables& tables);

// Computes the weighted empirical counts C of all features.  weights: [N], counts: [K]
void count_features(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                    std::span<double> counts);

}  // namespace sparsecrf
