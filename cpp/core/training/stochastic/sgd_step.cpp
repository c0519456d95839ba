#include "core/training/stochastic/sgd_step.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/parallel.hpp"
#include "core/base/prefetch.hpp"

namespace sparsecrf {
namespace {

std::shared_ptr<NgramTables> ngram_tables(const Corpus& corpus, const FeatureSet& features) {
    auto tables = NgramTables::of(corpus, features);
    if (tables != nullptr) tables->together = false;  // a step does not process sequences side by side
    return tables;
}

}  // namespace

SgdStep::SgdStep(const Corpus& corpus, const Plan& plan, const FeatureSet& features, std::span<double> w, Kernel kernel,
                 std::size_t most, int threads, double order_factor)
    : corpus_(corpus),
      features_(features),
      w_(w),
      n_labels_(corpus.n_labels),
      threads_(std::min(threads, static_cast<int>(most))),
      rows_(features, w, true),
      pairs_(corpus, features),
      potentials_(corpus, corpus.unigram_lists, kernel, threads_, &pairs_),
      ngrams_(ngram_tables(corpus, features)),
      sequences_(most),
      factor_(most),
      shares_(static_cast<std::size_t>(threads_)),
      unigram_lists_(corpus.unigram_lists.size()),
      base_lists_(corpus.base_lists.size()),
      ngram_arcs_(ngrams_ == nullptr ? 0 : ngrams_->places->n_arcs()),
      ngram_kinds_(ngrams_ == nullptr ? 0 : ngrams_->kinds.size()) {
    potentials_.assign(features, w, rows_, true);
    potentials_.assign_ngrams(ngrams_);
    for (const std::uint32_t s : features.ngram_string) {
        ngram_factor_.push_back(std::pow(order_factor, features.strings.length(s) - 2.0));
    }
    inference_.reserve(shares_.size());
    for (int k = 0; k < threads_; ++k) inference_.emplace_back(corpus, plan, potentials_, features.parts.get());
}

void SgdStep::settle_all(LazyWeights& weights) const {
    for (std::uint32_t x = 0; x < corpus_.n_attributes; ++x) {
        weights.settle(x, features_.unigram_ptr[x], features_.unigram_ptr[x + 1]);
        settle_strings(x, weights);
    }
}

void SgdStep::step(std::span<const Items> sequences, std::span<const double> eta, LazyWeights& weights, double n) {
    const auto each_share = [&](auto body) {
        parallel_for(threads_, threads_, 1, [&](int, std::int64_t share) { body(static_cast<std::size_t>(share)); });
    };
    // Brings the weights of the features that occur, and everything computed from them, up to date.
    find_lists(sequences);
    each_share([&](std::size_t share) { settle(share, sequences, weights); });
    potentials_.refresh(unigram_lists_.found, base_lists_.found);
    if (ngrams_ != nullptr) potentials_.refresh_ngrams(ngram_arcs_.found, ngram_kinds_.found);
    parallel_for(static_cast<std::int64_t>(sequences.size()), threads_, 1, [&](int thread, std::int64_t i) {
        const auto k = static_cast<std::size_t>(i);
        inference_[static_cast<std::size_t>(thread)].gradient(sequences[k], sequences_[k]);
    });
    // Weights are in units of S before these steps, where S is the product of all decays (lazy_weights.hpp).
    const double before = weights.scale();
    for (std::size_t k = 0; k < sequences.size(); ++k) {
        const double decayed = before / weights.scale();
        factor_[k] = decayed * weights.advance(eta[k], n);
    }
    each_share([&](std::size_t share) { subtract(share, sequences.size()); });
}

void SgdStep::find_lists(std::span<const Items> sequences) {
    unigram_lists_.clear();
    base_lists_.clear();
    ngram_arcs_.clear();
    ngram_kinds_.clear();
    for (const Items& items : sequences) {
        const std::int64_t i = items.front().sequence;
        for (std::int64_t t = corpus_.offsets[i]; t < corpus_.offsets[i + 1]; ++t) {
            if (potentials_.tabulates_unigrams()) unigram_lists_.add(corpus_.unigram[t]);
            if (corpus_.base[t] != 0) base_lists_.add(corpus_.base[t]);
            if (ngrams_ == nullptr || ngrams_->at(t) == nullptr) continue;
            ngram_arcs_.add(ngrams_->at(t)->arcs_id);
            ngram_kinds_.add(ngrams_->kind_of[static_cast<std::size_t>(t)]);
        }
    }
}

void SgdStep::settle(std::size_t share, std::span<const Items> sequences, LazyWeights& weights) {
    std::vector<Occurrence>& occurrences = shares_[share];
    occurrences.clear();
    const ListPool& unigrams = corpus_.unigram_lists;
    for (std::uint32_t k = 0; k < sequences.size(); ++k) {
        const std::int64_t i = sequences[k].front().sequence, first = corpus_.offsets[i];
        const std::size_t n_before = occurrences.size();
        for (std::int64_t t = first; t < corpus_.offsets[i + 1]; ++t) {
            for (std::int64_t e = unigrams.begin(corpus_.unigram[t]); e < unigrams.end(corpus_.unigram[t]); ++e) {
                const std::uint32_t x = unigrams.id(e);
                if (!owns(share, x) || !rows_.has(x)) continue;
                occurrences.push_back({0, 0, x, static_cast<std::uint32_t>(t - first), k, unigrams.value(e)});
                prefetch(features_.unigram_ptr.data() + x);
                weights.prefetch_row(x);
            }
            settle_list(share, corpus_.rest_lists, corpus_.rest[t], weights);
        }
        settle_unigrams(std::span(occurrences).subspan(n_before), weights);
    }
    for (const std::uint32_t list : base_lists_.found) settle_list(share, corpus_.base_lists, list, weights);
}

// The data of an attribute are scattered in memory, so they are prefetched for all attributes before use.
void SgdStep::settle_unigrams(std::span<Occurrence> occurrences, LazyWeights& weights) {
    for (Occurrence& at : occurrences) {
        at.begin = features_.unigram_ptr[at.x];
        at.n = static_cast<std::uint32_t>(features_.unigram_ptr[at.x + 1] - at.begin);
        weights.prefetch_weights(at.begin);
    }
    for (const Occurrence& at : occurrences) {
        if (weights.settle(at.x, at.begin, at.begin + at.n)) rows_.update(features_, w_, at.x);
    }
}

void SgdStep::settle_list(std::size_t share, const ListPool& lists, std::uint32_t list, LazyWeights& weights) const {
    for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
        if (owns(share, lists.id(e))) settle_strings(lists.id(e), weights);
    }
}

void SgdStep::settle_strings(std::uint32_t x, LazyWeights& weights) const {
    const std::int64_t X = corpus_.n_attributes, n_unigram = features_.n_unigram(), first = features_.first_class();
    weights.settle(X + x, n_unigram + features_.bigram_ptr[x], n_unigram + features_.bigram_ptr[x + 1]);
    if (!features_.class_pairs_of(x).empty()) {
        weights.settle(2 * X + x, first + features_.class_ptr[x], first + features_.class_ptr[x + 1]);
    }
    if (features_.has_ngrams(x)) {
        weights.settle(3 * X + x, features_.first_ngram(), features_.ngrams_of(x), ngram_factor_);
    }
}

void SgdStep::subtract(std::size_t share, std::size_t n_sequences) {
    subtract_unigrams(share);
    for (std::size_t k = 0; k < n_sequences; ++k) {
        const SgdSequence& of = sequences_[k];
        subtract_base(share, of, factor_[k]);
        for (std::int64_t t = 0; t < of.length; ++t) {
            if (corpus_.rest[of.first + t] != 0) subtract_rest(share, of, t, factor_[k]);
            if (!of.classes.empty()) subtract_classes(share, of, t, factor_[k]);
        }
        if (ngrams_ != nullptr) subtract_ngrams(share, of, factor_[k]);
    }
}

// mu[x, y] -= eta v { sum_items weight p_t(y) - count [y = y_t] }
void SgdStep::subtract_unigrams(std::size_t share) {
    const int n_cells = features_.n_cells();
    const auto cell_stride = static_cast<std::size_t>(padded(n_cells));
    for (const Occurrence& at : shares_[share]) {
        const SgdSequence& of = sequences_[at.sequence];
        const double* d = of.by_cell + at.t * cell_stride;
        const std::uint16_t* label = features_.unigram_label.data() + at.begin;
        double* w = w_.data() + at.begin;
        const double factor = factor_[at.sequence] * at.value;
        if (static_cast<int>(at.n) == n_cells) {
            for (int c = 0; c < n_cells; ++c) w[c] -= factor * d[c];
        } else {
            for (std::uint32_t k = 0; k < at.n; ++k) w[k] -= factor * d[label[k]];
        }
    }
}

// lambda[x, y', y] -= eta v sum_{t with this list} { sum_items weight p_t(y', y) - count [(y', y) = labels at t] }
void SgdStep::subtract_base(std::size_t share, const SgdSequence& of, double eta) {
    const ListPool& lists = corpus_.base_lists;
    for (std::size_t i = 0; i < of.base_lists.size(); ++i) {
        const std::uint32_t list = of.base_lists[i];
        const double* sums = of.sums[i].data();
        for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
            const std::uint32_t x = lists.id(e);
            if (!owns(share, x)) continue;
            const double factor = eta * lists.value(e);
            double* w = w_.data() + features_.n_unigram() + features_.bigram_ptr[x];
            for_each_place(features_.bigram_pairs_of(x), potentials_.pairs_of_list(list),
                           [&](std::size_t k, std::size_t place) { w[k] -= factor * sums[place]; });
        }
    }
}

// The same for the rest list of one position, whose pairs the recursion has processed one by one.
void SgdStep::subtract_rest(std::size_t share, const SgdSequence& of, std::int64_t t, double eta) {
    const ListPool& lists = corpus_.rest_lists;
    const std::uint32_t list = corpus_.rest[of.first + t];
    const RestPairs& rest = of.lattices.front().rest;  // the pairs are the same for every item
    const std::uint32_t* pairs = features_.bigram_pair.data();
    for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
        if (!owns(share, lists.id(e))) continue;
        std::int64_t begin = features_.bigram_ptr[lists.id(e)], end = features_.bigram_ptr[lists.id(e) + 1];
        (t == 0 ? begin : end) = begin + static_cast<std::int64_t>(
                                             LabelPairs(n_labels_).count_inner(features_.bigram_pairs_of(lists.id(e))));
        const double factor = eta * lists.value(e);
        std::int64_t r = rest.ptr[t];
        for (std::int64_t k = begin; k < end; ++k) {
            while (rest.pair[r] < pairs[k]) ++r;
            double difference = of.count != 0.0 && pairs[k] == of.pair_of_labels(corpus_, t) ? -of.count : 0.0;
            for (std::size_t i = 0; i < of.item_weight.size(); ++i) {
                difference += of.item_weight[i] * of.lattices[i].rest.p[static_cast<std::size_t>(r)];
            }
            w_[features_.n_unigram() + k] -= factor * difference;
        }
    }
}

// kappa[x, c', c] -= eta v { sum_items weight p_t(c', c) - count [(c', c) = classes of the labels at t] }
void SgdStep::subtract_classes(std::size_t share, const SgdSequence& of, std::int64_t t, double eta) {
    const LabelPairs pairs = features_.parts->class_pairs();
    const double* d = of.classes.data() + static_cast<std::size_t>(t) * pairs.n_inner();
    corpus_.for_each_bigram(of.first + t, [&](std::uint32_t x, double value) {
        if (!owns(share, x)) return;
        const std::span<const std::uint32_t> row = features_.class_pairs_of(x);
        const std::size_t inner = pairs.count_inner(row);
        double* w = w_.data() + features_.first_class() + features_.class_ptr[x];
        const double factor = eta * value;
        for (std::size_t k = t == 0 ? inner : 0; k < (t == 0 ? row.size() : inner); ++k) {
            w[k] -= factor * d[t == 0 ? pairs.start_label(row[k]) : row[k]];
        }
    });
}

// theta[x, s] -= eta v { sum_items weight p_t(s) - count [the labels up to t end in s] }
void SgdStep::subtract_ngrams(std::size_t share, const SgdSequence& of, double eta) {
    double* w = w_.data() + features_.first_ngram();
    for (std::int64_t t = 0; t < of.length; ++t) {
        const NgramPlace* place = ngrams_->at(of.first + t);
        if (place == nullptr) continue;
        const double* d = of.ngrams.data() + of.ngram_ptr[static_cast<std::size_t>(t)];
        for (const NgramArcs::Term& term : place->arcs->terms) {
            if (!owns(share, features_.ngram_attribute[term.feature])) continue;
            w[term.feature] -= eta * term.value * d[term.arc];
        }
    }
}

double SgdStep::loss(std::span<const Items> sequences) {
    std::vector<double> losses(sequences.size());
    std::vector<SgdSequence> scratch(shares_.size());
    parallel_for(static_cast<std::int64_t>(sequences.size()), threads_, 4, [&](int thread, std::int64_t i) {
        const auto own = static_cast<std::size_t>(thread), k = static_cast<std::size_t>(i);
        losses[k] = inference_[own].loss(sequences[k], scratch[own]);
    });
    double sum = 0.0;
    for (const double of : losses) sum += of;
    return sum;
}

}  // namespace sparsecrf
