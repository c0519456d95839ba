#include "core/inference/lattice_scores.hpp"

#include <algorithm>

#include "core/base/infinity.hpp"

namespace sparsecrf {

LatticeScores::LatticeScores(const Potentials& potentials, bool keep_zero_pairs)
    : potentials_(potentials),
      kernels_(kernels()),
      n_labels_(potentials.n_labels()),
      stride_(potentials.stride()),
      keep_zero_pairs_(keep_zero_pairs),
      scores_(stride_),
      start_(stride_) {}

void LatticeScores::gather_rest(Lattice& lattice) {
    RestPairs& rest = lattice.rest;
    rest.clear();
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        double low = 0.0, high = 0.0;
        if (potentials_.has_rest(lattice.first + t)) {
            potentials_.rest(lattice.first + t, t == 0 ? Pairs::start : Pairs::inner, keep_zero_pairs_, pairs_);
            rest.pair.insert(rest.pair.end(), pairs_.pair.begin(), pairs_.pair.end());
            rest.delta.insert(rest.delta.end(), pairs_.score.begin(), pairs_.score.end());
            for (const double x : pairs_.score) {
                low = std::min(low, x);
                high = std::max(high, x);
            }
        }
        rest.range.push_back(high - low);
        rest.ptr.push_back(static_cast<std::int64_t>(rest.pair.size()));
    }
    for (std::vector<double>* x : {&rest.weight, &rest.growth, &rest.p, &rest.extra}) x->resize(rest.pair.size());
}

const double* LatticeScores::constrained_scores(const Lattice& lattice, std::int64_t t) {
    const double* s = potentials_.scores(lattice.first + t, scores_.data());
    const std::int32_t only = lattice.fixed == nullptr ? kMissing : lattice.fixed[t];
    const std::uint8_t* allowed = lattice.allowed == nullptr ? nullptr : lattice.allowed + t * n_labels_;
    if (only == kMissing && allowed == nullptr) return s;
    std::span<const std::uint32_t> set;  // candidates of the label set, ascending
    if (!is_known(only)) set = lattice.label_sets->of(label_set_of(only));
    auto next = set.begin();
    for (int y = 0; y < stride_; ++y) {
        const bool in_set = next != set.end() && *next == static_cast<std::uint32_t>(y);
        if (in_set) ++next;
        const bool possible =
            y < n_labels_ && (only == kMissing || only == y || in_set) && (allowed == nullptr || allowed[y]);
        scores_[y] = possible ? s[y] : -kInfinity;
    }
    return scores_.data();
}

const double* LatticeScores::dense_scores(const Lattice& lattice, std::int64_t t) {
    matrix_.resize(static_cast<std::size_t>(n_labels_) * stride_);
    potentials_.transition(lattice.first + t).fill_scores(matrix_.data());
    const RestPairs& rest = lattice.rest;
    const LabelPairs pairs(n_labels_);
    for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
        matrix_[std::size_t{pairs.previous(rest.pair[k])} * stride_ + pairs.label(rest.pair[k])] += rest.delta[k];
    }
    return matrix_.data();
}

const double* LatticeScores::start_scores(const Lattice& lattice) {
    std::copy_n(potentials_.transition(lattice.first).start_score(), stride_, start_.data());
    const LabelPairs pairs(n_labels_);
    const RestPairs& rest = lattice.rest;
    for (std::int64_t k = rest.ptr[0]; k < rest.ptr[1]; ++k) start_[pairs.start_label(rest.pair[k])] += rest.delta[k];
    return start_.data();
}

}  // namespace sparsecrf
