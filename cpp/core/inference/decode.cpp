#include "core/inference/decode.hpp"

#include <algorithm>
#include <queue>

#include "core/base/compensated_sum.hpp"
#include "core/base/error.hpp"
#include "core/base/infinity.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

[[noreturn]] void unsatisfiable(const Lattice& lattice, std::int64_t t) {
    throw UnsatisfiableError("sequence ", lattice.sequence, ", position ", t,
                             ": no label sequence up to here meets the constraints");
}

// out(y') = lambda(y', y) of base and rest lists at position t > 0.
void column_scores(const Potentials& potentials, const Lattice& lattice, std::int64_t t, int y, double* out) {
    potentials.transition(lattice.first + t).column_scores(y, out);
    const RestPairs& rest = lattice.rest;
    const LabelPairs pairs(potentials.n_labels());
    for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
        if (pairs.label(rest.pair[k]) == static_cast<std::uint32_t>(y))
            out[pairs.previous(rest.pair[k])] += rest.delta[k];
    }
}

// Calls add(t, term) for each term of score_t(y_{t-1}, y_t) at each position t of sequence i: unigram scores, the pair
// scores of the base and rest lists, and label n-grams, if any. labels: [P] of the whole corpus.
template <class Add>
void add_scores(const Potentials& potentials, std::int64_t i, const std::int32_t* labels, Add add) {
    const Corpus& corpus = potentials.corpus();
    AlignedVector<double> scratch(static_cast<std::size_t>(potentials.stride()));
    PairScores rest;
    const LabelPairs pairs(corpus.n_labels);
    auto previous = static_cast<std::int32_t>(pairs.start());
    for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
        const std::int32_t y = labels[t];
        if (!is_known(y)) throw InputError(corpus.where(t), ": expected a label, found none");
        const bool first = t == corpus.offsets[i];
        const Transition& transition = potentials.transition(t);
        add(t, potentials.scores(t, scratch.data())[y]);
        add(t, first ? transition.start_score()[y] : transition.score(previous, y));
        if (potentials.has_rest(t)) {
            potentials.rest(t, first ? Pairs::start : Pairs::inner, false, rest);
            const std::uint32_t pair = pairs.pair(static_cast<std::uint32_t>(previous), static_cast<std::uint32_t>(y));
            const auto found = std::lower_bound(rest.pair.begin(), rest.pair.end(), pair);
            if (found != rest.pair.end() && *found == pair)
                add(t, rest.score[static_cast<std::size_t>(found - rest.pair.begin())]);
        }
        if (potentials.ngrams() != nullptr) {
            const std::int64_t begin = corpus.offsets[i];
            add(t, ngram_score(*potentials.ngrams(), t, labels + begin, t - begin));
        }
        previous = y;
    }
}

}  // namespace

double path_score(const Potentials& potentials, std::int64_t i) {
    CompensatedSum sum;
    add_scores(potentials, i, potentials.corpus().labels.data(), [&](std::int64_t, double score) { sum.add(score); });
    return sum.value();
}

void token_scores(const Potentials& potentials, std::int64_t i, const std::int32_t* labels, double* out) {
    const Corpus& corpus = potentials.corpus();
    std::fill(out + corpus.offsets[i], out + corpus.offsets[i + 1], 0.0);
    add_scores(potentials, i, labels, [&](std::int64_t t, double score) { out[t] += score; });
}

// epsilon_{t+1}(y) = max_{y'} { epsilon_t(y') + lambda(y', y) } + mu(y)
double best_path(const Potentials& potentials, Recursion& recursion, Lattice& lattice, std::int32_t* labels) {
    if (potentials.ngrams() != nullptr) return best_ngram_path(potentials, recursion, lattice, labels);
    const int Y = potentials.n_labels(), stride = potentials.stride();
    recursion.gather_rest(lattice);
    const LabelPairs pairs(Y);
    const RestPairs& rest = lattice.rest;
    thread_local std::vector<int> order;
    thread_local AlignedVector<double> column;
    thread_local std::vector<std::int64_t> corrected;  // the last t for which a column was recomputed
    column.assign(static_cast<std::size_t>(stride), -kInfinity);
    corrected.assign(static_cast<std::size_t>(Y), 0);
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        double* epsilon = lattice.alpha + t * stride;
        const double* previous = epsilon - stride;
        if (t == 0) {
            std::copy_n(recursion.start_scores(lattice), stride, epsilon);
        } else {
            potentials.transition(lattice.first + t).best(previous, epsilon, order);
            // Recompute every column with corrected pairs once.
            for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
                const std::uint32_t y = pairs.label(rest.pair[k]);
                if (corrected[y] == t) continue;
                corrected[y] = t;
                column_scores(potentials, lattice, t, static_cast<int>(y), column.data());
                epsilon[y] = -kInfinity;
                for (int i = 0; i < Y; ++i) epsilon[y] = std::max(epsilon[y], previous[i] + column[i]);
            }
        }
        const double* s = recursion.constrained_scores(lattice, t);
        for (int y = 0; y < stride; ++y) epsilon[y] += s[y];
    }
    const auto best_at = [&](std::int64_t t) { return kernels().largest(lattice.alpha + t * stride, stride); };
    int y = best_at(lattice.length - 1);
    const double score = lattice.alpha[(lattice.length - 1) * stride + y];
    if (score == -kInfinity) {  // all scores are -infinity from some position on
        std::int64_t t = 0;
        while (lattice.alpha[t * stride + best_at(t)] > -kInfinity) ++t;
        unsatisfiable(lattice, t);
    }
    for (std::int64_t t = lattice.length - 1; t >= 0; --t) {
        labels[t] = static_cast<std::int32_t>(y);
        if (t == 0) break;
        const double* previous = lattice.alpha + (t - 1) * stride;
        column_scores(potentials, lattice, t, static_cast<int>(y), column.data());
        for (int i = 0; i < Y; ++i) column[i] += previous[i];
        y = kernels().largest(column.data(), stride);
    }
    return score;
}

std::vector<Labelling> best_paths(const Potentials& potentials, Recursion& recursion, Lattice& lattice,
                                  std::int64_t k) {
    struct Prefix {
        double score;
        std::int32_t previous, rank;  // last label and rank of the prefix that this prefix extends
    };
    if (potentials.ngrams() != nullptr) return best_ngram_paths(potentials, recursion, lattice, k);
    const int Y = potentials.n_labels();
    recursion.gather_rest(lattice);
    // prefixes[t Y + y], best first
    std::vector<std::vector<Prefix>> prefixes(static_cast<std::size_t>(lattice.length * Y));
    const auto worse = [](const Prefix& a, const Prefix& b) {
        if (a.score != b.score) return a.score < b.score;
        return a.previous != b.previous ? a.previous > b.previous : a.rank > b.rank;
    };
    std::vector<double> column(static_cast<std::size_t>(Y));
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        bool alive = false;
        const double* s = recursion.constrained_scores(lattice, t);
        const double* start = t == 0 ? recursion.start_scores(lattice) : nullptr;
        for (int y = 0; y < Y; ++y) {
            auto& out = prefixes[static_cast<std::size_t>(t * Y + y)];
            if (s[y] == -kInfinity) continue;
            if (t == 0) {
                if (start[y] > -kInfinity) out.push_back({start[y] + s[y], Y, 0});
            } else {
                column_scores(potentials, lattice, t, y, column.data());
                const auto* before = prefixes.data() + (t - 1) * Y;
                std::priority_queue<Prefix, std::vector<Prefix>, decltype(worse)> queue(worse);
                for (int i = 0; i < Y; ++i) {
                    if (!before[i].empty() && column[i] > -kInfinity)
                        queue.push({before[i][0].score + column[i], i, 0});
                }
                while (!queue.empty() && static_cast<std::int64_t>(out.size()) < k) {
                    const Prefix next = queue.top();
                    queue.pop();
                    out.push_back({next.score + s[y], next.previous, next.rank});
                    const auto& source = before[next.previous];
                    if (next.rank + 1 < static_cast<std::int32_t>(source.size())) {
                        queue.push({source[next.rank + 1].score + column[next.previous], next.previous, next.rank + 1});
                    }
                }
            }
            alive = alive || !out.empty();
        }
        if (!alive) unsatisfiable(lattice, t);
    }
    // The ends of all paths, best first; ties go to the smallest label.
    std::vector<Prefix> ends;
    for (int y = 0; y < Y; ++y) {
        const auto& last = prefixes[static_cast<std::size_t>((lattice.length - 1) * Y + y)];
        for (std::size_t r = 0; r < last.size(); ++r) ends.push_back({last[r].score, y, static_cast<std::int32_t>(r)});
    }
    std::sort(ends.begin(), ends.end(), [&](const Prefix& a, const Prefix& b) { return worse(b, a); });
    std::vector<Labelling> paths(std::min(ends.size(), static_cast<std::size_t>(k)));
    for (std::size_t p = 0; p < paths.size(); ++p) {
        paths[p].score = ends[p].score;
        paths[p].labels.resize(static_cast<std::size_t>(lattice.length));
        std::int32_t y = ends[p].previous, rank = ends[p].rank;
        for (std::int64_t t = lattice.length - 1; t >= 0; --t) {
            paths[p].labels[static_cast<std::size_t>(t)] = y;
            const Prefix& prefix = prefixes[static_cast<std::size_t>(t * Y + y)][static_cast<std::size_t>(rank)];
            y = prefix.previous;
            rank = prefix.rank;
        }
    }
    return paths;
}

}  // namespace sparsecrf
