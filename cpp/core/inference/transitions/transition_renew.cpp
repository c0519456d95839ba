// Replaces the scores of a matrix and keeps its pairs.
#include <algorithm>
#include <stdexcept>

#include "core/base/error.hpp"
#include "core/inference/transitions/transition.hpp"

namespace sparsecrf {

void Transition::renew(std::span<const std::uint32_t> pairs, const double* scores, const ClassScores* classes) {
    const LabelPairs numbers(n_labels_);
    const std::size_t n = scores_.pair.size();
    if (state_ == State::empty || numbers.count_inner(pairs) != n) {
        throw std::logic_error(message("Transition::renew: expected the ", n,
                                       " pairs (y', y), y' < Y, of `assign`, found ", numbers.count_inner(pairs)));
    }
    if ((classes_ == nullptr) != (classes == nullptr)) {
        throw std::logic_error(
            "Transition::renew: expected class scores exactly if `assign` got some, found the opposite");
    }
    state_ = State::renewed;
    if (pairs.empty() && classes == nullptr) return;
    const int end = padded(static_cast<int>(pairs.size()));
    renewed_.resize(static_cast<std::size_t>(end));
    low_ = high_ = 0.0;
    if (end > 0) kernels().range(scores, end, &low_, &high_);
    low_ = std::min(low_, 0.0);
    high_ = std::max(high_, 0.0);
    kernels().exp_shifted(scores, 0.0, end, renewed_.data());
    set_classes(classes);
    if (classes != nullptr) {
        for (std::uint32_t y = 0; y < static_cast<std::uint32_t>(n_labels_); ++y) {
            start_score_[y] = classes->of(numbers.start(), y);
        }
        kernels().exp_shifted(start_score_.data(), 0.0, stride_, start_weight_.data());
    }
    std::copy_n(scores, n, scores_.score.begin());
    for (std::size_t k = n; k < pairs.size(); ++k) {
        start_score_[numbers.start_label(pairs[k])] = scores[k];
        start_weight_[numbers.start_label(pairs[k])] = renewed_[k];
    }
    if (classes_ != nullptr) set_differences(renewed_.data());
    if (dense_) {
        renew_dense();
    } else {
        std::copy_n(renewed_.begin(), n, weight_.begin());
        renew_bundles(columns_, true);
        renew_bundles(rows_, false);
    }
}

void Transition::renew_dense() {
    const auto Y = static_cast<std::size_t>(n_labels_), Yp = static_cast<std::size_t>(stride_);
    et_.clear();
    lambda_.clear();
    for (std::size_t i = 0; classes_ != nullptr && i < Y; ++i) {
        for (std::size_t y = 0; y < Y; ++y) e_[i * Yp + y] = plain_weight(i, y);
    }
    if (scores_.pair.size() == LabelPairs(n_labels_).n_inner()) {
        for (std::size_t i = 0; i < Y; ++i) std::copy_n(renewed_.data() + i * Y, Y, e_.data() + i * Yp);
    } else {
        for_each_pair(scores_.pair, n_labels_,
                      [&](std::size_t k, std::size_t i, std::size_t y) { e_[i * Yp + y] = renewed_[k]; });
    }
}

void Transition::renew_bundles(Bundles& bundles, bool by_column) {
    const LabelPairs numbers(n_labels_);
    if (bundles.places.empty()) {
        std::vector<std::uint32_t> next(bundles.line.size());             // the next free slot of each line
        std::vector<std::vector<std::uint32_t>> lines(numbers.n_labels);  // indices of a label in bundles.line
        for (std::uint32_t k = 0; k < next.size(); ++k) {
            next[k] = 4 * bundles.ptr[k / 4] + k % 4;
            lines[bundles.line[k]].push_back(k);
        }
        for (std::uint32_t e = 0; e < scores_.pair.size(); ++e) {
            const std::uint32_t pair = scores_.pair[e];
            for (const std::uint32_t k : lines[by_column ? numbers.label(pair) : numbers.previous(pair)]) {
                bundles.places.push_back({next[k], e});
                next[k] += 4;
            }
        }
    }
    for (const Bundles::Place& place : bundles.places) {
        bundles.m[place.at] = weight_[place.entry] - (plain_.empty() ? 1.0 : plain_[place.entry]);
    }
}

}  // namespace sparsecrf
