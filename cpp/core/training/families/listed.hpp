// Evaluates a list of individual features at the positions of sequences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/corpus/features.hpp"
#include "core/inference/recursion.hpp"

namespace sparsecrf {

inline constexpr std::uint32_t kNoLabel = 0xffffffffu;

// Scratch space of a thread, for fixed weights.
struct ListedScratch {
    // The inner pairs of an attribute, and their E in the matrix of a base list.
    struct PairWeights {
        std::vector<std::uint16_t> previous, y;
        std::vector<double> e;
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, PairWeights> pairs;  // by base list and attribute
    std::vector<double> classes;                                           // [C, C] p of class pairs
    std::vector<char> own;  // [arcs] whether the sequence's own labels end in them
};

// A position of a sequence after forward-backward.
struct ListedPosition {
    const Corpus& corpus;
    Recursion& recursion;
    const Lattice& lattice;
    std::int64_t t;
    const double* cells;  // [Y + P] probabilities of the cells of unigram rows
    ListedScratch& scratch;
    std::uint32_t previous = kNoLabel, y = kNoLabel;  // labels at the position, if features are compared with them

    bool asked() const { return y != kNoLabel; }
    // Calls visit(x, value, whether x is in the base list) for the bigram attributes.
    template <class Visit>
    void for_each_bigram(Visit visit) const {
        const std::int64_t position = lattice.first + t;
        for (const auto& [pool, of] : {std::pair{&corpus.base_lists, corpus.base[position]},
                                       std::pair{&corpus.rest_lists, corpus.rest[position]}}) {
            for (std::int64_t k = pool->begin(of); k < pool->end(of); ++k) {
                visit(pool->id(k), pool->value(k), pool == &corpus.base_lists);
            }
        }
    }
};

// The labels of a feature: y or a part's cell, y' + 1 (0 for a unigram feature), and the string of a label n-gram or
// 0.
struct FeatureLabels {
    std::uint32_t label, previous, string;
};

// The listed features of a family, in rows by attribute. Row x is [ptr[x], ptr[x + 1]), with ascending cells.
struct ListedRows {
    std::vector<std::uint32_t> ptr, cell, place;  // [X + 1], [features], [features] index in the list

    // of_set, cells: the rows of the family, whose first feature has the index `offset` in the set.
    // listed: indices in the set, in ascending order.
    template <class Cells>
    ListedRows(const std::vector<std::int64_t>& of_set, const Cells& cells, std::int64_t offset,
               std::span<const std::int64_t> listed)
        : ptr(1, 0) {
        auto next = std::lower_bound(listed.begin(), listed.end(), offset);
        for (std::size_t x = 0; x + 1 < of_set.size(); ++x) {
            for (; next != listed.end() && *next < offset + of_set[x + 1]; ++next) {
                cell.push_back(cells[static_cast<std::size_t>(*next - offset)]);
                place.push_back(static_cast<std::uint32_t>(next - listed.begin()));
            }
            ptr.push_back(static_cast<std::uint32_t>(cell.size()));
        }
    }
    std::span<const std::uint32_t> of(std::uint32_t x) const {
        return std::span(cell).subspan(ptr[x], ptr[x + 1] - ptr[x]);
    }
    // The list indices of some cells of a row.
    const std::uint32_t* places(std::span<const std::uint32_t> row) const {
        return place.data() + (row.data() - cell.data());
    }
};

// Each of the following classes has a method at(position, visit). For each listed feature of the position's attributes,
// it calls visit(index in the list, value, p, own, labels): p is the probability of the feature's labels, own is true
// if the sequence has these labels, and labels() returns them as FeatureLabels.

class ListedLabels {
   public:
    ListedLabels(const FeatureSet& features, std::span<const std::int64_t> listed)
        : cells_(features.cells()), rows_(features.unigram_ptr, features.unigram_label, 0, listed) {}

    template <class Visit>
    void at(const ListedPosition& here, Visit visit) const {
        if (rows_.cell.empty()) return;
        const ListPool& lists = here.corpus.unigram_lists;
        const std::uint32_t list = here.corpus.unigram[here.lattice.first + here.t];
        for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
            const std::uint32_t x = lists.id(k);
            for (std::uint32_t r = rows_.ptr[x]; r < rows_.ptr[x + 1]; ++r) {
                const std::uint32_t cell = rows_.cell[r];
                visit(rows_.place[r], lists.value(k), here.cells[cell], here.asked() && cells_.has(here.y, cell),
                      [&] { return FeatureLabels{cell, 0, 0}; });
            }
        }
    }

   private:
    LabelCells cells_;
    ListedRows rows_;
};

class ListedPairs {
   public:
    ListedPairs(const FeatureSet& features, std::span<const std::int64_t> listed)
        : numbers_(features.n_labels), rows_(features.bigram_ptr, features.bigram_pair, features.n_unigram(), listed) {}

    template <class Visit>
    void at(const ListedPosition& here, Visit visit) const {
        const std::uint32_t own = here.asked() ? numbers_.pair(here.previous, here.y) : kNoLabel;
        here.for_each_bigram([&](std::uint32_t x, double value, bool base) {
            const auto pairs = numbers_.at(rows_.of(x), here.t == 0);
            const std::uint32_t* place = rows_.places(pairs);
            marginals(here, x, base, pairs, [&](std::size_t j, double p) {
                visit(place[j], value, p, pairs[j] == own,
                      [&, j] { return FeatureLabels{numbers_.label(pairs[j]), numbers_.previous(pairs[j]) + 1, 0}; });
            });
        });
    }

   private:
    // Calls visit(j, p_t(pairs[j])) for pairs of attribute x. If a few matrices serve all positions and many pairs are
    // listed, each E is looked up once instead of at every position.
    template <class Visit>
    void marginals(const ListedPosition& here, std::uint32_t x, bool base, std::span<const std::uint32_t> pairs,
                   Visit visit) const {
        constexpr std::size_t kManyPairs = 64, kFewLists = 16;
        const Lattice& lattice = here.lattice;
        if (!base || here.t == 0 || pairs.size() < kManyPairs || here.corpus.base_lists.size() > kFewLists ||
            !lattice.is_product(here.t)) {
            return here.recursion.pair_marginals(lattice, here.t, pairs, visit);
        }
        const std::int64_t position = lattice.first + here.t;
        const Potentials& potentials = here.recursion.potentials();
        ListedScratch::PairWeights& of = here.scratch.pairs[{here.corpus.base[position], x}];
        if (of.e.empty()) {
            const Transition& transition = potentials.transition(position);
            for_each_pair(pairs, here.corpus.n_labels, [&](std::size_t, std::size_t i, std::size_t y) {
                of.previous.push_back(static_cast<std::uint16_t>(i));
                of.y.push_back(static_cast<std::uint16_t>(y));
                of.e.push_back(transition.weight(static_cast<int>(i), static_cast<int>(y)));
            });
        }
        const double* v = lattice.v + here.t * potentials.stride();
        const double* alpha = lattice.alpha + (here.t - 1) * potentials.stride();
        for (std::size_t j = 0; j < pairs.size(); ++j) visit(j, alpha[of.previous[j]] * of.e[j] * v[of.y[j]]);
    }

    LabelPairs numbers_;
    ListedRows rows_;
};

class ListedClassPairs {
   public:
    ListedClassPairs(const FeatureSet& features, std::span<const std::int64_t> listed)
        : parts_(features.parts.get()),
          numbers_(features.n_classes()),
          rows_(features.class_ptr, features.class_pair, features.first_class(), listed) {}

    template <class Visit>
    void at(const ListedPosition& here, Visit visit) const {
        if (rows_.cell.empty()) return;
        const std::uint32_t own = here.asked() ? parts_->class_pair(here.previous, here.y) : kNoLabel;
        double* p = nullptr;  // p of all pairs, once they are needed
        here.for_each_bigram([&](std::uint32_t x, double value, bool) {
            const auto pairs = numbers_.at(rows_.of(x), here.t == 0);
            if (pairs.empty()) return;
            if (p == nullptr) {
                here.scratch.classes.resize(numbers_.n_inner());
                p = here.scratch.classes.data();
                here.recursion.class_marginals(here.lattice, here.t, p);
            }
            for (std::size_t j = 0; j < pairs.size(); ++j) {
                visit(rows_.places(pairs)[j], value, p[here.t == 0 ? numbers_.start_label(pairs[j]) : pairs[j]],
                      pairs[j] == own, [] { return FeatureLabels{kNoLabel, 0, 0}; });
            }
        });
    }

   private:
    const LabelParts* parts_;
    LabelPairs numbers_;
    ListedRows rows_;
};

class ListedNgrams {
   public:
    ListedNgrams(const FeatureSet& features, std::span<const std::int64_t> listed) : features_(features) {
        const auto first = std::lower_bound(listed.begin(), listed.end(), features.first_ngram());
        if (first == listed.end()) return;
        place_.assign(static_cast<std::size_t>(features.n_ngram()), kNoString);
        for (auto at = first; at != listed.end(); ++at) {
            place_[static_cast<std::size_t>(*at - features.first_ngram())] =
                static_cast<std::uint32_t>(at - listed.begin());
        }
    }

    template <class Visit>
    void at(const ListedPosition& here, Visit visit) const {
        const NgramLattice& lattice = here.lattice.ngrams;
        if (place_.empty() || lattice.at(here.t) == nullptr) return;
        const NgramArcs& arcs = *lattice.place[here.t]->arcs;
        here.scratch.own.assign(arcs.n_arcs(), 0);
        if (here.asked()) {
            const std::int32_t* path = here.corpus.labels.data() + here.lattice.first;
            features_.strings.for_each_suffix(path, here.t, [&](std::uint32_t string) {
                const std::uint32_t arc = arcs.arc_of(string);
                if (arc != kNoString) here.scratch.own[arc] = 1;
            });
        }
        const LabelStrings& strings = features_.strings;
        for (const NgramArcs::Term& term : arcs.terms) {
            if (place_[term.feature] == kNoString) continue;
            visit(place_[term.feature], term.value, lattice.probability(here.t, term.arc),
                  here.scratch.own[term.arc] != 0, [&] {
                      const std::uint32_t string = arcs.string[term.arc];
                      return FeatureLabels{strings.last(string), strings.last(strings.prefix(string)) + 1, string};
                  });
        }
    }

   private:
    const FeatureSet& features_;
    std::vector<std::uint32_t> place_;  // [n-grams of the set] index in the list, or kNoString; empty if none
};

// The listed features of all families that support listing, in the order of the set. Dense columns cannot be listed.
class ListedFeatures {
   public:
    ListedFeatures(const FeatureSet& features, std::span<const std::int64_t> listed)
        : families_{{features, listed}, {features, listed}, {features, listed}, {features, listed}} {}

    template <class Visit>
    void at(const ListedPosition& here, Visit visit) const {
        std::apply([&](const auto&... family) { (family.at(here, visit), ...); }, families_);
    }

   private:
    std::tuple<ListedLabels, ListedPairs, ListedClassPairs, ListedNgrams> families_;
};

}  // namespace sparsecrf
