#include "core/inference/one_by_one.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/infinity.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

// Stop trying after this many consecutive sequences whose pairs differ between positions.
constexpr int kEnough = 8;
constexpr int kFewLabels = 128;  // with at most this many labels, also store the matrix by columns

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
    : list(std::move(pairs)), corpus(with_pairs(chain.features(), list)), potentials(chain.potentials(corpus, {})) {
    const int Y = potentials.n_labels(), stride = potentials.stride();
    if (Y > kFewLabels) return;
    columns.assign(static_cast<std::size_t>(Y * stride), -kInfinity);
    for (int y = 0; y < Y; ++y) transition().column_scores(y, columns.data() + y * stride);
}

OneByOne::OneByOne(const Chain& chain, bool own_pairs)
    : chain_(chain),
      scores_(static_cast<std::size_t>(padded(chain.features().n_labels))),
      column_(scores_.size(), -kInfinity),
      zeros_(scores_.size(), 0.0) {
    if (own_pairs) pairs_.emplace(chain.features(), chain.w());
}

const OneByOne::Tables* OneByOne::tables_for(const std::vector<Attribute>& bigram) {
    if (length_ == 0) {
        if (!start_ || !equal(start_->list, bigram)) start_.emplace(chain_, bigram);
        return &*start_;
    }
    if (inner_ && equal(inner_->list, bigram)) return &*inner_;
    if (length_ > 1) return nullptr;  // pairs differ from the previous position
    inner_.emplace(chain_, bigram);
    return &*inner_;
}

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
    chain_.rows().score(unigram, scores_.data());
    add_with(*tables, scores_.data());
    return true;
}

void OneByOne::begin() {
    length_ = 0;
    own_.clear();
    rest_.clear();
    if (pairs_) pairs_->begin();
}

double* OneByOne::next() {
    const auto needed = static_cast<std::size_t>((length_ + 1) * stride());
    if (epsilon_.size() < needed) epsilon_.resize(2 * needed);
    return epsilon_.data() + length_ * stride();
}

void OneByOne::add_scores(const double* scores, double* epsilon) {
    kernels().axpy(1.0, scores, stride(), epsilon);
    ++length_;
}

// epsilon_t(y) = max_{y'} { epsilon_{t-1}(y') + lambda(y', y) } + mu(y)
void OneByOne::add_with(const Tables& tables, const double* scores) {
    double* const epsilon = next();
    if (length_ == 0) {
        std::copy_n(tables.transition().start_score(), stride(), epsilon);
    } else {
        tables.transition().best(epsilon - stride(), epsilon, order_);
    }
    add_scores(scores, epsilon);
}

void OneByOne::add_scored(const double* scores, std::span<const std::uint32_t> bigram, std::size_t n_common) {
    if (pairs_) return add_own(scores, bigram, n_common);
    if (length_ > 1) return add_with(*inner_, scores);
    list_.clear();
    for (const std::uint32_t id : bigram) list_.push_back({id, 1.0});
    normalise(list_);
    add_with(*tables_for(list_), scores);
}

void OneByOne::add_own(const double* scores, std::span<const std::uint32_t> bigram, std::size_t n_common) {
    double* const epsilon = next();
    const std::uint32_t matrix = pairs_->matrix(bigram.first(n_common));
    const std::span<const std::uint32_t> rest = bigram.subspan(n_common);
    rest_.insert(rest_.end(), rest.begin(), rest.end());
    own_.push_back({matrix, rest_.size()});
    pairs_->add(matrix, rest);
    if (length_ == 0) {
        std::copy_n(pairs_->start_scores(matrix), stride(), epsilon);
    } else {
        max_plus(epsilon - stride(), pairs_->scores(matrix), epsilon, order_);
    }
    pairs_->undo();
    add_scores(scores, epsilon);
}

const double* OneByOne::column(std::int64_t t, std::int64_t y) {
    if (pairs_) {
        const std::size_t begin = own_[static_cast<std::size_t>(t) - 1].end;  // t > 0
        const Own own = own_[static_cast<std::size_t>(t)];
        const double* const common = pairs_->column(own.matrix, y);
        if (begin == own.end) return common;
        std::copy_n(common, stride(), column_.data());
        pairs_->add_to_column(std::span(rest_).subspan(begin, own.end - begin), y, column_.data());
        return column_.data();
    }
    if (!inner_->columns.empty()) return inner_->columns.data() + y * stride();
    inner_->transition().column_scores(static_cast<int>(y), column_.data());
    return column_.data();
}

// Any other labelling agrees with the best labelling from some t on but differs from it at t - 1. Its score is at most
// the score of the second-best prefix that continues with the best label at t. Hence
//
//   margin = min over t of (best minus second best of { epsilon_{t-1}(y') + lambda(y', y_t) : y' }),
//
// where the end counts as one more position with lambda = 0.
double OneByOne::best(std::vector<std::int32_t>& labels) {
    n_different_ = 0;
    const std::size_t first = labels.size();
    labels.resize(first + static_cast<std::size_t>(length_));
    double margin = kInfinity;
    const double* scores = zeros_.data();
    for (std::int64_t t = length_ - 1;; --t) {
        double best, second;
        const std::int64_t y = kernels().best_two(epsilon_.data() + t * stride(), scores, stride(), &best, &second);
        margin = std::min(margin, best - second);
        labels[first + static_cast<std::size_t>(t)] = static_cast<std::int32_t>(y);
        if (t == 0) return margin;
        scores = column(t, y);
    }
}

}  // namespace sparsecrf
