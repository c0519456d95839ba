#include "core/inference/transitions/base_pairs.hpp"

#include <algorithm>
#include <iterator>

#include "core/inference/transitions/transition.hpp"

namespace sparsecrf {

BasePairs::BasePairs(const Corpus& corpus, const FeatureSet& features) : lists_(corpus.base_lists), ptr_{0} {
    ptr_.reserve(static_cast<std::size_t>(lists_.size()) + 1);
    std::vector<std::uint32_t> all, merged;
    for (std::uint32_t list = 0; list < lists_.size(); ++list) {
        all.clear();
        for (std::int64_t e = lists_.begin(list); e < lists_.end(list); ++e) {
            const std::span<const std::uint32_t> row = features.bigram_pairs_of(lists_.id(e));
            if (all.empty()) {
                all.assign(row.begin(), row.end());
            } else if (!row.empty()) {
                merged.clear();
                std::set_union(all.begin(), all.end(), row.begin(), row.end(), std::back_inserter(merged));
                std::swap(all, merged);
            }
        }
        pair_.insert(pair_.end(), all.begin(), all.end());
        ptr_.push_back(pair_.size());
    }
    pair_.shrink_to_fit();
}

void BasePairs::sum(std::uint32_t list, const FeatureSet& features, std::span<const double> w, double* scores) const {
    const std::span<const std::uint32_t> pairs = of(list);
    std::fill_n(scores, pairs.size(), 0.0);
    for (std::int64_t e = lists_.begin(list); e < lists_.end(list); ++e) {
        const std::uint32_t x = lists_.id(e);
        const double value = lists_.value(e);
        const double* lambda = w.data() + features.n_unigram() + features.bigram_ptr[x];
        for_each_place(features.bigram_pairs_of(x), pairs,
                       [&](std::size_t k, std::size_t place) { scores[place] += value * lambda[k]; });
    }
}

}  // namespace sparsecrf
