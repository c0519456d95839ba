// Label n-grams laid out for inference: which strings matter at a position, and how they hang together.
//
// Pairs are left to the matrices of transition.hpp; n-grams of at least three labels are a correction of these. With
// F_t the strings that have a feature at position t, going from the last position to the first,
//
//     arcs_t = F_t  u  {q in Q_{t+1} of at least three labels}        strings that end at t
//     Q_t    = {c : c a in arcs_t}                                    histories of at least two labels, ending at t - 1
//     X(c a) = exp( sum of theta_t over the suffixes of c a of at least three labels )
//     par    = the longest proper suffix of an arc among the arcs, or else its last pair, with X = 1
//
// All of it depends on the n-gram attributes at t and on Q_{t+1} (and, near the beginning, on t): positions with the
// same share a `NgramPlace`. Only X changes with the weights.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/corpus/features.hpp"

namespace sparsecrf {

inline constexpr std::uint32_t kNoString = LabelStrings::kNone;

// Histories of at least two labels that are told apart, shortest first.
struct Histories {
    std::vector<std::uint32_t> string;
    std::vector<std::uint32_t>
        suffix;                        // index of the longest proper suffix among them; kNoString: its last label alone
    std::vector<std::uint32_t> label;  // the last label
    std::size_t size() const { return string.size(); }
};

struct NgramPlace {
    const Histories* before = nullptr;  // Q_t
    const Histories* after = nullptr;   // Q_{t+1}

    // Arcs, longest first. Nodes are arcs, then pairs: pair k is node n_arcs() + k.
    std::vector<std::uint32_t> arc_history;    // index into before
    std::vector<std::uint32_t> arc_parent;     // node
    std::vector<std::uint32_t> arc_pair;       // index into pair
    std::vector<double> log_x, x, x_parent;    // X, and that of the parent
    std::vector<std::uint32_t> sorted_string;  // strings of the arcs, ascending, and
    std::vector<std::uint32_t> sorted_arc;     // which arc each is

    // Pairs that an arc or a history ends in, ascending: numbered as in LabelPairs.
    std::vector<std::uint32_t> pair;
    std::vector<std::uint32_t> pair_previous, pair_label;

    std::vector<std::uint32_t> target;      // [arcs + pairs] the history after: index into after; kNoString: the label
    std::vector<std::uint32_t> after_node;  // [after] the node that leads to a history

    // theta of an arc: the sum of value * weight of the n-gram features here.
    struct Term {
        std::uint32_t arc, feature;  // index among the n-grams of the set
        double value;
    };
    std::vector<Term> terms;
    double low = 0.0, high = 0.0;  // range of log X, 0 included

    std::size_t n_arcs() const { return arc_history.size(); }
    std::size_t n_nodes() const { return arc_history.size() + pair.size(); }
    // The arc of a string; kNoString: none.
    std::uint32_t arc_of(std::uint32_t string) const;
};

// Makes the places of corpora for one set of features. Not thread-safe.
class NgramPlaces {
   public:
    // Keeps a reference.
    explicit NgramPlaces(const FeatureSet& features);

    // The place of every position of a corpus; 0: n-grams do not matter there.
    std::vector<std::uint32_t> of(const Corpus& corpus);
    // X of all places, for weights of the whole set.
    void assign(std::span<const double> w, int threads);

    const NgramPlace& place(std::uint32_t id) const { return places_[id]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(places_.size()); }
    const FeatureSet& features() const { return features_; }

   private:
    using List = std::vector<std::pair<std::uint32_t, double>>;  // attributes with n-grams, and their values
    std::uint32_t list_of(const Corpus& corpus, std::int64_t position);
    std::uint32_t intern_histories(std::vector<std::uint32_t>& strings);
    struct Made {
        std::uint32_t place, before;  // ids
    };
    Made make(std::uint32_t list, std::uint32_t after, std::int64_t t);
    void lay_pairs(NgramPlace& place, std::span<const std::uint32_t> arcs);
    void lay_terms(NgramPlace& place, const List& list, std::int64_t t);

    const FeatureSet& features_;
    const LabelStrings& strings_;
    std::int64_t longest_ = 0;  // labels in the longest string
    std::map<List, std::uint32_t> list_ids_;
    std::vector<List> lists_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> history_ids_;
    std::deque<Histories> histories_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, Made> made_;  // list, after, position
    std::deque<NgramPlace> places_;
    std::vector<std::uint32_t> index_;  // [strings] scratch: kNoString between uses
};

// The places of one corpus, with their weights.
struct NgramTables {
    NgramTables(const FeatureSet& features, const Corpus& corpus) : places(features), of(places.of(corpus)) {}
    const NgramPlace* at(std::int64_t position) const {
        const std::uint32_t id = of[static_cast<std::size_t>(position)];
        return id == 0 ? nullptr : &places.place(id);
    }
    NgramPlaces places;
    std::vector<std::uint32_t> of;  // [P]
};

}  // namespace sparsecrf
