#include "core/inference/one_by_one.hpp"

#include <algorithm>
#include <cmath>

namespace sparsecrf {
namespace {

// Whether the pairs of a model turned out to differ between positions: then this class is not tried again.
constexpr int kEnough = 8;

bool equal(const std::vector<Attribute>& a, const std::vector<Attribute>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Attribute& x, const Attribute& y) { return x.id == y.id && x.value == y.value; });
}

bool in_range(const std::vector<Attribute>& list) {
    return std::all_of(list.begin(), list.end(), [](const Attribute& a) { return std::abs(a.value) <= kLargest; });
}

Corpus with_pairs(const FeatureSet& features, std::vector<Attribute> pairs) {
    CorpusBuilder builder;
    std::vector<Attribute> none;
    builder.begin_sequence();
    builder.add_position(none, pairs, kMissing);
    builder.end_sequence();
    return builder.build(features.n_labels, features.n_attributes);
}

}  // namespace

OneByOne::Tables::Tables(const Chain& chain, std::vector<Attribute> pairs)
    : list(std::move(pairs)), corpus(with_pairs(chain.features(), list)), potentials(chain.potentials(corpus, {})) {}

const OneByOne::Tables* OneByOne::tables_for(const std::vector<Attribute>& bigram) {
    if (length_ == 0) {
        if (!start_ || !equal(start_->list, bigram)) start_.emplace(chain_, bigram);
        return &*start_;
    }
    if (inner_ && equal(inner_->list, bigram)) return &*inner_;
    if (length_ > 1) return nullptr;  // different pairs than at the position before
    inner_.emplace(chain_, bigram);
    return &*inner_;
}

// epsilon_t(y) = max_{y'} { epsilon_{t-1}(y') + lambda(y', y) } + mu(y)
bool OneByOne::add(std::vector<Attribute>& unigram, std::vector<Attribute>& bigram) {
    if (n_different_ >= kEnough || chain_.features().n_ngram() > 0) return false;
    if (!in_range(unigram) || !in_range(bigram)) return false;
    normalise(unigram);
    normalise(bigram);
    const Tables* tables = tables_for(bigram);
    if (tables == nullptr) {
        ++n_different_;
        return false;
    }
    const int stride = tables->potentials.stride();
    epsilon_.resize(static_cast<std::size_t>((length_ + 1) * stride));
    scores_.resize(static_cast<std::size_t>(stride));
    double* epsilon = epsilon_.data() + length_ * stride;
    if (length_ == 0) {
        std::copy_n(tables->transition().start_score(), stride, epsilon);
    } else {
        tables->transition().best(epsilon - stride, epsilon, order_);
    }
    chain_.rows().score(unigram, scores_.data());
    for (int y = 0; y < stride; ++y) epsilon[y] += scores_[static_cast<std::size_t>(y)];
    ++length_;
    return true;
}

void OneByOne::best(std::vector<std::int32_t>& labels) {
    n_different_ = 0;
    const int Y = chain_.features().n_labels, stride = start_->potentials.stride();
    const std::size_t first = labels.size();
    labels.resize(first + static_cast<std::size_t>(length_));
    column_.resize(static_cast<std::size_t>(Y));
    const double* last = epsilon_.data() + (length_ - 1) * stride;
    std::int64_t y = std::max_element(last, last + Y) - last;
    for (std::int64_t t = length_ - 1; t >= 0; --t) {
        labels[first + static_cast<std::size_t>(t)] = static_cast<std::int32_t>(y);
        if (t == 0) break;
        const double* previous = epsilon_.data() + (t - 1) * stride;
        inner_->transition().column_scores(static_cast<int>(y), column_.data());
        for (int i = 0; i < Y; ++i) column_[static_cast<std::size_t>(i)] += previous[i];
        y = std::max_element(column_.begin(), column_.end()) - column_.begin();
    }
}

}  // namespace sparsecrf
