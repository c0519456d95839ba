// Viterbi with label n-grams, over the states of log_chain_ngrams.cpp. Each state keeps the best of the prefixes that
// belong to this state.
#include <algorithm>
#include <tuple>

#include "core/base/error.hpp"
#include "core/base/infinity.hpp"
#include "core/inference/decode.hpp"
#include "core/inference/ngrams/ngram_moves.hpp"

namespace sparsecrf {

double ngram_score(const NgramTables& tables, std::int64_t position, const std::int32_t* path, std::int64_t t) {
    const NgramPlace* place = tables.at(position);
    double score = 0.0;
    if (place == nullptr) return score;
    tables.places->features().strings.for_each_suffix(path, t, [&](std::uint32_t string) {
        const std::uint32_t arc = place->arcs->arc_of(string);
        if (arc != kNoString) score = place->arcs->log_x[arc];  // log X of the longest arc includes the scores of its
                                                                // suffixes
    });
    return score;
}

namespace {

struct Back {
    std::uint32_t state, label;  // the previous state, and the label of the move
};

// Computes the best prefix of every state after a position from the best prefixes before it. Only a few moves (r, a)
// have an arc. Among all states r with the last label y' and no arc for a, only the best state matters. States are
// visited from best to worst until, for every label a, some visited state has no arc for a.
class NgramStep {
   public:
    explicit NgramStep(int n_labels) : n_labels_(static_cast<std::uint32_t>(n_labels)), seen_(n_labels_, kNoString) {}

    // epsilon'(q) = max over moves (r, a) to q of  epsilon(r) + lambda(y', a) + log X  + mu(a)
    void run(const NgramMoves& moves, const std::vector<double>& epsilon, const double* lambda, std::size_t stride,
             const double* s, std::vector<double>& next, std::vector<Back>& from) {
        next.assign(moves.n_after(), -kInfinity);
        from.assign(moves.n_after(), Back{kNoString, 0});
        by_label_.assign(n_labels_ + 1, {});
        for (std::uint32_t r = 0; r < moves.n_before(); ++r) {
            if (epsilon[r] > -kInfinity) by_label_[moves.label(r)].push_back(r);
        }
        for (std::uint32_t previous = 0; previous <= n_labels_; ++previous) {
            std::vector<std::uint32_t>& states = by_label_[previous];
            if (states.empty()) continue;
            std::sort(states.begin(), states.end(), [&](std::uint32_t a, std::uint32_t b) {
                return epsilon[a] != epsilon[b] ? epsilon[a] > epsilon[b] : a < b;
            });
            const double* row = previous == n_labels_ ? lambda : lambda + previous * stride;
            const auto offer = [&](std::uint32_t r, std::uint32_t a, double log_x, std::uint32_t target) {
                const double score = epsilon[r] + row[a] + log_x + s[a];
                if (score > next[target] || (score == next[target] && r < from[target].state)) {
                    next[target] = score;
                    from[target] = {r, a};
                }
            };
            open_.resize(n_labels_);
            for (std::uint32_t a = 0; a < n_labels_; ++a) open_[a] = a;
            for (const std::uint32_t r : states) {
                moves.for_each_arc(r, seen_, offer);
                std::size_t kept = 0;
                for (const std::uint32_t a : open_) {
                    if (seen_[a] == r) {
                        open_[kept++] = a;
                    } else {
                        offer(r, a, 0.0, moves.target_of_pair(previous, a));
                    }
                }
                open_.resize(kept);
            }
            std::fill(seen_.begin(), seen_.end(), kNoString);
        }
    }

   private:
    std::uint32_t n_labels_;
    std::vector<std::vector<std::uint32_t>> by_label_;  // states before the position, by last label; start: Y
    std::vector<std::uint32_t> seen_;                   // [Y] the last state with an arc for each label
    std::vector<std::uint32_t> open_;                   // labels for which every state visited so far has an arc
};

}  // namespace

double best_ngram_path(const Potentials& potentials, Recursion& recursion, Lattice& lattice, std::int32_t* labels) {
    std::vector<double> epsilon{0.0}, next;
    std::vector<std::vector<Back>> back(static_cast<std::size_t>(lattice.length));
    NgramMoves moves(potentials.n_labels(), false);
    NgramStep step(potentials.n_labels());
    recursion.gather_rest(lattice);
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        const double* lambda = recursion.pair_scores(lattice, t);
        const double* s = recursion.constrained_scores(lattice, t);
        moves.lay(potentials.ngrams()->at(lattice.first + t), t == 0);
        step.run(moves, epsilon, lambda, static_cast<std::size_t>(potentials.stride()), s, next,
                 back[static_cast<std::size_t>(t)]);
        if (*std::max_element(next.begin(), next.end()) == -kInfinity) {
            throw UnsatisfiableError(message("sequence ", lattice.sequence, ", position ", t,
                                             ": no label sequence up to here meets the constraints"));
        }
        std::swap(epsilon, next);
    }
    auto q = static_cast<std::uint32_t>(std::max_element(epsilon.begin(), epsilon.end()) - epsilon.begin());
    const double score = epsilon[q];
    for (std::int64_t t = lattice.length - 1; t >= 0; --t) {
        labels[t] = static_cast<std::int32_t>(back[static_cast<std::size_t>(t)][q].label);
        q = back[static_cast<std::size_t>(t)][q].state;
    }
    return score;
}

// The k best prefixes of every state: each move extends the k best prefixes of its source state.
std::vector<Labelling> best_ngram_paths(const Potentials& potentials, Recursion& recursion, Lattice& lattice,
                                        std::int64_t k) {
    struct Prefix {
        double score;
        std::uint32_t state, rank, label;  // the prefix that it extends, and the new label
    };
    using Prefixes = std::vector<std::vector<Prefix>>;  // by state, best first
    const auto better = [](const Prefix& a, const Prefix& b) {
        if (a.score != b.score) return a.score > b.score;
        return std::tuple{a.state, a.rank, a.label} < std::tuple{b.state, b.rank, b.label};
    };
    const auto keep_best = [&](std::vector<Prefix>& of) {
        std::sort(of.begin(), of.end(), better);
        if (static_cast<std::int64_t>(of.size()) > k) of.resize(static_cast<std::size_t>(k));
    };
    std::vector<Prefixes> all{{{{0.0, 0, 0, 0}}}};  // prefixes before the first position, then after each position
    NgramMoves moves(potentials.n_labels());
    recursion.gather_rest(lattice);
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        const double* lambda = recursion.pair_scores(lattice, t);
        const double* s = recursion.constrained_scores(lattice, t);
        moves.lay(potentials.ngrams()->at(lattice.first + t), t == 0);
        Prefixes next(moves.n_after());
        const Prefixes& before = all.back();
        for (std::uint32_t r = 0; r < moves.n_before(); ++r) {
            const double* row =
                t == 0 ? lambda : lambda + std::size_t{moves.label(r)} * static_cast<std::size_t>(potentials.stride());
            moves.for_each(r, [&](std::uint32_t a, std::uint32_t, double log_x, std::uint32_t target) {
                const double score = row[a] + log_x + s[a];
                if (score == -kInfinity) return;
                for (std::uint32_t rank = 0; rank < before[r].size(); ++rank) {
                    next[target].push_back({before[r][rank].score + score, r, rank, a});
                }
            });
        }
        bool alive = false;
        for (std::vector<Prefix>& of : next) {
            keep_best(of);
            alive = alive || !of.empty();
        }
        if (!alive) {
            throw UnsatisfiableError(message("sequence ", lattice.sequence, ", position ", t,
                                             ": no label sequence up to here meets the constraints"));
        }
        all.push_back(std::move(next));
    }
    std::vector<Prefix> ends;
    for (std::uint32_t q = 0; q < all.back().size(); ++q) {
        for (std::uint32_t rank = 0; rank < all.back()[q].size(); ++rank) {
            ends.push_back({all.back()[q][rank].score, q, rank, 0});
        }
    }
    keep_best(ends);
    std::vector<Labelling> paths(ends.size());
    for (std::size_t p = 0; p < paths.size(); ++p) {
        paths[p].score = ends[p].score;
        paths[p].labels.resize(static_cast<std::size_t>(lattice.length));
        std::uint32_t q = ends[p].state, rank = ends[p].rank;
        for (std::int64_t t = lattice.length - 1; t >= 0; --t) {
            const Prefix& prefix = all[static_cast<std::size_t>(t) + 1][q][rank];
            paths[p].labels[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(prefix.label);
            q = prefix.state;
            rank = prefix.rank;
        }
    }
    return paths;
}

}  // namespace sparsecrf
