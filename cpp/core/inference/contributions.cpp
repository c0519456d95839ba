#include "core/inference/contributions.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace sparsecrf {
namespace {

// The weight of `cell` in the row of attribute x, whose cells are ascending and start at cells[ptr[x]]; w is parallel
// to cells.
template <class Cell>
double weight_of(std::span<const std::int64_t> ptr, std::span<const Cell> cells, std::span<const double> w,
                 std::uint32_t x, Cell cell) {
    const auto first = cells.begin() + ptr[x], last = cells.begin() + ptr[x + 1];
    const auto found = std::lower_bound(first, last, cell);
    return found == last || *found != cell ? 0.0 : w[static_cast<std::size_t>(found - cells.begin())];
}

}  // namespace

std::vector<Contribution> contributions(const FeatureSet& features, std::span<const double> w, const Corpus& corpus,
                                        std::int64_t i, std::span<const std::int32_t> labels) {
    features.check_fits(corpus);
    features.check_pairs_at_most("contributions to a score");
    const std::int64_t length = corpus.length(i);
    if (static_cast<std::int64_t>(labels.size()) != length) {
        throw InputError("labels: expected ", length, ", one for each token, found ", labels.size());
    }
    for (std::int64_t t = 0; t < length; ++t) {
        if (labels[t] < 0 || labels[t] >= features.n_labels) {
            throw InputError("labels, position ", t, ": expected a label from 0 to ", features.n_labels - 1, ", found ",
                             labels[t]);
        }
    }
    const std::span<const double> mu = w.first(static_cast<std::size_t>(features.n_unigram()));
    const std::span<const double> lambda = w.subspan(mu.size(), static_cast<std::size_t>(features.n_bigram()));
    const LabelPairs pairs(features.n_labels);
    std::vector<Contribution> made;
    for (std::int64_t t = 0; t < length; ++t) {
        const std::int32_t y = labels[t], before = t == 0 ? features.n_labels : labels[t - 1];
        const auto add = [&](const Attribute& x, std::int32_t previous, double weight) {
            if (weight * x.value != 0.0) made.push_back({t, x.id, previous, y, x.value, weight});
        };
        const std::int64_t position = corpus.offsets[i] + t;
        std::vector<Attribute> here = corpus.unigram_attributes(position);
        for (std::int64_t j = 0; j < corpus.n_dense; ++j) {
            if (corpus.dense_attributes[j] == kNoAttribute) continue;
            here.push_back({corpus.dense_attributes[j], corpus.dense[position * corpus.n_dense + j]});
        }
        for (const Attribute& x : here) {
            const auto weight = [&](std::uint32_t cell) {
                return weight_of<std::uint16_t>(features.unigram_ptr, features.unigram_label, mu, x.id,
                                                static_cast<std::uint16_t>(cell));
            };
            double sum = weight(static_cast<std::uint32_t>(y));
            if (features.parts != nullptr) {
                for (const std::uint32_t cell : features.parts->cells_of(static_cast<std::size_t>(y))) {
                    sum += weight(cell);
                }
            }
            add(x, Contribution::kNone, sum);
        }
        for (const Attribute& x : corpus.bigram_attributes(position)) {
            const auto previous = static_cast<std::uint32_t>(before), label = static_cast<std::uint32_t>(y);
            double sum = weight_of<std::uint32_t>(features.bigram_ptr, features.bigram_pair, lambda, x.id,
                                                  pairs.pair(previous, label));
            if (features.n_class() > 0) {
                sum += weight_of<std::uint32_t>(features.class_ptr, features.class_pair,
                                                w.subspan(static_cast<std::size_t>(features.first_class())), x.id,
                                                features.parts->class_pair(previous, label));
            }
            add(x, before, sum);
        }
    }
    return made;
}

}  // namespace sparsecrf
