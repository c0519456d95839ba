// Expectations of label triples that need not be features, if no string of the set has more than three labels. Let
// A(b y') be the mass of all prefixes that end in b y' at t - 1, and F the factor of a pair at t and everything after
// it. Let X = 1 unless b y' y is an arc at t (ngram_places.hpp). Then
//
//     p_t(b y' y) = A(b y') X(b y' y) F(y' y),    A(b y') = alpha_{t-1}(y') q(b),    q(b) = share of b in alpha_{t-1}
//
// because later labels depend on y' y alone. If no arc ends in the pair, alpha(y') F is its probability. For each pair
// and position, one multiple of the row q thus gives the terms of all b.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"
#include "core/inference/potentials.hpp"
#include "core/training/families/listed.hpp"
#include "core/training/item_runs.hpp"

namespace sparsecrf {

class Triples {
   public:
    struct Pair {
        std::uint32_t place;  // index in the list
        double weight;        // w v alpha F
    };
    struct Arc {
        std::uint32_t place, previous;  // previous: b
        double value;                   // w v A (X - 1) F
    };
    struct Scratch {
        std::vector<Pair> pairs;
        std::vector<std::pair<std::uint32_t, double>> own;  // pairs that arcs end in: place and w v F
    };

    // Whether no string of the set has more than three labels.
    static bool possible(const FeatureSet& features);
    // `listed` and `rows` must contain only pairs. Keeps references to all arguments.
    Triples(const FeatureSet& features, const ListedFeatures& listed, const ListedRows& rows,
            const Potentials& potentials);

    // The listed pairs at position t > 0 of a sequence in the linear domain, with weight w. Adds to `arcs`. If only one
    // attribute has n-grams at the position, and has an n-gram for every arc, it adds no arcs, because these strings
    // are in the set.
    const std::vector<Pair>& at(double w, ItemRun& run, std::int64_t t, Scratch& scratch, std::vector<Arc>& arcs) const;
    // q of the labels y with a column, the start label last: out[columns[y] stride + b]. columns[y] is kNoString for
    // the other labels. out is zero on entry.
    static void shares(const ItemRun& run, std::int64_t t, const std::uint32_t* columns, std::size_t stride,
                       double* out);

   private:
    // A listed pair at the positions of a kind (NgramTables); slot: its index in the pairs of the place, or kNoString.
    struct Entry {
        std::uint32_t place, slot;
        std::uint16_t previous, label;
        double e;  // E of the base list
    };
    // The pairs of one attribute of the base list: [first, middle) are pairs that arcs end in.
    struct Group {
        std::uint32_t attribute;
        double value;
        std::size_t first, middle, last;
    };
    struct Kind {
        std::vector<Group> groups;
        std::vector<Entry> entries;
    };
    // The tables pay off if kinds of positions recur. This limit keeps them within 100 MB if hardly any kind recurs.
    static constexpr std::size_t kMostEntries = std::size_t{1} << 22;
    std::size_t n_entries() const;
    Kind kind(const NgramPlace* place, std::uint32_t base) const;
    void add_arcs(const Lattice& lattice, std::int64_t t, std::uint32_t attribute, const Scratch& scratch,
                  std::vector<Arc>& arcs) const;
    void add_group(double w, const Lattice& lattice, std::int64_t t, const Kind& kind, const Group& group,
                   Scratch& scratch) const;
    void add_each(double w, ItemRun& run, std::int64_t t, Scratch& scratch, std::vector<Arc>& arcs) const;

    const Corpus& corpus_;
    const FeatureSet& features_;
    const ListedFeatures& listed_;
    const ListedRows& rows_;
    const Potentials& potentials_;
    std::vector<std::uint32_t> attribute_;  // [L]
    std::vector<std::uint32_t> alone_;      // [arc sets] the only attribute with n-grams, if it has one for every arc;
                                            // otherwise kNoString
    bool tabulated_ = false;
    std::vector<Kind> of_kind_, of_base_;  // of_base_: positions without n-grams
};

}  // namespace sparsecrf
