#include "potentials.hpp"

#include <algorithm>
#include <limits>

#include "parallel.hpp"

namespace sparsecrf {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// a += value * (pairs, w), both ascending; `scratch` holds the result before the swap.
void merge(PairScores& a, std::span<const std::uint32_t> pairs, const double* w, double value, bool keep_zeros,
           PairScores& scratch) {
    scratch.clear();
    std::size_t i = 0;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        const double score = value * w[k];
        if (!keep_zeros && score == 0.0) continue;
        while (i < a.pair.size() && a.pair[i] < pairs[k]) {
            scratch.pair.push_back(a.pair[i]);
            scratch.score.push_back(a.score[i++]);
        }
        const bool both = i < a.pair.size() && a.pair[i] == pairs[k];
        scratch.pair.push_back(pairs[k]);
        scratch.score.push_back(both ? a.score[i++] + score : score);
    }
    scratch.pair.insert(scratch.pair.end(), a.pair.begin() + static_cast<std::ptrdiff_t>(i), a.pair.end());
    scratch.score.insert(scratch.score.end(), a.score.begin() + static_cast<std::ptrdiff_t>(i), a.score.end());
    std::swap(a, scratch);
}

}  // namespace

Potentials::Potentials(const Corpus& corpus, const FeatureSet& features, std::span<const double> w,
                       const UnigramRows& rows, const ListPool& lists, Kernel kernel, int threads,
                       const std::uint8_t* forbidden, bool keep_zeros)
    : corpus_(corpus),
      features_(features),
      w_(w),
      rows_(rows),
      lists_(lists),
      kernel_(kernel),
      n_labels_(corpus.n_labels),
      stride_(padded(corpus.n_labels)),
      forbidden_(forbidden),
      kept_(keep_zeros ? corpus.base_lists.size() : 0) {
    tabulate_unigrams(threads);
    tabulate_transitions(threads);
}

void Potentials::tabulate_unigrams(int threads) {
    const std::int64_t n = lists_.size();
    if (4 * n > corpus_.n_tokens()) return;
    score_table_.resize(static_cast<std::size_t>(n * stride_));
    exp_table_.resize(score_table_.size());
    low_.resize(static_cast<std::size_t>(n));
    high_.resize(static_cast<std::size_t>(n));
    parallel_for(n, threads, 64, [&](int, std::int64_t list) { tabulate_unigram(list); });
}

void Potentials::tabulate_unigram(std::int64_t list) {
    double* s = score_table_.data() + list * stride_;
    rows_.score(lists_, static_cast<std::uint32_t>(list), s);
    kernels().range(s, stride_, &low_[list], &high_[list]);
    kernels().exp_shifted(s, high_[list], stride_, exp_table_.data() + list * stride_);
}

void Potentials::refresh(std::span<const std::uint32_t> unigram_lists, std::span<const std::uint32_t> base_lists) {
    if (!score_table_.empty()) {
        for (const std::uint32_t list : unigram_lists) tabulate_unigram(list);
    }
    for (const std::uint32_t list : base_lists) kept_.empty() ? tabulate_transition(list) : renew_transition(list);
}

const double* Potentials::scores(std::int64_t position, double* scratch) const {
    const std::uint32_t list = corpus_.unigram[position];
    if (!score_table_.empty()) return score_table_.data() + static_cast<std::int64_t>(list) * stride_;
    rows_.score(lists_, list, scratch);
    return scratch;
}

const double* Potentials::exp_scores(std::int64_t position, double* low, double* high) const {
    if (exp_table_.empty()) return nullptr;
    const std::uint32_t list = corpus_.unigram[position];
    *low = low_[list];
    *high = high_[list];
    return exp_table_.data() + static_cast<std::int64_t>(list) * stride_;
}

void Potentials::gather(const ListPool& lists, std::uint32_t list, Pairs pairs, bool keep_zeros,
                        PairScores& out) const {
    thread_local PairScores scratch;
    out.clear();
    const auto inner = static_cast<std::uint32_t>(n_labels_) * static_cast<std::uint32_t>(n_labels_);
    const double* w = w_.data() + features_.n_unigram();
    for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
        const std::uint32_t x = lists.id(k);
        std::int64_t begin = features_.bigram_ptr[x], end = features_.bigram_ptr[x + 1];
        if (begin == end) continue;
        if (pairs != Pairs::all) {
            const std::uint32_t* first = features_.bigram_pair.data();
            const std::int64_t split = std::lower_bound(first + begin, first + end, inner) - first;
            (pairs == Pairs::start ? begin : end) = split;
        }
        merge(out, {features_.bigram_pair.data() + begin, static_cast<std::size_t>(end - begin)}, w + begin,
              lists.value(k), keep_zeros, scratch);
    }
}

void Potentials::rest(std::int64_t position, Pairs pairs, bool keep_zeros, PairScores& out) const {
    gather(corpus_.rest_lists, corpus_.rest[position], pairs, keep_zeros, out);
}

void Potentials::gather_base(std::uint32_t list, Pairs pairs, bool keep_zeros, PairScores& out) const {
    gather(corpus_.base_lists, list, pairs, keep_zeros, out);
}

void Potentials::tabulate_transitions(int threads) {
    if (forbidden_ != nullptr) {
        const auto cells = static_cast<std::uint32_t>(n_labels_ + 1) * static_cast<std::uint32_t>(n_labels_);
        for (std::uint32_t pair = 0; pair < cells; ++pair) {
            if (forbidden_[pair] == 0) continue;
            forbidden_scores_.pair.push_back(pair);
            forbidden_scores_.score.push_back(-kInfinity);
        }
    }
    transitions_.resize(corpus_.base_lists.size());
    parallel_for(corpus_.base_lists.size(), threads, 1, [&](int, std::int64_t list) { tabulate_transition(list); });
}

void Potentials::tabulate_transition(std::int64_t list) {
    PairScores scores, scratch;
    gather_base(static_cast<std::uint32_t>(list), Pairs::all, !kept_.empty(), scores);
    if (!kept_.empty()) {
        Kept& kept = kept_[static_cast<std::size_t>(list)];
        kept.pair = scores.pair;
        kept.score.assign(static_cast<std::size_t>(padded(static_cast<int>(scores.pair.size()))), 0.0);
    }
    if (forbidden_ != nullptr) {
        merge(scores, forbidden_scores_.pair, forbidden_scores_.score.data(), 1.0, true, scratch);
    }
    transitions_[static_cast<std::size_t>(list)].assign(n_labels_, std::move(scores), kernel_,
                                                        corpus_.base_lists.size() - 1);  // without the empty list
}

void Potentials::renew_transition(std::uint32_t list) {
    Kept& kept = kept_[list];
    const ListPool& lists = corpus_.base_lists;
    double* score = kept.score.data();
    std::fill(kept.score.begin(), kept.score.end(), 0.0);
    for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
        const std::uint32_t x = lists.id(e);
        const double value = lists.value(e);
        const double* w = w_.data() + features_.n_unigram() + features_.bigram_ptr[x];
        for_each_place(features_.bigram_pairs_of(x), kept.pair,
                       [&](std::size_t k, std::size_t place) { score[place] += value * w[k]; });
    }
    transitions_[list].renew(kept.pair, kept.score.data());
}

}  // namespace sparsecrf
