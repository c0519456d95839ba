// Label n-grams in the log domain, which is slower but always safe. A state after a position is a label, or a history
// of two or more labels. Each prefix belongs to the state that is its longest suffix among the states. From state r
// with the last label y',
//     score(r, a) = lambda(y', a) + log X(longest arc that is a suffix of r a) + s(a)
// and the move leads to the target of that arc or, without an arc, to the target of the pair.
#include <algorithm>
#include <cmath>

#include "core/base/compensated_sum.hpp"
#include "core/base/error.hpp"
#include "core/base/infinity.hpp"
#include "core/base/usable_memory.hpp"
#include "core/inference/log_chain.hpp"
#include "core/inference/ngrams/ngram_correction.hpp"
#include "core/inference/ngrams/ngram_moves.hpp"

namespace sparsecrf {
namespace {

double log_sum_exp(std::span<const double> x) {
    const double high = *std::max_element(x.begin(), x.end());
    if (!(high > -kInfinity)) return high;
    double sum = 0.0;
    for (const double each : x) sum += std::exp(each - high);
    return high + std::log(sum);
}

// Checks the memory for the probabilities of all label pairs.
void check_memory(std::int64_t length, std::size_t n_labels) {
    static const double most = static_cast<double>(usable_memory() / 3);
    const double bytes = 8.0 * static_cast<double>(length) * static_cast<double>(n_labels * n_labels);
    constexpr double kGigabyte = 1e9;
    if (bytes <= most) return;
    throw InputError(message("label n-grams: expected a sequence whose label pairs take at most ", most / kGigabyte,
                             " GB, a third of the memory, found one of ", length, " tokens and ", n_labels,
                             " labels; cut it into shorter ones"));
}

// into[k] = log(exp(into[k]) + exp(x))
void log_add(double& into, double x) {
    if (x == -kInfinity) return;
    const double high = std::max(into, x);
    into = high + std::log1p(std::exp(std::min(into, x) - high));
}

}  // namespace

void LogChain::forward_ngrams(LatticeScores& scores, Lattice& lattice) {
    CompensatedSum log_z;
    lattice.ngrams.logarithmic = true;
    lay_ngrams(lattice.ngrams);
    log_mass_.resize(static_cast<std::size_t>(lattice.length));
    NgramMoves moves(n_labels_);
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        const double* lambda = scores.pair_scores(lattice, t);
        const double* s = scores.constrained_scores(lattice, t);
        moves.lay(lattice.ngrams.place[t], t == 0);
        std::vector<double>& to = log_mass_[static_cast<std::size_t>(t)];
        to.assign(moves.n_after(), -kInfinity);
        for (std::size_t r = 0; r < moves.n_before(); ++r) {
            const double from = t == 0 ? 0.0 : log_mass_[static_cast<std::size_t>(t) - 1][r];
            if (from == -kInfinity) continue;
            const double* row = t == 0 ? lambda : lambda + std::size_t{moves.label(r)} * stride_;
            moves.for_each(r, [&](std::uint32_t a, std::uint32_t, double log_x, std::uint32_t target) {
                log_add(to[target], from + row[a] + log_x + s[a]);
            });
        }
        const double log_c = log_sum_exp(to);
        check_log_sum(lattice, t, log_c);
        for (double& x : to) x -= log_c;
        double* scaled = lattice.v + t * stride_;  // s - log c, for backward
        for (int y = 0; y < stride_; ++y) scaled[y] = s[y] - log_c;
        log_z.add(log_c);
    }
    lattice.log_z = log_z.value();
}

void LogChain::backward_ngrams(LatticeScores& scores, Lattice& lattice) {
    NgramLattice& of = lattice.ngrams;
    const std::size_t Y = static_cast<std::size_t>(n_labels_);
    check_memory(lattice.length, Y);
    of.edge.assign(static_cast<std::size_t>(lattice.length) * Y * Y, 0.0);
    std::fill(of.extra.begin(), of.extra.end(), 0.0);
    NgramMoves moves(n_labels_);
    std::vector<double> beta, before, terms;
    for (std::int64_t t = lattice.length - 1; t >= 0; --t) {
        const NgramPlace* place = of.place[t];
        const double* lambda = scores.pair_scores(lattice, t);
        const double* s = lattice.v + t * stride_;
        const std::vector<double>& mass = log_mass_[static_cast<std::size_t>(t)];
        moves.lay(place, t == 0);
        if (t == lattice.length - 1) beta.assign(mass.size(), 0.0);
        // The probabilities of the states sum to 1; correcting the rounding at every step keeps errors from
        // accumulating.
        terms.resize(mass.size());
        for (std::size_t q = 0; q < mass.size(); ++q) terms[q] = mass[q] + beta[q];
        const double drift = log_sum_exp(terms);
        double* p = lattice.p + t * stride_;
        std::fill_n(p, stride_, 0.0);
        for (std::size_t q = 0; q < mass.size(); ++q) {
            beta[q] -= drift;
            p[q < Y ? q : place->after->label[q - Y]] += std::exp(terms[q] - drift);
        }
        double* arc_p = of.p.data() + of.arc_ptr[t];
        if (place != nullptr) std::fill_n(arc_p, place->arcs->n_arcs(), 0.0);
        double* edge = of.edge.data() + static_cast<std::size_t>(t) * Y * Y;
        before.assign(moves.n_before(), -kInfinity);
        for (std::size_t r = 0; r < moves.n_before(); ++r) {
            const double from = t == 0 ? 0.0 : log_mass_[static_cast<std::size_t>(t) - 1][r];
            const std::size_t i = moves.label(r);
            const double* row = t == 0 ? lambda : lambda + i * static_cast<std::size_t>(stride_);
            moves.for_each(r, [&](std::uint32_t a, std::uint32_t arc, double log_x, std::uint32_t target) {
                const double onward = row[a] + log_x + s[a] + beta[target];
                log_add(before[r], onward);
                const double probability = std::exp(from + onward);
                if (t > 0) edge[i * Y + a] += probability;
                if (arc != kNoString) arc_p[arc] += probability;
            });
        }
        if (place != nullptr) {  // every string that ends in an arc also ends in its parent
            const NgramArcs& arcs = *place->arcs;
            for (std::size_t g = 0; g < arcs.n_arcs(); ++g) {
                if (arcs.parent[g] < arcs.n_inner()) arc_p[arcs.n_leaves() + arcs.parent[g]] += arc_p[g];
            }
        }
        set_rest(lattice, t, lambda);
        std::swap(beta, before);
    }
}

}  // namespace sparsecrf
