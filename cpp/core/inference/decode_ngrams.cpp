// Viterbi with label n-grams: over the states of recursion_ngrams_log.cpp, where a history may be the best prefix only
// among those that share it.
#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/infinity.hpp"
#include "core/inference/decode.hpp"
#include "core/inference/ngram_moves.hpp"

namespace sparsecrf {

double ngram_score(const NgramTables& tables, std::int64_t position, const std::int32_t* path, std::int64_t t) {
    const NgramPlace* place = tables.at(position);
    double score = 0.0;
    if (place == nullptr) return score;
    tables.places.features().strings.for_each_suffix(path, t, [&](std::uint32_t string) {
        const std::uint32_t arc = place->arcs->arc_of(string);
        if (arc != kNoString) score = place->arcs->log_x[arc];  // the longest has the scores of all
    });
    return score;
}

// epsilon_{t+1}(q) = max over moves (r, a) to q of  epsilon_t(r) + lambda(y', a) + log X  + mu(a)
double best_ngram_path(const Potentials& potentials, Recursion& recursion, Lattice& lattice, std::int32_t* labels) {
    struct Back {
        std::uint32_t state, label;  // before, and the label of the move
    };
    std::vector<double> epsilon{0.0}, next;
    std::vector<std::vector<Back>> back(static_cast<std::size_t>(lattice.length));
    NgramMoves moves(potentials.n_labels());
    recursion.gather_rest(lattice);
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        const double* lambda = t == 0 ? recursion.start_scores(lattice) : recursion.dense_scores(lattice, t);
        const double* s = recursion.constrained_scores(lattice, t);
        moves.lay(potentials.ngrams()->at(lattice.first + t), t == 0);
        next.assign(moves.n_after(), -kInfinity);
        std::vector<Back>& from = back[static_cast<std::size_t>(t)];
        from.assign(moves.n_after(), Back{0, 0});
        for (std::uint32_t r = 0; r < moves.n_before(); ++r) {
            if (epsilon[r] == -kInfinity) continue;
            const double* row =
                t == 0 ? lambda : lambda + std::size_t{moves.label(r)} * static_cast<std::size_t>(potentials.stride());
            moves.for_each(r, [&](std::uint32_t a, std::uint32_t, double log_x, std::uint32_t target) {
                const double score = epsilon[r] + row[a] + log_x + s[a];
                if (score > next[target]) {
                    next[target] = score;
                    from[target] = {r, a};
                }
            });
        }
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

}  // namespace sparsecrf
