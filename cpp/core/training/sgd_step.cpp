#include "core/training/sgd_step.hpp"

#include <algorithm>

namespace sparsecrf {

SgdStep::SgdStep(const Corpus& corpus, const Plan& plan, const FeatureSet& features, std::span<double> w, Kernel kernel)
    : corpus_(corpus),
      plan_(plan),
      features_(features),
      w_(w),
      n_labels_(corpus.n_labels),
      stride_(padded(corpus.n_labels)),
      rows_(features, w, true),
      pairs_(corpus, features),
      potentials_(corpus, corpus.unigram_lists, kernel, 1, &pairs_),
      recursion_(potentials_, true),
      unigram_lists_(corpus.unigram_lists.size()),
      base_lists_(corpus.base_lists.size()),
      products_(static_cast<std::size_t>(n_labels_) * static_cast<std::size_t>(stride_)) {
    potentials_.assign(features, w, rows_, true);
}

void SgdStep::settle_all(LazyWeights& weights) const {
    const std::int64_t X = corpus_.n_attributes, n_unigram = features_.n_unigram();
    for (std::int64_t x = 0; x < X; ++x) {
        weights.settle(x, features_.unigram_ptr[x], features_.unigram_ptr[x + 1]);
        weights.settle(X + x, n_unigram + features_.bigram_ptr[x], n_unigram + features_.bigram_ptr[x + 1]);
    }
}

void SgdStep::step(std::span<const Item> items, LazyWeights& weights, double eta, double n) {
    if (items.empty()) return;
    prepare(items.front().sequence, weights);
    infer(items, true);
    const double factor = weights.advance(eta, n);
    subtract_unigrams(factor);
    for (const std::uint32_t list : base_lists_.found) subtract_base(list, factor);
    for (std::int64_t t = 0; t < length_; ++t) {
        if (corpus_.rest[first_ + t] != 0) subtract_rest(t, factor);
    }
}

// Weights of the features that occur are brought up to date, and what is computed from them.
void SgdStep::prepare(std::int64_t sequence, LazyWeights& weights) {
    occurrences_.clear();
    unigram_lists_.clear();
    base_lists_.clear();
    const ListPool& unigrams = corpus_.unigram_lists;
    const std::int64_t first = corpus_.offsets[sequence];
    for (std::int64_t t = first; t < corpus_.offsets[sequence + 1]; ++t) {
        if (potentials_.tabulates_unigrams()) unigram_lists_.add(corpus_.unigram[t]);
        for (std::int64_t e = unigrams.begin(corpus_.unigram[t]); e < unigrams.end(corpus_.unigram[t]); ++e) {
            const std::uint32_t x = unigrams.id(e);
            if (!rows_.has(x)) continue;
            const std::int64_t begin = features_.unigram_ptr[x], end = features_.unigram_ptr[x + 1];
            occurrences_.push_back({begin, static_cast<std::uint32_t>(end - begin),
                                    static_cast<std::uint32_t>(t - first), unigrams.value(e)});
            if (weights.settle(x, begin, end)) rows_.update(features_, w_, x);
        }
        if (corpus_.base[t] != 0) base_lists_.add(corpus_.base[t]);
        settle_bigrams(corpus_.rest_lists, corpus_.rest[t], weights);
    }
    for (const std::uint32_t list : base_lists_.found) settle_bigrams(corpus_.base_lists, list, weights);
    potentials_.refresh(unigram_lists_.found, base_lists_.found);
}

void SgdStep::settle_bigrams(const ListPool& lists, std::uint32_t list, LazyWeights& weights) const {
    const std::int64_t X = corpus_.n_attributes, n_unigram = features_.n_unigram();
    for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
        const std::uint32_t x = lists.id(e);
        weights.settle(X + x, n_unigram + features_.bigram_ptr[x], n_unigram + features_.bigram_ptr[x + 1]);
    }
}

void SgdStep::infer(std::span<const Item> items, bool backward) {
    const std::int64_t sequence = items.front().sequence;
    first_ = corpus_.offsets[sequence];
    length_ = corpus_.length(sequence);
    count_ = plan_.count_weight[static_cast<std::size_t>(sequence)];
    if (lattices_.size() < items.size()) lattices_.resize(items.size());
    item_weight_.clear();
    for (std::size_t k = 0; k < items.size(); ++k) {
        OwnedLattice& lattice = lattices_[k];
        lattice.take(corpus_, sequence, stride_);
        lattice.fixed = plan_.fixed_labels(items[k]);
        recursion_.forward(lattice);
        item_weight_.push_back(items[k].weight);
        if (!backward) continue;
        recursion_.backward(lattice);
        if (lattice.logarithmic || items[k].weight == 1.0) continue;
        std::for_each_n(lattice.v, length_ * stride_, [&](double& v) { v *= items[k].weight; });
    }
}

// The pair of labels at t; they are known.
std::uint32_t SgdStep::pair_of_labels(std::int64_t t) const {
    const LabelPairs pairs(n_labels_);
    const auto label = [&](std::int64_t s) { return static_cast<std::uint32_t>(corpus_.labels[first_ + s]); };
    return pairs.pair(t == 0 ? pairs.start() : label(t - 1), label(t));
}

// mu[x, y] -= eta v { sum_items weight p_t(y) - count [y = y_t] }
void SgdStep::subtract_unigrams(double eta) {
    difference_.assign(static_cast<std::size_t>(length_ * stride_), 0.0);
    const int n_cells = features_.n_cells();
    for (std::size_t k = 0; k < item_weight_.size(); ++k) {
        kernels().axpy(item_weight_[k], lattices_[k].p, static_cast<int>(length_) * stride_, difference_.data());
    }
    for (std::int64_t t = 0; count_ != 0.0 && t < length_; ++t) {
        difference_[t * stride_ + corpus_.labels[first_ + t]] -= count_;
    }
    const double* difference = difference_.data();
    int stride = stride_;
    if (features_.parts != nullptr) {
        stride = n_cells;
        cells_.resize(static_cast<std::size_t>(length_ * stride));
        for (std::int64_t t = 0; t < length_; ++t) {
            features_.parts->unfold(difference + t * stride_, cells_.data() + t * stride);
        }
        difference = cells_.data();
    }
    for (const Occurrence& at : occurrences_) {
        const double* d = difference + static_cast<std::size_t>(at.t) * stride;
        const std::uint16_t* label = features_.unigram_label.data() + at.begin;
        double* w = w_.data() + at.begin;
        const double factor = eta * at.value;
        if (static_cast<int>(at.n) == n_cells) {
            for (int c = 0; c < n_cells; ++c) w[c] -= factor * d[c];
        } else {
            for (std::uint32_t k = 0; k < at.n; ++k) w[k] -= factor * d[label[k]];
        }
    }
}

// lambda[x, y', y] -= eta v sum_{t with this list} { sum_items weight p_t(y', y) - count [(y', y) = labels at t] }
void SgdStep::subtract_base(std::uint32_t list, double eta) {
    positions_.clear();
    for (std::int64_t t = 0; t < length_; ++t) {
        if (corpus_.base[first_ + t] == list) positions_.push_back(t);
    }
    sum_products(list);
    sum_direct(list);
    const ListPool& lists = corpus_.base_lists;
    const double* sums = sums_.data();
    for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
        const std::uint32_t x = lists.id(e);
        const double factor = eta * lists.value(e);
        double* w = w_.data() + features_.n_unigram() + features_.bigram_ptr[x];
        for_each_place(features_.bigram_pairs_of(x), potentials_.pairs_of_list(list),
                       [&](std::size_t k, std::size_t place) { w[k] -= factor * sums[place]; });
    }
}

// sums(y', y) = E(y', y) sum_t alpha_{t-1}(y') v_t(y) over the positions of a base list, for the pairs with a feature;
// E(start, y) v_0(y) after the start label.
void SgdStep::sum_products(std::uint32_t list) {
    left_.clear();
    right_.clear();
    start_.clear();
    for (std::size_t k = 0; k < item_weight_.size(); ++k) {
        if (lattices_[k].logarithmic) continue;
        for (const std::int64_t t : positions_) {
            (t == 0 ? start_ : right_).push_back(lattices_[k].v + t * stride_);
            if (t > 0) left_.push_back(lattices_[k].alpha + (t - 1) * stride_);
        }
    }
    const auto Y = static_cast<std::size_t>(n_labels_), Yp = static_cast<std::size_t>(stride_);
    const LabelPairs numbers(n_labels_);
    const std::span<const std::uint32_t> pairs = potentials_.pairs_of_list(list);
    const std::size_t inner = numbers.count_inner(pairs);
    const Transition& transition = potentials_.transition_of_list(list);
    const double* e = transition.renewed();
    sums_.assign(pairs.size(), 0.0);
    double* sums = sums_.data();
    if (left_.empty()) {
    } else if (transition.dense()) {
        std::fill(products_.begin(), products_.end(), 0.0);
        kernels().rank_update(left_.data(), right_.data(), left_.size(), 0, n_labels_, stride_, products_.data());
        if (inner == numbers.n_inner()) {
            for (std::size_t i = 0; i < Y; ++i) {
                for (std::size_t y = 0; y < Y; ++y) sums[i * Y + y] = e[i * Y + y] * products_[i * Yp + y];
            }
        } else {
            for_each_pair(pairs.first(inner), n_labels_,
                          [&](std::size_t k, std::size_t i, std::size_t y) { sums[k] = e[k] * products_[i * Yp + y]; });
        }
    } else {
        for_each_pair(pairs.first(inner), n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
            double sum = 0.0;
            for (std::size_t r = 0; r < left_.size(); ++r) sum += left_[r][i] * right_[r][y];
            sums[k] = e[k] * sum;
        });
    }
    for (const double* v : start_) {
        for (std::size_t k = inner; k < pairs.size(); ++k) sums[k] += e[k] * v[numbers.start_label(pairs[k])];
    }
}

// What is not such a product: the labels of the sequence, what a rest list adds to the pairs of the base matrix, and
// whole positions in the log domain.
void SgdStep::sum_direct(std::uint32_t list) {
    const std::span<const std::uint32_t> pairs = potentials_.pairs_of_list(list);
    const auto add = [&](std::uint32_t pair, double amount) {
        const auto found = std::lower_bound(pairs.begin(), pairs.end(), pair);
        if (found != pairs.end() && *found == pair) sums_[static_cast<std::size_t>(found - pairs.begin())] += amount;
    };
    for (const std::int64_t t : positions_) {
        if (count_ != 0.0) add(pair_of_labels(t), -count_);
        for (std::size_t k = 0; k < item_weight_.size(); ++k) {
            const Lattice& lattice = lattices_[k];
            if (lattice.logarithmic) {
                const std::span<const std::uint32_t> here = LabelPairs(n_labels_).at(pairs, t == 0);
                double* sums = sums_.data() + (here.data() - pairs.data());
                recursion_.pair_marginals(lattice, t, here,
                                          [&](std::size_t i, double p) { sums[i] += item_weight_[k] * p; });
            } else {
                lattice.rest.for_each_extra(
                    t, [&](std::uint32_t pair, double extra, double) { add(pair, item_weight_[k] * extra); });
            }
        }
    }
}

// The same step for the rest list of one position, whose pairs the recursion has looked at one by one.
void SgdStep::subtract_rest(std::int64_t t, double eta) {
    const ListPool& lists = corpus_.rest_lists;
    const std::uint32_t list = corpus_.rest[first_ + t];
    const RestPairs& rest = lattices_.front().rest;  // the same pairs for every item
    const std::uint32_t* pairs = features_.bigram_pair.data();
    for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
        std::int64_t begin = features_.bigram_ptr[lists.id(e)], end = features_.bigram_ptr[lists.id(e) + 1];
        (t == 0 ? begin : end) = begin + static_cast<std::int64_t>(
                                             LabelPairs(n_labels_).count_inner(features_.bigram_pairs_of(lists.id(e))));
        const double factor = eta * lists.value(e);
        std::int64_t r = rest.ptr[t];
        for (std::int64_t k = begin; k < end; ++k) {
            while (rest.pair[r] < pairs[k]) ++r;
            double difference = count_ != 0.0 && pairs[k] == pair_of_labels(t) ? -count_ : 0.0;
            for (std::size_t i = 0; i < item_weight_.size(); ++i) {
                difference += item_weight_[i] * lattices_[i].rest.p[static_cast<std::size_t>(r)];
            }
            w_[features_.n_unigram() + k] -= factor * difference;
        }
    }
}

double SgdStep::loss(std::span<const Item> items) {
    if (items.empty()) return 0.0;
    infer(items, false);
    double sum = 0.0;
    for (std::size_t k = 0; k < items.size(); ++k) sum += item_weight_[k] * lattices_[k].log_z;
    return count_ == 0.0 ? sum : sum - count_ * path_score(lattices_.front());
}

// w.F of the labels of the sequence, which are all known.
double SgdStep::path_score(const Lattice& lattice) const {
    AlignedVector<double> scratch(static_cast<std::size_t>(stride_));
    double sum = 0.0;
    for (std::int64_t t = 0; t < length_; ++t) {
        const std::int32_t y = corpus_.labels[first_ + t];
        const Transition& transition = potentials_.transition(first_ + t);
        sum += potentials_.scores(first_ + t, scratch.data())[y];
        sum += t == 0 ? transition.start_score()[y] : transition.score(corpus_.labels[first_ + t - 1], y);
        const auto begin = lattice.rest.pair.begin() + lattice.rest.ptr[t];
        const auto end = lattice.rest.pair.begin() + lattice.rest.ptr[t + 1];
        const auto found = std::lower_bound(begin, end, pair_of_labels(t));
        if (found == end || *found != pair_of_labels(t)) continue;
        sum += lattice.rest.delta[static_cast<std::size_t>(found - lattice.rest.pair.begin())];
    }
    return sum;
}

}  // namespace sparsecrf
