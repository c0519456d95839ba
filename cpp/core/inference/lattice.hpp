// Forward and backward quantities of one sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/corpus.hpp"
#include "core/inference/ngrams/ngram_places.hpp"

namespace sparsecrf {

// The corrected label pairs of a sequence, from the rest lists. The entries of position t are [ptr[t], ptr[t + 1]).
struct RestPairs {
    std::vector<std::int64_t> ptr;
    std::vector<std::uint32_t> pair;  // numbered as in LabelPairs
    std::vector<double> delta;        // sum of lambda over the rest list
    std::vector<double> range;        // [T] largest minus smallest delta, including 0
    std::vector<double> weight;       // E of the base matrix; set by forward in the linear domain
    std::vector<double> growth;       // exp(delta) - 1; set by forward in the linear domain
    std::vector<double> p;            // probability of the pair
    std::vector<double> extra;        // p minus its value under the base matrix alone; 0 in the log domain
    // Calls visit(pair, p - b, p^2 - b^2) for the pairs of position t with p != b, where b is the probability under the
    // base matrix alone. With extra = p - b, the last argument is extra (2 p - extra).
    template <class Visit>
    void for_each_extra(std::int64_t t, Visit visit) const {
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) {
            if (extra[k] != 0.0) visit(pair[k], extra[k], extra[k] * (2.0 * p[k] - extra[k]));
        }
    }
    bool any(std::int64_t t) const { return ptr[t] < ptr[t + 1]; }
    void clear() {
        ptr.assign(1, 0);
        pair.clear();
        for (std::vector<double>* x : {&delta, &range, &weight, &growth, &p, &extra}) x->clear();
    }
};

// The effect of label n-grams (three or more labels) on a sequence. For each kind of cell, position t owns the cells
// [ptr[t], ptr[t + 1]). The kinds are nodes and pairs of its place, histories after it, and arcs (in the linear domain,
// only inner arcs).
struct NgramLattice {
    std::vector<const NgramPlace*> place;  // [T] null where n-grams have no effect; empty means no effect anywhere
    std::vector<std::int64_t> arc_ptr, node_ptr, pair_ptr, history_ptr;
    std::vector<double> mass;  // per history: mass of all prefixes that end in it, scaled like alpha; not in the log
                               // domain
    std::vector<const double*> weight;  // [T] E of pairs, base and rest combined; not in the log domain
    std::vector<double> own_weight;     // storage for positions with a rest list
    std::vector<double> leaves;  // per node of the arcs: sum over its leaves of A (X - X(node)); not in the log domain
    std::vector<double> flow;    // per node of the arcs: E e / c B'(target); not in the log domain
    std::vector<double> p;       // probabilities of arcs
    // Per pair: probability minus alpha E v. It is 0 in the log domain. It is also 0 for pairs in the rest list,
    // because RestPairs::extra then includes this difference.
    std::vector<double> extra;
    std::vector<double> edge;  // log domain only: [T, Y, Y] probabilities of all pairs, t > 0
    bool logarithmic = false;

    // If the sequence was processed side by side with others (ngram_batch.hpp), only the members `place` and `weight`
    // above are set, and the cells of position t are [ptr[t], ptr[t + 1]) of `special` and `listed`.
    bool together = false;
    std::vector<std::int64_t> special_ptr, listed_ptr;
    std::vector<double> special;  // mass of the histories before t that are special after t - 1 (NgramTables)
    std::vector<double> listed;   // extra of the pairs listed for t (NgramTables)

    bool any() const { return !place.empty(); }
    const NgramPlace* at(std::int64_t t) const { return place.empty() ? nullptr : place[t]; }
    // The masses of the histories before t > 0.
    const double* before(std::int64_t t) const { return mass.data() + history_ptr[t - 1]; }
    // The probability of an arc; for a leaf in the linear domain it is A(c) X E e / c B'(target).
    double probability(std::int64_t t, std::uint32_t arc) const {
        const NgramArcs& arcs = *place[t]->arcs;
        if (logarithmic) return p[arc_ptr[t] + arc];
        if (arc >= arcs.n_leaves()) return p[arc_ptr[t] + arc - arcs.n_leaves()];
        return before(t)[arcs.history[arc]] * flow[node_ptr[t] + arcs.parent[arc]] * arcs.x[arc];
    }
    // The value of `extra` for each pair at t. Pairs must be looked up in ascending order.
    class Extras {
       public:
        Extras(const NgramLattice& of, std::int64_t t) {
            if (of.at(t) == nullptr) return;
            own_ = of.place[t]->own_pairs();
            others_ = of.place[t]->other_pairs();
            extra_ = of.extra.data() + of.pair_ptr[t];
        }
        double of(std::uint32_t pair) {
            while (i_ < own_.size() && own_[i_] < pair) ++i_;
            if (i_ < own_.size() && own_[i_] == pair) return extra_[i_];
            while (j_ < others_.size() && others_[j_] < pair) ++j_;
            return j_ < others_.size() && others_[j_] == pair ? extra_[own_.size() + j_] : 0.0;
        }

       private:
        std::span<const std::uint32_t> own_, others_;
        const double* extra_ = nullptr;
        std::size_t i_ = 0, j_ = 0;
    };
    template <class Visit>
    void for_each_extra(std::int64_t t, Visit visit) const {
        if (at(t) == nullptr) return;
        for (std::size_t k = 0; k < place[t]->pair.size(); ++k) {
            const double more = extra[pair_ptr[t] + k];
            if (more != 0.0) visit(place[t]->pair[k], more);
        }
    }
};

struct Lattice {
    // Turns this into a lattice of sequence i with all labels free. The caller sets constraints and rows.
    void take(const Corpus& corpus, std::int64_t i) {
        sequence = i;
        first = corpus.offsets[i];
        length = corpus.length(i);
        fixed = nullptr;
        allowed = nullptr;
        label_sets = &corpus.label_sets;
    }

    // Set by `take` and the caller.
    std::int64_t sequence = 0;              // used in error messages
    std::int64_t first = 0, length = 0;     // positions [first, first + length) of the corpus
    const std::int32_t* fixed = nullptr;    // [T] label or label set as in Corpus::labels; null means all free
    const ListPool* label_sets = nullptr;   // label sets of the corpus
    const std::uint8_t* allowed = nullptr;  // [T, Y] nonzero where the label is allowed; null means everywhere
    double* alpha = nullptr;                // [T, Yp] owned by the caller
    double* v = nullptr;                    // [T, Yp]
    double* p = nullptr;                    // [T, Yp] node marginals; may be null if only forward runs

    // Set by forward: log Z. alpha_t is normalized; v_t holds e_t / c_t until backward turns it into beta_t e_t / c_t.
    // With `logarithmic`, alpha and v hold logarithms.
    double log_z = 0.0;
    bool logarithmic = false;
    RestPairs rest;
    NgramLattice ngrams;

    // Whether p_t(y', y) is alpha E v for every pair, with E from the base list alone.
    bool is_product(std::int64_t t) const { return !logarithmic && !ngrams.any() && !rest.any(t); }
};

// A lattice that owns its rows.
struct OwnedLattice : Lattice {
    AlignedVector<double> storage;
    void take(const Corpus& corpus, std::int64_t i, int stride) {
        Lattice::take(corpus, i);
        const auto rows = static_cast<std::size_t>(length * stride);
        if (storage.size() < 3 * rows) storage.resize(3 * rows);
        alpha = storage.data();
        v = alpha + rows;
        p = v + rows;
    }
};

}  // namespace sparsecrf
