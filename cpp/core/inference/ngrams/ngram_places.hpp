// Label n-grams laid out for inference: the strings that matter at each position, and the links between them.
//
// Pairs are handled by the matrices of transition.hpp; n-grams of at least three labels are corrections to these
// matrices. Let F_t be the strings that have a feature at position t. From the last position to the first,
//
//     arcs_t = F_t  u  L_{t+1}                      strings that end at t
//     Q_t    = {c : c a in arcs_t}                  histories of at least two labels, ending at t - 1
//     L_t    = {c : c a in F_t  or  c a b.. in any F}, only c of at least three labels
//     X(c a) = exp( sum of theta_t over the suffixes of c a of at least three labels )
//     parent = the longest proper suffix of an arc among the arcs, or else its last pair, with X = 1
//
// L_{t+1} contains all histories of at least three labels in Q_{t+1}, and also all histories that features from t + 2
// on could need, regardless of the attributes there. Without these extra histories, arcs would depend on as many later
// positions as the longest string has labels, and hardly any two positions would share arcs. Instead, arcs depend only
// on the n-gram attributes at t and, if strings have more than three labels, at t + 1 (and, near the beginning, on t
// itself). Positions for which these agree share `NgramArcs`. The targets of arcs depend on Q_{t+1}, so positions share
// an `NgramPlace` if Q_{t+1} also agrees. Only X changes with the weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"

namespace sparsecrf {

inline constexpr std::uint32_t kNoString = LabelStrings::kNone;

// The histories of at least two labels to distinguish, shortest first.
struct Histories {
    std::vector<std::uint32_t> string;
    std::vector<std::uint32_t> suffix;  // index of the longest proper suffix among them; kNoString: the last label
    std::vector<std::uint16_t> label;   // last label
    std::vector<std::uint16_t> first;   // first label; start: Y
    std::size_t n_pairs = 0;            // number of pairs, which are ordered by pair number
    std::size_t size() const { return string.size(); }
};

// Arcs: leaves first, by history, then inner arcs, longest first, so that children precede their parents. A leaf is
// neither a parent nor a history after t, so it has the same target as its parent. Most arcs are leaves.
// Nodes: inner arcs, then pairs (as in NgramPlace: first the pairs that arcs end in).
struct NgramArcs {
    const Histories* before = nullptr;      // Q_t
    std::vector<std::uint32_t> leaf_ptr;    // [before + 1] leaves of each history
    std::vector<std::uint32_t> history;     // [arcs] index into before
    std::vector<std::uint32_t> parent;      // [arcs] node
    std::vector<std::uint32_t> pair_of;     // [arcs] index into pair
    std::vector<std::uint32_t> pair;        // pairs that arcs end in, ascending, numbered as in LabelPairs
    std::vector<double> log_x, x;           // [arcs] X
    std::vector<double> x_parent, more;     // [arcs] X(parent), and X - X(parent)
    std::vector<std::uint32_t> string;      // [arcs]
    std::vector<std::uint32_t> sorted_arc;  // [arcs] sorted by string

    // theta of an arc is the sum of value * weight of its n-gram features.
    struct Term {
        std::uint32_t arc, feature;  // feature: index among the n-grams of the set
        double value;
    };
    std::vector<Term> terms;
    double low = 0.0, high = 0.0;  // range of log X, including 0

    std::uint32_t n_leaves() const { return leaf_ptr.back(); }
    std::uint32_t n_arcs() const { return static_cast<std::uint32_t>(history.size()); }
    std::uint32_t n_inner() const { return n_arcs() - n_leaves(); }  // arcs that are not leaves
    std::uint32_t n_nodes() const { return n_inner() + static_cast<std::uint32_t>(pair.size()); }
    // The arc of a string, or kNoString.
    std::uint32_t arc_of(std::uint32_t string) const;
};

struct NgramPlace {
    const NgramArcs* arcs = nullptr;
    const Histories* after = nullptr;  // Q_{t+1}
    std::uint32_t arcs_id = 0;

    // Pairs that arcs end in, then other pairs that are histories after t; both parts ascending.
    std::vector<std::uint32_t> pair;
    std::vector<std::uint16_t> pair_previous, pair_label;
    std::vector<std::uint32_t> target;  // [nodes] history after t, as an index into `after`; kNoString: the last label
    std::vector<std::uint32_t> after_node;  // [after] the node that leads to each history
    std::vector<std::uint32_t> after_pair;  // [after] the pair that each history ends in
    // A node of the arcs with a target, the target, and its last label.
    struct Leading {
        std::uint32_t node, history;
        std::uint16_t label;
    };
    std::vector<Leading> leading;

    std::uint32_t n_pairs() const { return static_cast<std::uint32_t>(pair.size()); }
    // The pairs that arcs end in, and the other pairs.
    std::span<const std::uint32_t> own_pairs() const { return std::span(pair).first(arcs->pair.size()); }
    std::span<const std::uint32_t> other_pairs() const { return std::span(pair).subspan(arcs->pair.size()); }
    std::uint32_t find_pair(std::uint32_t number) const;  // index into pair, or kNoString
    std::uint32_t target_of(std::uint32_t arc) const {
        return target[arc < arcs->n_leaves() ? arcs->parent[arc] : arc - arcs->n_leaves()];
    }
};

// Builds the places of corpora for one feature set. Not thread-safe.
class NgramPlaces {
   public:
    // Keeps a reference to the feature set.
    explicit NgramPlaces(const FeatureSet& features);

    // The place of every position of a corpus; 0 if n-grams have no effect there. Throws InputError if the places would
    // take a third of the memory. This can happen with long n-grams conditioned on attributes, which need a separate
    // place for nearly every position.
    std::vector<std::uint32_t> of(const Corpus& corpus);
    // Computes X of all places. w: weights of the whole set. only_new: only for places added since the last call, with
    // the same weights.
    void assign(std::span<const double> w, int threads, bool only_new = false);
    // Computes X of these arc sets only, after their weights changed.
    void assign(std::span<const double> w, int threads, std::span<const std::uint32_t> arcs);

    const NgramPlace& place(std::uint32_t id) const { return places_[id]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(places_.size()); }
    const NgramArcs& arcs(std::uint32_t id) const { return arcs_[id]; }
    std::uint32_t n_arcs() const { return static_cast<std::uint32_t>(arcs_.size()); }
    const FeatureSet& features() const { return features_; }
    std::uint64_t bytes() const { return bytes_; }  // approximate size

   private:
    using List = std::vector<std::pair<std::uint32_t, double>>;  // attributes with n-grams, and their values
    std::uint32_t list_of(const Corpus& corpus, std::int64_t position);
    std::uint32_t intern_histories(std::vector<std::uint32_t>& strings);
    struct Made {
        std::uint32_t id, before;  // id of a place or arc set, and of the histories before it
    };
    Made make_place(std::uint32_t list, std::uint32_t after, std::uint32_t longer, std::int64_t t);
    std::uint32_t longer_before(std::uint32_t list, std::int64_t t);
    Made make_arcs(std::uint32_t list, std::uint32_t longer, std::int64_t t);
    // Throws InputError if the total memory exceeds the limit.
    void count_bytes(std::size_t more);
    void order_arcs(NgramArcs& arcs, std::span<const std::uint32_t> strings, const Histories& longer);
    void lay_parents(NgramArcs& arcs);
    void lay_terms(NgramArcs& arcs, const List& list, std::int64_t t);
    void lay_pairs(NgramPlace& place);
    void lay_targets(NgramPlace& place);
    void assign_arcs(std::span<const double> w, NgramArcs& arcs) const;
    std::uint32_t last_two(std::uint32_t string) const;
    std::uint32_t pair_number(std::uint32_t two) const;
    std::uint32_t pair_string(std::uint32_t number) const;

    const FeatureSet& features_;
    const LabelStrings& strings_;
    std::int64_t longest_ = 0;  // number of labels in the longest string
    std::uint64_t bytes_ = 0;   // approximate size of lists, arcs and places
    std::map<List, std::uint32_t> list_ids_;
    std::vector<List> lists_;
    std::vector<std::uint32_t> ahead_;  // proper prefixes of the histories of features, of at least three labels
    std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> longer_ids_;  // by list and position
    std::map<std::vector<std::uint32_t>, std::uint32_t> history_ids_;
    std::deque<Histories> histories_;
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // list, histories after, position
    std::map<Key, Made> made_places_, made_arcs_;
    std::deque<NgramArcs> arcs_;
    std::size_t n_assigned_ = 0;  // arc sets for which X is set
    std::deque<NgramPlace> places_;
    std::vector<std::uint32_t> index_;  // [strings] scratch; kNoString between uses
};

// The places of one corpus and their weights.
struct NgramTables {
    NgramTables(std::shared_ptr<NgramPlaces> shared, const Corpus& corpus);
    // The tables for a feature set; null if it contains no n-grams.
    static std::shared_ptr<NgramTables> of(const Corpus& corpus, const FeatureSet& features);
    // Sets E of the pairs from the matrices of the base lists.
    template <class TransitionOf>
    void weigh(TransitionOf transition_of) {
        for (std::uint32_t kind = 0; kind < kinds.size(); ++kind) weigh_kind(kind, transition_of);
        if (together) find_special();
    }
    // The same for the pairs of one kind. Not for sequences processed side by side.
    template <class TransitionOf>
    void weigh_kind(std::uint32_t number, TransitionOf transition_of) {
        const Kind& kind = kinds[number];
        const NgramPlace& place = *kind.place;
        double* weight = weights.data() + kind.first;
        std::fill_n(weight, place.n_pairs(), 1.0);
        transition_of(kind.base).multiply(place.own_pairs(), weight);
        transition_of(kind.base).multiply(place.other_pairs(), weight + place.own_pairs().size());
    }
    // A history after a position whose mass is not simply alpha e / c, because E is not 1 or because arcs end in the
    // history.
    struct Special {
        double weight;               // E of its last pair
        std::uint32_t history;       // index into after
        std::uint32_t node;          // node of the arcs; if kNoString, the mass is E alpha e / c
        std::uint16_t first, label;  // first and last label of the history
    };
    std::span<const Special> special_at(std::int64_t position) const {
        const Kind& kind = kinds[kind_of[static_cast<std::size_t>(position)]];
        return std::span(special).subspan(kind.first_special, kind.n_special);
    }
    const NgramPlace* at(std::int64_t position) const {
        const std::uint32_t kind = kind_of[static_cast<std::size_t>(position)];
        return kind == kNoString ? nullptr : kinds[kind].place;
    }
    const double* weights_at(std::int64_t position) const {
        return weights.data() + kinds[kind_of[static_cast<std::size_t>(position)]].first;
    }
    std::shared_ptr<NgramPlaces> places;  // may be shared with other corpora
    // Positions with the same place and base list share E of their pairs.
    struct Kind {
        const NgramPlace* place;
        std::uint32_t base;
        std::size_t first;  // index of its first pair in weights
        std::size_t first_special = 0, n_special = 0;
    };
    std::vector<Kind> kinds;
    std::vector<std::uint32_t> kind_of;  // [P] kNoString without a place
    std::vector<double> weights;         // [pairs of all kinds]
    std::vector<Special> special;        // of all kinds
    // [kinds] Pairs of a kind whose probabilities are summed, as ascending indices into the pairs of the place; set by
    // the code that sums them.
    std::vector<std::vector<std::uint32_t>> listed;
    std::span<const std::uint32_t> listed_at(std::int64_t position) const {
        return listed[kind_of[static_cast<std::size_t>(position)]];
    }
    bool together = false;  // positions share enough arcs for side-by-side processing (ngram_batch.hpp)

   private:
    void find_special();
};

}  // namespace sparsecrf
