// What label n-grams add to the linear domain (recursion.cpp), by masses of all prefixes that end in a string. A(c) is
// such a mass, alpha(y') that of a single label; E(y', a) is of the last pair of an arc, so of all arcs that hang
// together. A position costs a few operations for each of its arcs, whatever the number of labels.
//
// Masses are differences of sums. Where one loses more than ten bits, and where terms are much larger than the
// probabilities that they add up to, the sequence is done again in the log domain.
#include <algorithm>
#include <cmath>

#include "core/inference/recursion.hpp"

namespace sparsecrf {
namespace {

constexpr double kCancelled = 0x1p-10;  // as in recursion.cpp
constexpr double kLargeTerm = 0x1p10;   // of a sum that is a probability

}  // namespace

void Recursion::open_ngrams(Lattice& lattice) {
    NgramLattice& of = lattice.ngrams;
    of.place.clear();
    const NgramTables* tables = potentials_.ngrams();
    if (tables == nullptr) return;
    of.arc_ptr.assign(1, 0);
    of.pair_ptr.assign(1, 0);
    of.history_ptr.assign(1, 0);
    bool any = false;
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        const NgramPlace* place = tables->at(lattice.first + t);
        any = any || place != nullptr;
        of.place.push_back(place);
        const auto more = [&](std::vector<std::int64_t>& ptr, std::size_t n) {
            ptr.push_back(ptr.back() + static_cast<std::int64_t>(n));
        };
        more(of.arc_ptr, place == nullptr ? 0 : place->n_arcs());
        more(of.pair_ptr, place == nullptr ? 0 : place->pair.size());
        more(of.history_ptr, place == nullptr ? 0 : place->after->size());
    }
    if (!any) of.place.clear();
    of.mass.resize(static_cast<std::size_t>(of.history_ptr.back()));
    of.p.resize(static_cast<std::size_t>(of.arc_ptr.back()));
    for (std::vector<double>* x : {&of.weight, &of.pair_p, &of.extra}) {
        x->resize(static_cast<std::size_t>(of.pair_ptr.back()));
    }
}

// For every arc, longest first, and then every pair (X = 1, A = alpha),
//     mass(c a) = A(c) X(c a) + sum over arcs d whose parent is c a of  mass(d) - A(d's history) X(c a)
// and u(a) += E(y', a) (mass(y' a) - alpha(y')). The masses stay in node_.
bool Recursion::ngrams_forward(Lattice& lattice, std::int64_t t, double* u) {
    NgramLattice& of = lattice.ngrams;
    const NgramPlace& place = *of.place[t];
    const std::size_t n = place.n_arcs(), n_pairs = place.pair.size();
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const double* before = t == 0 ? nullptr : of.mass.data() + of.history_ptr[t - 1];
    double* weight = of.weight.data() + of.pair_ptr[t];
    const Transition& transition = potentials_.transition(lattice.first + t);
    if (t > 0 && transition.dense()) {
        for (std::size_t k = 0; k < n_pairs; ++k) {
            weight[k] =
                transition.weight(static_cast<int>(place.pair_previous[k]), static_cast<int>(place.pair_label[k]));
        }
    } else {
        std::fill_n(weight, n_pairs, 1.0);
        transition.multiply(place.pair, weight);
    }
    const RestPairs& rest = lattice.rest;
    for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
        const auto found = std::lower_bound(place.pair.begin(), place.pair.end(), rest.pair[k]);
        if (found != place.pair.end() && *found == rest.pair[k])
            weight[found - place.pair.begin()] *= std::exp(rest.delta[k]);
    }
    node_.assign(n + n_pairs, 0.0);
    for (std::size_t g = 0; g < n; ++g) {
        const double mass = before[place.arc_history[g]], own = mass * place.x[g];
        const double value = own + node_[g];
        if (!(value >= kCancelled * own)) return false;
        node_[g] = value;
        node_[place.arc_parent[g]] += value - mass * place.x_parent[g];
    }
    if (t == 0) {
        std::fill_n(node_.data() + n, n_pairs, 1.0);
        return true;
    }
    std::copy_n(u, stride_, touched_.data());
    for (std::size_t k = 0; k < n_pairs; ++k) {
        const double own = alpha[place.pair_previous[k]], more = node_[n + k];
        node_[n + k] = own + more;
        if (!(own + more >= kCancelled * own)) return false;
        u[place.pair_label[k]] += weight[k] * more;
    }
    for (int y = 0; y < n_labels_; ++y) {
        if (!(u[y] >= kCancelled * touched_[y])) return false;
    }
    return true;
}

// A'(s a) = e(a) / c E(y', a) mass(s a) for the histories after t; v holds e / c.
void Recursion::ngrams_masses(Lattice& lattice, std::int64_t t) {
    NgramLattice& of = lattice.ngrams;
    const NgramPlace& place = *of.place[t];
    const std::size_t n = place.n_arcs();
    const double* weight = of.weight.data() + of.pair_ptr[t];
    const double* scaled = lattice.v + t * stride_;
    double* mass = of.mass.data() + of.history_ptr[t];
    for (std::size_t k = 0; k < place.after->size(); ++k) {
        const std::uint32_t node = place.after_node[k];
        const std::size_t pair = node < n ? place.arc_pair[node] : node - n;
        mass[k] = scaled[place.after->label[k]] * weight[pair] * node_[node];
    }
}

// With B' of the histories after t and V = X e / c B'(target) at the nodes,
//     p_t(y)  = alpha(y) beta(y) + sum over histories q that end in y of A'(q) (B'(q) - B'(its longest proper suffix))
//     p(c a)  = E(y', a) (A(c) V(c a) + R(c a)),   R(g) = sum over arcs d with parent g of A (V(d) - V(g)) + R(d)
// and likewise for pairs. dB(c) = sum over arcs c a of E (V(c a) - V(parent)) stays in new_beta_, V in node_.
bool Recursion::ngrams_marginals(Lattice& lattice, std::int64_t t, const double* beta) {
    NgramLattice& of = lattice.ngrams;
    const NgramPlace& place = *of.place[t];
    const std::size_t n = place.n_arcs(), n_pairs = place.pair.size();
    const double* v = lattice.v + t * stride_;
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const double* before = t == 0 ? nullptr : of.mass.data() + of.history_ptr[t - 1];
    const double* after = of.mass.data() + of.history_ptr[t];
    const double* weight = of.weight.data() + of.pair_ptr[t];
    double* p = lattice.p + t * stride_;
    for (std::size_t k = 0; k < place.after->size(); ++k) {
        const std::uint32_t suffix = place.after->suffix[k], y = place.after->label[k];
        const double below = suffix == kNoString ? beta[y] : history_beta_[suffix];
        if (!(after[k] * below <= kLargeTerm)) return false;
        p[y] += after[k] * (history_beta_[k] - below);
    }
    node_.resize(n + n_pairs);
    const auto onward = [&](std::size_t node, std::uint32_t y) {
        const std::uint32_t target = place.target[node];
        return target == kNoString ? v[y] : scaled_[y] * history_beta_[target];
    };
    for (std::size_t k = 0; k < n_pairs; ++k) node_[n + k] = onward(n + k, place.pair_label[k]);
    for (std::size_t g = 0; g < n; ++g) node_[g] = place.x[g] * onward(g, place.pair_label[place.arc_pair[g]]);
    node_sum_.assign(n + n_pairs, 0.0);
    new_beta_.assign(place.before->size(), 0.0);
    double* arc_p = of.p.data() + of.arc_ptr[t];
    for (std::size_t g = 0; g < n; ++g) {
        const std::uint32_t parent = place.arc_parent[g];
        const double mass = before[place.arc_history[g]], e = weight[place.arc_pair[g]];
        const double more = node_[g] - node_[parent];
        if (!(mass * e * node_[parent] <= kLargeTerm)) return false;
        arc_p[g] = e * (mass * node_[g] + node_sum_[g]);
        node_sum_[parent] += mass * more + node_sum_[g];
        new_beta_[place.arc_history[g]] += e * more;
    }
    double* pair_p = of.pair_p.data() + of.pair_ptr[t];
    double* extra = of.extra.data() + of.pair_ptr[t];
    for (std::size_t k = 0; k < n_pairs; ++k) {
        const double mass = t == 0 ? 1.0 : alpha[place.pair_previous[k]], plain = v[place.pair_label[k]];
        if (!(mass * weight[k] * plain <= kLargeTerm)) return false;
        extra[k] = weight[k] * (mass * (node_[n + k] - plain) + node_sum_[n + k]);
        pair_p[k] = weight[k] * mass * plain + extra[k];
    }
    RestPairs& rest = lattice.rest;
    for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
        const auto found = std::lower_bound(place.pair.begin(), place.pair.end(), rest.pair[k]);
        if (found == place.pair.end() || *found != rest.pair[k]) continue;
        double& more = extra[found - place.pair.begin()];
        rest.p[k] += more;
        rest.extra[k] += more;
        more = 0.0;
    }
    return true;
}

// beta(y') += E(y', a) (V(y' a) - v(a)) for pairs that are histories after t, and B of the histories before t.
void Recursion::ngrams_backward(const Lattice& lattice, std::int64_t t, double* beta) {
    const NgramLattice& of = lattice.ngrams;
    const NgramPlace& place = *of.place[t];
    const std::size_t n = place.n_arcs();
    const double* v = lattice.v + t * stride_;
    const double* weight = of.weight.data() + of.pair_ptr[t];
    for (std::size_t k = 0; k < place.pair.size(); ++k) {
        if (place.target[n + k] == kNoString) continue;
        beta[place.pair_previous[k]] += weight[k] * (node_[n + k] - v[place.pair_label[k]]);
    }
    for (int y = 0; y < n_labels_; ++y) beta[y] = std::max(beta[y], 0.0);
    for (std::size_t k = 0; k < place.before->size(); ++k) {
        const std::uint32_t suffix = place.before->suffix[k];
        const double below = suffix == kNoString ? beta[place.before->label[k]] : new_beta_[suffix];
        new_beta_[k] = std::max(below + new_beta_[k], 0.0);
    }
    std::swap(history_beta_, new_beta_);
}

}  // namespace sparsecrf
