// The moves from the states before a position to those after it, one by one: for the log domain and for decoding.
//
// A state is a label, or a history of at least two labels, numbered Y and on. Before the first position there is one
// state, the start label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/inference/ngram_places.hpp"

namespace sparsecrf {

class NgramMoves {
   public:
    explicit NgramMoves(int n_labels) : n_labels_(static_cast<std::uint32_t>(n_labels)) {}

    // Those of a place (null: labels alone).
    void lay(const NgramPlace* place, bool first) {
        place_ = place;
        first_ = first;
        const std::size_t Y = n_labels_;
        pair_at_.assign(first ? Y : Y * Y, kNoString);
        if (place == nullptr) return;
        const std::uint32_t skip = first ? n_labels_ * n_labels_ : 0;  // pairs of the start label come last
        for (std::uint32_t k = 0; k < place->pair.size(); ++k) pair_at_[place->pair[k] - skip] = k;
        // arcs_(history, a): the longest arc that they end in. That of the history's suffix, unless it has its own.
        const NgramArcs& arcs = *place->arcs;
        const std::size_t n = arcs.before->size();
        arcs_.assign(n * Y, kNoString);
        own_.assign(n, {});
        for (std::uint32_t g = 0; g < arcs.n_arcs(); ++g) own_[arcs.history[g]].push_back(g);
        for (std::size_t h = 0; h < n; ++h) {
            const std::uint32_t suffix = arcs.before->suffix[h];
            if (suffix != kNoString) std::copy_n(arcs_.data() + suffix * Y, Y, arcs_.data() + h * Y);
            for (const std::uint32_t g : own_[h]) arcs_[h * Y + place->pair_label[arcs.pair_of[g]]] = g;
        }
    }

    std::size_t n_before() const {
        if (first_) return 1;
        return n_labels_ + (place_ == nullptr ? 0 : place_->arcs->before->size());
    }
    std::size_t n_after() const { return n_labels_ + (place_ == nullptr ? 0 : place_->after->size()); }
    // The last label of a state before; of the start: Y.
    std::uint32_t label(std::size_t r) const {
        if (first_) return n_labels_;
        return r < n_labels_ ? static_cast<std::uint32_t>(r) : place_->arcs->before->label[r - n_labels_];
    }

    // visit(a, arc or kNoString, log X, state after) for every label a.
    template <class Visit>
    void for_each(std::size_t r, Visit visit) const {
        const std::uint32_t* pairs = pair_at_.data() + (first_ ? 0 : std::size_t{label(r)} * n_labels_);
        const std::uint32_t* arcs = first_ || r < n_labels_ ? nullptr : arcs_.data() + (r - n_labels_) * n_labels_;
        for (std::uint32_t a = 0; a < n_labels_; ++a) {
            const std::uint32_t arc = arcs == nullptr ? kNoString : arcs[a];
            std::uint32_t target = kNoString;
            if (arc != kNoString) {
                target = place_->target_of(arc);
            } else if (pairs[a] != kNoString) {
                target = place_->target[place_->arcs->n_inner() + pairs[a]];
            }
            const double log_x = arc == kNoString ? 0.0 : place_->arcs->log_x[arc];
            visit(a, arc, log_x, target == kNoString ? a : n_labels_ + target);
        }
    }

   private:
    std::uint32_t n_labels_;
    const NgramPlace* place_ = nullptr;
    bool first_ = false;
    std::vector<std::uint32_t> pair_at_;           // [Y, Y] index of a pair in the place; of the start: [Y]
    std::vector<std::uint32_t> arcs_;              // [before, Y]
    std::vector<std::vector<std::uint32_t>> own_;  // [before] arcs of a history
};

}  // namespace sparsecrf
