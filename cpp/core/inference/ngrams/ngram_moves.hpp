// The moves from the states before a position to the states after it, one by one, for the log domain and for decoding.
//
// A state is a label, or a history of at least two labels, numbered from Y. Before the first position the only state is
// the start label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/inference/ngrams/ngram_places.hpp"

namespace sparsecrf {

class NgramMoves {
   public:
    // all: whether to build the table of all moves, which for_each needs.
    explicit NgramMoves(int n_labels, bool all = true) : n_labels_(static_cast<std::uint32_t>(n_labels)), all_(all) {}

    // Loads the moves of a place (null means only labels).
    void lay(const NgramPlace* place, bool first) {
        place_ = place;
        first_ = first;
        const std::size_t Y = n_labels_;
        pair_at_.assign(first ? Y : Y * Y, kNoString);
        if (place == nullptr) return;
        const std::uint32_t skip = first ? n_labels_ * n_labels_ : 0;  // the pairs of the start label come last
        for (std::uint32_t k = 0; k < place->pair.size(); ++k) pair_at_[place->pair[k] - skip] = k;
        const NgramArcs& arcs = *place->arcs;
        const std::size_t n = arcs.before->size();
        inner_.assign(n, {});
        for (std::uint32_t g = arcs.n_leaves(); g < arcs.n_arcs(); ++g) inner_[arcs.history[g]].push_back(g);
        if (!all_) return;
        // arcs_(history, a): the longest arc that is a suffix of history a. If the history has no arc for a, this is
        // the arc of its suffix.
        arcs_.assign(n * Y, kNoString);
        for (std::uint32_t h = 0; h < n; ++h) {
            const std::uint32_t suffix = arcs.before->suffix[h];
            if (suffix != kNoString) std::copy_n(arcs_.data() + suffix * Y, Y, arcs_.data() + h * Y);
            for_each_own(h, [&](std::uint32_t g) { arcs_[h * Y + label_of(g)] = g; });
        }
    }

    std::size_t n_before() const {
        if (first_) return 1;
        return n_labels_ + (place_ == nullptr ? 0 : place_->arcs->before->size());
    }
    std::size_t n_after() const { return n_labels_ + (place_ == nullptr ? 0 : place_->after->size()); }
    // The last label of a state before the position; Y for the start.
    std::uint32_t label(std::size_t r) const {
        if (first_) return n_labels_;
        return r < n_labels_ ? static_cast<std::uint32_t>(r) : place_->arcs->before->label[r - n_labels_];
    }

    // Calls visit(a, arc or kNoString, log X, state after) for every label a.
    template <class Visit>
    void for_each(std::size_t r, Visit visit) const {
        const std::uint32_t* arcs = first_ || r < n_labels_ ? nullptr : arcs_.data() + (r - n_labels_) * n_labels_;
        for (std::uint32_t a = 0; a < n_labels_; ++a) {
            const std::uint32_t arc = arcs == nullptr ? kNoString : arcs[a];
            if (arc == kNoString) {
                visit(a, arc, 0.0, target_of_pair(label(r), a));
            } else {
                visit(a, arc, place_->arcs->log_x[arc], state(place_->target_of(arc), a));
            }
        }
    }

    // Calls visit(r, a, log X, state after) for every label a with an arc after state r, using the longest arc, and
    // sets seen[a] = r. seen: [Y], must not contain r on entry.
    template <class Visit>
    void for_each_arc(std::uint32_t r, std::vector<std::uint32_t>& seen, Visit visit) const {
        if (first_ || r < n_labels_) return;
        for (std::uint32_t h = r - n_labels_; h != kNoString; h = place_->arcs->before->suffix[h]) {
            for_each_own(h, [&](std::uint32_t arc) {
                const std::uint32_t a = label_of(arc);
                if (seen[a] == r) return;
                seen[a] = r;
                visit(r, a, place_->arcs->log_x[arc], state(place_->target_of(arc), a));
            });
        }
    }

    // The state after (y', a) without an arc.
    std::uint32_t target_of_pair(std::uint32_t previous, std::uint32_t a) const {
        const std::uint32_t pair = pair_at_[first_ ? a : std::size_t{previous} * n_labels_ + a];
        return state(pair == kNoString ? kNoString : place_->target[place_->arcs->n_inner() + pair], a);
    }

   private:
    std::uint32_t state(std::uint32_t target, std::uint32_t a) const {
        return target == kNoString ? a : n_labels_ + target;
    }
    std::uint32_t label_of(std::uint32_t arc) const { return place_->pair_label[place_->arcs->pair_of[arc]]; }
    // Calls visit(arc) for the arcs of history h itself.
    template <class Visit>
    void for_each_own(std::uint32_t h, Visit visit) const {
        for (std::uint32_t g = place_->arcs->leaf_ptr[h]; g < place_->arcs->leaf_ptr[h + 1]; ++g) visit(g);
        for (const std::uint32_t g : inner_[h]) visit(g);
    }

    std::uint32_t n_labels_;
    bool all_;
    const NgramPlace* place_ = nullptr;
    bool first_ = false;
    std::vector<std::uint32_t> pair_at_;             // [Y, Y] index of a pair in the place; [Y] for the start
    std::vector<std::uint32_t> arcs_;                // [before, Y]
    std::vector<std::vector<std::uint32_t>> inner_;  // [before] inner arcs of each history
};

}  // namespace sparsecrf
