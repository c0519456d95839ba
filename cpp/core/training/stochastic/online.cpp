#include "core/training/stochastic/online.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/shuffle.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

void check(const Online::Options& options) {
    if (options.type < 0 || options.type > 2) throw InputError("type: expected 0, 1 or 2, found ", options.type);
    if (!(options.c > 0.0 && options.variance > 0.0 && options.gamma > 0.0)) {
        throw InputError("c, variance and gamma: expected numbers above 0, found ", options.c, ", ", options.variance,
                         " and ", options.gamma);
    }
}

}  // namespace

Online::Online(const Corpus& corpus, const FeatureSet& features, const Options& options)
    : corpus_(corpus),
      features_(features),
      options_(options),
      n_labels_(features.n_labels),
      stride_(padded(features.n_labels)),
      w_(static_cast<std::size_t>(features.size()), 0.0),
      rows_(features, w_, true),
      lambda_(static_cast<std::size_t>(n_labels_) * static_cast<std::size_t>(stride_), 0.0),
      transition_(static_cast<std::size_t>(n_labels_) * static_cast<std::size_t>(n_labels_), -1),
      delta_(w_.size(), 0.0),
      is_touched_(w_.size(), 0) {
    check(options);
    features.check_fits(corpus);
    features.check_whole_labels("online learning");
    check_corpus();
    (options.rule == Rule::arow ? variance_ : sum_).assign(w_.size(), 0.0);
    std::fill(variance_.begin(), variance_.end(), options.variance);
    const LabelPairs pairs(n_labels_);
    for (std::int64_t k = 0; k < features.n_bigram(); ++k) {
        const std::uint32_t pair = features.bigram_pair[static_cast<std::size_t>(k)];
        if (pairs.is_start(pair)) throw InputError("online learning: features of the start label are not supported");
        transition_[pair] = features.n_unigram() + k;
    }
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) longest = std::max(longest, corpus.length(i));
    const auto cells = static_cast<std::size_t>(longest) * static_cast<std::size_t>(stride_);
    score_.resize(cells);
    epsilon_.resize(cells);
    path_.resize(static_cast<std::size_t>(longest));
}

// Checks that all labels are known, that there are no weights, and that every position except the first of a sequence
// has the same bigram attribute with value 1, whose features are the transitions.
void Online::check_corpus() {
    if (!corpus_.sequence_weight.empty() || !corpus_.token_weight.empty()) {
        throw InputError("online learning: weights of sequences and tokens are not supported");
    }
    std::int64_t seen = -1;  // a position whose lists have been checked, or -1
    for (std::int64_t i = 0; i < corpus_.n_sequences(); ++i) {
        for (std::int64_t t = corpus_.offsets[i]; t < corpus_.offsets[i + 1]; ++t) {
            if (!is_known(corpus_.labels[t])) throw InputError(corpus_.where(t), ": expected a label, found none");
            if (t == corpus_.offsets[i]) continue;
            if (seen >= 0 && corpus_.base[t] == corpus_.base[seen] && corpus_.rest[t] == corpus_.rest[seen]) continue;
            const std::vector<Attribute> found = corpus_.bigram_attributes(t);
            if (seen >= 0 || found.size() != 1 || found[0].value != 1.0 ||
                features_.n_bigram() != static_cast<std::int64_t>(features_.bigram_pairs_of(found[0].id).size())) {
                throw InputError(corpus_.where(t), ": expected plain transitions for online learning, found ",
                                 found.size(), " bigram attributes");
            }
            seen = t;
        }
    }
}

std::vector<std::int64_t> Online::order(std::uint64_t seed, std::uint64_t epoch) const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(corpus_.n_sequences()));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    shuffle(order, seed, epoch);
    return order;
}

double Online::run(std::span<const std::int64_t> sequences) {
    double loss = 0.0;
    for (const std::int64_t i : sequences) {
        if (i < 0 || i >= corpus_.n_sequences()) {
            throw InputError("sequences: expected numbers from 0 to ", corpus_.n_sequences() - 1, ", found ", i);
        }
        if (corpus_.length(i) == 0) continue;
        decode(i);
        const std::int32_t* labels = corpus_.labels.data() + corpus_.offsets[i];
        int wrong = 0;
        double score = 0.0;  // score of the labels
        for (std::int64_t t = 0; t < corpus_.length(i); ++t) {
            wrong += labels[t] != path_[static_cast<std::size_t>(t)];
            score += score_[static_cast<std::size_t>(t * stride_ + labels[t])];
            if (t > 0) score += lambda_[static_cast<std::size_t>(labels[t - 1] * stride_ + labels[t])];
        }
        if (wrong > 0) {
            const double missed = best_ - score;  // score of the path minus score of the labels
            collect(i);
            if (options_.rule == Rule::perceptron) {
                update(0.0);
                loss += wrong / static_cast<double>(corpus_.length(i));
            } else {
                const bool arow = options_.rule == Rule::arow;
                const double margin = arow ? wrong : options_.error_sensitive ? std::sqrt(wrong) : 1.0;
                update(missed + margin);
                loss += missed + margin;
            }
            apply();
        }
        step_ += 1.0;
    }
    return loss;
}

// epsilon_{t+1}(y) = max_{y'} { epsilon_t(y') + lambda(y', y) } + mu(y), then backtrack; ties go to the smallest label.
void Online::decode(std::int64_t sequence) {
    const std::int64_t first = corpus_.offsets[sequence], T = corpus_.length(sequence);
    const Kernels& kernel = kernels();
    for (std::int64_t t = 0; t < T; ++t) {
        double* s = score_.data() + t * stride_;
        double* epsilon = epsilon_.data() + t * stride_;
        rows_.score(corpus_.unigram_lists, corpus_.unigram[first + t], s);
        if (t == 0) {
            std::copy_n(s, stride_, epsilon);
            continue;
        }
        kernel.maxplus(epsilon - stride_, lambda_.data(), n_labels_, stride_, epsilon);
        for (int y = 0; y < stride_; ++y) epsilon[y] += s[y];
    }
    const double* last = epsilon_.data() + (T - 1) * stride_;
    std::int64_t y = std::max_element(last, last + n_labels_) - last;
    best_ = last[y];
    for (std::int64_t t = T - 1;; --t) {
        path_[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(y);
        if (t == 0) break;
        const double* before = epsilon_.data() + (t - 1) * stride_;
        const double* column = lambda_.data() + y;
        y = 0;
        for (int i = 1; i < n_labels_; ++i) {
            if (before[i] + column[i * stride_] > before[y] + column[y * stride_]) y = i;
        }
    }
}

// delta = F(labels) - F(path), which is zero where the two agree.
void Online::collect(std::int64_t sequence) {
    const std::int64_t first = corpus_.offsets[sequence];
    const std::int32_t* labels = corpus_.labels.data() + first;
    for (std::int64_t t = 0; t < corpus_.length(sequence); ++t) {
        const std::int32_t y = labels[t], found = path_[static_cast<std::size_t>(t)];
        if (y != found) {
            add_unigrams(corpus_.unigram[first + t], y, 1.0);
            add_unigrams(corpus_.unigram[first + t], found, -1.0);
        }
        if (t == 0) continue;
        const std::int32_t before = labels[t - 1], found_before = path_[static_cast<std::size_t>(t - 1)];
        if (y == found && before == found_before) continue;
        add(transition_[static_cast<std::size_t>(before * n_labels_ + y)], 1.0);
        add(transition_[static_cast<std::size_t>(found_before * n_labels_ + found)], -1.0);
    }
}

void Online::add(std::int64_t k, double value) {
    if (k < 0) return;
    const auto at = static_cast<std::size_t>(k);
    if (!is_touched_[at]) {
        is_touched_[at] = 1;
        touched_.push_back(at);
    }
    delta_[at] += value;
}

void Online::add_unigrams(std::uint32_t list, std::int32_t label, double sign) {
    const ListPool& lists = corpus_.unigram_lists;
    const auto y = static_cast<std::uint16_t>(label);
    for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
        const std::uint32_t x = lists.id(e);
        const auto begin = features_.unigram_label.begin() + features_.unigram_ptr[x];
        const auto end = features_.unigram_label.begin() + features_.unigram_ptr[x + 1];
        const auto found = std::lower_bound(begin, end, y);
        if (found == end || *found != y) continue;
        add(found - features_.unigram_label.begin(), sign * lists.value(e));
        attributes_.push_back(x);
    }
}

// The perceptron:      w += delta
// Passive-aggressive:  w += tau delta,             tau = cost / |delta|^2 (0), at most c (I), cost / (|delta|^2 + 1/2c)
// AROW:                w += alpha Sigma delta,     alpha = cost / (gamma + delta' Sigma delta),
//                      Sigma^-1 += delta^2 / gamma on its diagonal
void Online::update(double cost) {
    if (options_.rule == Rule::arow) {
        double spread = options_.gamma;
        for (const std::size_t k : touched_) spread += delta_[k] * delta_[k] * variance_[k];
        const double alpha = cost / spread;
        for (const std::size_t k : touched_) {
            w_[k] += alpha * variance_[k] * delta_[k];
            variance_[k] = 1.0 / (1.0 / variance_[k] + delta_[k] * delta_[k] / options_.gamma);
        }
        return;
    }
    double tau = 1.0;
    if (options_.rule == Rule::passive_aggressive) {
        double norm = 0.0;
        for (const std::size_t k : touched_) norm += delta_[k] * delta_[k];
        if (norm == 0.0) return;  // no feature distinguishes the two
        tau = options_.type == 2 ? cost / (norm + 0.5 / options_.c) : cost / norm;
        if (options_.type == 1) tau = std::min(tau, options_.c);
    }
    for (const std::size_t k : touched_) {
        w_[k] += tau * delta_[k];
        sum_[k] += tau * step_ * delta_[k];
    }
}

// Updates the copies of w and clears delta.
void Online::apply() {
    const LabelPairs pairs(n_labels_);
    const auto n_unigram = static_cast<std::size_t>(features_.n_unigram());
    for (const std::uint32_t x : attributes_) rows_.update(features_, w_, x);
    for (const std::size_t k : touched_) {
        delta_[k] = 0.0;
        is_touched_[k] = 0;
        if (k < n_unigram) continue;
        const std::uint32_t pair = features_.bigram_pair[k - n_unigram];
        lambda_[pairs.previous(pair) * static_cast<std::size_t>(stride_) + pairs.label(pair)] = w_[k];
    }
    touched_.clear();
    attributes_.clear();
}

// The mean of w over all steps. A change delta at step s affects all but the first s steps, so the mean is
// w - sum(s delta) / steps.
std::vector<double> Online::average() const {
    std::vector<double> mean = w_;
    for (std::size_t k = 0; k < sum_.size(); ++k) mean[k] -= sum_[k] / step_;
    return mean;
}

}  // namespace sparsecrf
