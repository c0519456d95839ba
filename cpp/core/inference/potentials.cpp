#include "core/inference/potentials.hpp"

#include <algorithm>

#include "core/base/infinity.hpp"
#include "core/base/parallel.hpp"

namespace sparsecrf {
namespace {

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

// a = value * (pairs, w)
void copy(PairScores& a, std::span<const std::uint32_t> pairs, const double* w, double value, bool keep_zeros) {
    a.pair.resize(pairs.size());
    a.score.resize(pairs.size());
    std::size_t n = 0;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        a.pair[n] = pairs[k];
        a.score[n] = value * w[k];
        n += keep_zeros || a.score[n] != 0.0;
    }
    a.pair.resize(n);
    a.score.resize(n);
}

// Lists the label pairs whose classes have a score, at a first or a later position.
void expand(const ClassScores& classes, bool first, int n_labels, PairScores& out) {
    out.clear();
    const LabelPairs numbers(n_labels);
    const std::uint32_t begin = first ? numbers.n_inner() : 0, end = first ? numbers.size() : numbers.n_inner();
    for (std::uint32_t pair = begin; pair < end; ++pair) {
        const double score = classes.of(numbers.previous(pair), numbers.label(pair));
        if (score == 0.0) continue;
        out.pair.push_back(pair);
        out.score.push_back(score);
    }
}

}  // namespace

Potentials::Potentials(const Corpus& corpus, const ListPool& lists, Kernel kernel, int threads, const BasePairs* pairs,
                       const std::uint8_t* forbidden)
    : corpus_(corpus),
      lists_(lists),
      pairs_(pairs),
      kernel_(kernel),
      threads_(threads),
      n_labels_(corpus.n_labels),
      stride_(padded(corpus.n_labels)),
      forbidden_(forbidden),
      transitions_(corpus.base_lists.size()),
      scratch_(static_cast<std::size_t>(threads)) {
    for (std::uint32_t pair = 0; forbidden != nullptr && pair < LabelPairs(n_labels_).size(); ++pair) {
        if (forbidden[pair] == 0) continue;
        forbidden_scores_.pair.push_back(pair);
        forbidden_scores_.score.push_back(-kInfinity);
    }
}

void Potentials::assign(const FeatureSet& features, std::span<const double> w, const UnigramRows& rows,
                        bool keep_zeros) {
    features_ = &features;
    w_ = w;
    rows_ = &rows;
    keep_zeros_ = keep_zeros;
    if (corpus_.n_dense > 0) dense_.assign(corpus_, features, w);
    tabulate_unigrams();
    const auto n_lists = static_cast<std::int64_t>(transitions_.size());
    parallel_for(n_lists, threads_, items_at_a_time(n_lists, threads_), [&](int thread, std::int64_t list) {
        tabulate_transition(static_cast<std::uint32_t>(list), scratch_[static_cast<std::size_t>(thread)]);
    });
}

void Potentials::tabulate_unigrams() {
    const std::int64_t n = lists_.size();
    if (4 * n > corpus_.n_tokens() || corpus_.n_dense > 0) return;
    score_table_.resize(static_cast<std::size_t>(n * stride_));
    exp_table_.resize(score_table_.size());
    low_.resize(static_cast<std::size_t>(n));
    high_.resize(static_cast<std::size_t>(n));
    parallel_for(n, threads_, 64, [&](int, std::int64_t list) { tabulate_unigram(list); });
}

void Potentials::tabulate_unigram(std::int64_t list) {
    double* s = score_table_.data() + list * stride_;
    rows_->score(lists_, static_cast<std::uint32_t>(list), s);
    kernels().range(s, stride_, &low_[list], &high_[list]);
    kernels().exp_shifted(s, high_[list], stride_, exp_table_.data() + list * stride_);
}

void Potentials::refresh(std::span<const std::uint32_t> unigram_lists, std::span<const std::uint32_t> base_lists) {
    if (!score_table_.empty()) {
        parallel_for(static_cast<std::int64_t>(unigram_lists.size()), threads_, 16,
                     [&](int, std::int64_t k) { tabulate_unigram(unigram_lists[static_cast<std::size_t>(k)]); });
    }
    parallel_for(static_cast<std::int64_t>(base_lists.size()), threads_, 4, [&](int thread, std::int64_t k) {
        Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
        const std::uint32_t list = base_lists[static_cast<std::size_t>(k)];
        keep_zeros_ ? renew_transition(list, scratch) : tabulate_transition(list, scratch);
    });
}

void Potentials::refresh_ngrams(std::span<const std::uint32_t> arcs, std::span<const std::uint32_t> kinds) {
    ngrams_->places->assign(w_, threads_, arcs);
    const auto transition = [&](std::uint32_t list) -> const Transition& { return transition_of_list(list); };
    parallel_for(static_cast<std::int64_t>(kinds.size()), threads_, 4,
                 [&](int, std::int64_t k) { ngrams_->weigh_kind(kinds[static_cast<std::size_t>(k)], transition); });
}

const double* Potentials::scores(std::int64_t position, double* scratch) const {
    const std::uint32_t list = corpus_.unigram[position];
    if (!score_table_.empty()) return score_table_.data() + static_cast<std::int64_t>(list) * stride_;
    rows_->score(lists_, list, scratch);
    if (corpus_.n_dense > 0) dense_.add(corpus_, position, scratch);
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
    out.clear();
    const LabelPairs numbers(n_labels_);
    const double* w = w_.data() + features_->n_unigram();
    for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
        const std::uint32_t x = lists.id(k);
        std::int64_t begin = features_->bigram_ptr[x], end = features_->bigram_ptr[x + 1];
        if (begin == end) continue;
        if (pairs != Pairs::all) {
            const auto inner = static_cast<std::int64_t>(numbers.count_inner(features_->bigram_pairs_of(x)));
            (pairs == Pairs::start ? begin : end) = begin + inner;
        }
        const std::span row(features_->bigram_pair.data() + begin, static_cast<std::size_t>(end - begin));
        if (out.pair.empty()) {
            copy(out, row, w + begin, lists.value(k), keep_zeros);
        } else {
            thread_local PairScores scratch;
            merge(out, row, w + begin, lists.value(k), keep_zeros, scratch);
        }
    }
}

void Potentials::rest(std::int64_t position, Pairs pairs, bool keep_zeros, PairScores& out) const {
    const std::uint32_t list = corpus_.rest[position];
    gather(corpus_.rest_lists, list, pairs, keep_zeros, out);
    thread_local ClassScores classes;
    if (!gather_classes(corpus_.rest_lists, list, classes)) return;
    thread_local PairScores expanded, scratch;
    expand(classes, pairs == Pairs::start, n_labels_, expanded);
    merge(out, expanded.pair, expanded.score.data(), 1.0, true, scratch);
}

bool Potentials::gather_classes(const ListPool& lists, std::uint32_t list, ClassScores& out) const {
    out.parts = classes();
    if (out.parts == nullptr) return false;
    out.score.assign(out.parts->class_pairs().size(), 0.0);
    const double* w = w_.data() + features_->first_class();
    bool any = false;
    for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
        const std::span<const std::uint32_t> row = features_->class_pairs_of(lists.id(k));
        if (row.empty()) continue;
        any = true;
        const double* kappa = w + features_->class_ptr[lists.id(k)];
        for (std::size_t j = 0; j < row.size(); ++j) out.score[row[j]] += lists.value(k) * kappa[j];
    }
    return any;
}

const ClassScores* Potentials::add_classes(std::uint32_t list, std::span<const std::uint32_t> pairs, double* scores,
                                           Scratch& scratch) const {
    if (gather_classes(corpus_.base_lists, list, scratch.classes)) {
        for_each_pair(pairs, n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
            scores[k] += scratch.classes.of(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(y));
        });
    }
    return scratch.classes.parts == nullptr ? nullptr : &scratch.classes;
}

const double* Potentials::sum_pairs(std::uint32_t list, Scratch& scratch) const {
    const std::size_t n = pairs_->of(list).size();
    scratch.sums.resize(static_cast<std::size_t>(padded(static_cast<int>(n))));
    pairs_->sum(list, *features_, w_, scratch.sums.data());
    std::fill(scratch.sums.begin() + static_cast<std::ptrdiff_t>(n), scratch.sums.end(), 0.0);
    return scratch.sums.data();
}

void Potentials::tabulate_transition(std::uint32_t list, Scratch& scratch) {
    PairScores& scores = scratch.scores;
    if (pairs_ != nullptr) {
        copy(scores, pairs_->of(list), sum_pairs(list, scratch), 1.0, keep_zeros_);
    } else {
        gather(corpus_.base_lists, list, Pairs::all, false, scores);
    }
    const ClassScores* classes = add_classes(list, scores.pair, scores.score.data(), scratch);
    if (forbidden_ != nullptr) {
        merge(scores, forbidden_scores_.pair, forbidden_scores_.score.data(), 1.0, true, scratch.merged);
    }
    transitions_[list].assign(n_labels_, scores, kernel_, transitions_.size() - 1,  // excluding the empty list
                              classes);
}

void Potentials::renew_transition(std::uint32_t list, Scratch& scratch) {
    const std::span<const std::uint32_t> pairs = pairs_->of(list);
    sum_pairs(list, scratch);
    transitions_[list].renew(pairs, scratch.sums.data(), add_classes(list, pairs, scratch.sums.data(), scratch));
}

}  // namespace sparsecrf
