#include "core/inference/ngrams/ngram_correction.hpp"

#include <algorithm>
#include <cmath>

namespace sparsecrf {

void NgramCorrection::open(Lattice& lattice) const {
    NgramLattice& of = lattice.ngrams;
    of.place.clear();
    of.logarithmic = false;
    of.together = false;
    const NgramTables* tables = potentials_.ngrams();
    if (tables == nullptr) return;
    bool any = false;
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        of.place.push_back(tables->at(lattice.first + t));
        any = any || of.place.back() != nullptr;
    }
    if (any) {
        lay_ngrams(of);
    } else {
        of.place.clear();
    }
}

void NgramCorrection::open_together(Lattice& lattice, bool listed) const {
    NgramLattice& of = lattice.ngrams;
    const NgramTables& tables = *potentials_.ngrams();
    lattice.logarithmic = of.logarithmic = false;
    of.together = true;
    of.place.clear();
    for (std::vector<std::int64_t>* ptr : {&of.pair_ptr, &of.special_ptr, &of.listed_ptr}) ptr->assign(1, 0);
    const auto more = [](std::vector<std::int64_t>& ptr, std::size_t n) {
        ptr.push_back(ptr.back() + static_cast<std::int64_t>(n));
    };
    of.special_ptr.push_back(0);
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        const NgramPlace* place = tables.at(lattice.first + t);
        of.place.push_back(place);
        const bool here = place != nullptr, rest = here && lattice.rest.ptr[t] < lattice.rest.ptr[t + 1];
        more(of.pair_ptr, rest ? place->n_pairs() : 0);
        more(of.special_ptr, !here ? 0 : rest ? place->after->size() : tables.special_at(lattice.first + t).size());
        more(of.listed_ptr, here && listed ? tables.listed_at(lattice.first + t).size() : 0);
    }
    of.weight.resize(static_cast<std::size_t>(lattice.length));
    const auto resize = [](std::vector<double>& x, std::int64_t n) {
        if (x.size() < static_cast<std::size_t>(n)) x.resize(static_cast<std::size_t>(n));
    };
    resize(of.own_weight, of.pair_ptr.back());
    resize(of.special, of.special_ptr.back());
    resize(of.listed, of.listed_ptr.back());
}

void lay_ngrams(NgramLattice& of) {
    for (std::vector<std::int64_t>* ptr : {&of.arc_ptr, &of.node_ptr, &of.pair_ptr, &of.history_ptr}) ptr->assign(1, 0);
    const auto more = [](std::vector<std::int64_t>& ptr, std::size_t n) {
        ptr.push_back(ptr.back() + static_cast<std::int64_t>(n));
    };
    for (const NgramPlace* place : of.place) {
        const bool here = place != nullptr;
        more(of.arc_ptr, !here ? 0 : of.logarithmic ? place->arcs->n_arcs() : place->arcs->n_inner());
        more(of.node_ptr, here ? place->arcs->n_nodes() : 0);
        more(of.pair_ptr, here ? place->n_pairs() : 0);
        more(of.history_ptr, here ? place->after->size() : 0);
    }
    const auto resize = [](std::vector<double>& x, const std::vector<std::int64_t>& ptr) {
        if (x.size() < static_cast<std::size_t>(ptr.back())) x.resize(static_cast<std::size_t>(ptr.back()));
    };
    resize(of.p, of.arc_ptr);
    for (std::vector<double>* x : {&of.leaves, &of.flow}) resize(*x, of.node_ptr);
    for (std::vector<double>* x : {&of.own_weight, &of.extra}) resize(*x, of.pair_ptr);
    of.weight.resize(of.place.size());
    resize(of.mass, of.history_ptr);
}

void NgramCorrection::pair_weights(Lattice& lattice, std::int64_t t) const {
    NgramLattice& of = lattice.ngrams;
    const NgramPlace& place = *of.place[t];
    const double* shared = potentials_.ngrams()->weights_at(lattice.first + t);
    of.weight[t] = shared;
    const RestPairs& rest = lattice.rest;
    if (rest.ptr[t] == rest.ptr[t + 1]) return;
    double* weight = of.own_weight.data() + of.pair_ptr[t];
    std::copy_n(shared, place.n_pairs(), weight);
    of.weight[t] = weight;
    for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
        const std::uint32_t found = place.find_pair(rest.pair[k]);
        if (found != kNoString) weight[found] *= std::exp(rest.delta[k]);
    }
}

// For every arc, longest first, and then for every pair (X = 1, A = alpha),
//     mass(c a) = A(c) X(c a) + sum over arcs d whose parent is c a of  mass(d) - A(d's history) X(c a)
// and u(a) += E(y', a) (mass(y' a) - alpha(y')). For a leaf d the term is A (X(d) - X(c a)). The masses stay in node_.
bool NgramCorrection::add(Lattice& lattice, std::int64_t t, double* u) {
    NgramLattice& of = lattice.ngrams;
    const NgramPlace& place = *of.place[t];
    const NgramArcs& arcs = *place.arcs;
    const std::size_t n_inner = arcs.n_inner(), n_own = arcs.pair.size();
    pair_weights(lattice, t);
    node_.resize(n_inner + n_own);
    if (t == 0) {
        std::fill(node_.begin(), node_.end(), 1.0);
        return true;
    }
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    const double* before = of.before(t);
    double* leaves = of.leaves.data() + of.node_ptr[t];
    std::fill_n(leaves, n_inner + n_own, 0.0);
    const std::uint32_t* parent = arcs.parent.data();
    const double* more = arcs.more.data();
    for (std::size_t h = 0; h + 1 < arcs.leaf_ptr.size(); ++h) {
        const double mass = before[h];
        for (std::uint32_t k = arcs.leaf_ptr[h]; k < arcs.leaf_ptr[h + 1]; ++k) leaves[parent[k]] += mass * more[k];
    }
    std::copy_n(leaves, n_inner + n_own, node_.data());
    for (std::size_t g = 0; g < n_inner; ++g) {
        const std::size_t arc = arcs.n_leaves() + g;
        const double mass = before[arcs.history[arc]], own = mass * arcs.x[arc];
        const double value = own + node_[g];
        if (!(value >= kCancelled * own)) return false;
        node_[g] = value;
        node_[arcs.parent[arc]] += value - mass * arcs.x_parent[arc];
    }
    const double* weight = of.weight[t];
    std::copy_n(u, stride_, touched_.data());
    bool safe = true;
    for (std::size_t k = 0; k < n_own; ++k) {
        const double own = alpha[place.pair_previous[k]], sum = node_[n_inner + k];
        node_[n_inner + k] = own + sum;
        safe &= own + sum >= kCancelled * own;
        u[place.pair_label[k]] += weight[k] * sum;
    }
    for (int y = 0; y < n_labels_; ++y) safe &= u[y] >= kCancelled * touched_[y];
    return safe;
}

// A'(s a) = e(a) / c E(y', a) mass(s a) for the histories after t; v holds e / c. The mass of a pair that no arc ends
// in is alpha(y').
void NgramCorrection::set_masses(Lattice& lattice, std::int64_t t) {
    NgramLattice& of = lattice.ngrams;
    const NgramPlace& place = *of.place[t];
    const double* weight = of.weight[t];
    const double* scaled = lattice.v + t * stride_;
    const double* alpha = t == 0 ? ones_.data() : lattice.alpha + (t - 1) * stride_;
    const Histories& after = *place.after;
    const std::size_t n_nodes = place.arcs->n_nodes();
    double* mass = of.mass.data() + of.history_ptr[t];
    for (std::size_t k = 0; k < after.size(); ++k) {
        const std::uint32_t node = place.after_node[k];
        const double before = node < n_nodes ? node_[node] : alpha[t == 0 ? 0 : after.first[k]];
        mass[k] = scaled[after.label[k]] * weight[place.after_pair[k]] * before;
    }
}

// With B' of the histories after t and V = X e / c B'(target) at the nodes,
//     p_t(y)  = alpha(y) beta(y) + sum over histories q that end in y of A'(q) (B'(q) - B'(its longest proper suffix))
//     p(c a)  = E(y', a) (A(c) V(c a) + R(c a)),   R(g) = sum over arcs d with parent g of A (V(d) - V(g)) + R(d)
// and the same for pairs. A leaf has the same target as its parent g, so it contributes
// e / c B'(target) A (X(d) - X(g)) to R(g). For a pair q that is a history and that no arc ends in, p minus alpha E v
// is A'(q) (B'(q) - beta(y)). dB(c) = sum over arcs c a of E (V(c a) - V(parent)) is stored in new_beta_, and
// E e / c (B'(q) - beta(y)) of pairs in steps_.
bool NgramCorrection::add_marginals(Lattice& lattice, std::int64_t t, const double* beta) {
    NgramLattice& of = lattice.ngrams;
    const NgramPlace& place = *of.place[t];
    const Histories& after = *place.after;
    const double *mass = of.mass.data() + of.history_ptr[t], *weight = of.weight[t];
    double *p = lattice.p + t * stride_, *extra = of.extra.data() + of.pair_ptr[t];
    steps_.resize(after.n_pairs);
    bool safe = true;
    for (std::size_t k = 0; k < after.n_pairs; ++k) {
        const std::uint32_t y = after.label[k], pair = place.after_pair[k];
        const double below = beta[y], more = history_beta_[k] - below, of_p = mass[k] * more;
        safe &= mass[k] * below <= kLargeTerm;
        p[y] += of_p;
        extra[pair] = of_p;
        steps_[k] = weight[pair] * scaled_[y] * more;
    }
    for (std::size_t k = after.n_pairs; k < after.size(); ++k) {
        const std::uint32_t suffix = after.suffix[k], y = after.label[k];
        const double below = suffix == kNoString ? beta[y] : history_beta_[suffix];
        safe &= mass[k] * below <= kLargeTerm;
        p[y] += mass[k] * (history_beta_[k] - below);
    }
    if (!safe || !arc_marginals(lattice, t)) return false;

    const std::size_t n_inner = place.arcs->n_inner(), n_own = place.arcs->pair.size(), n_pairs = place.n_pairs();
    const double* v = lattice.v + t * stride_;
    const double* alpha = t == 0 ? nullptr : lattice.alpha + (t - 1) * stride_;
    for (std::size_t k = 0; k < n_own; ++k) {
        const double before = t == 0 ? 1.0 : alpha[place.pair_previous[k]], plain = v[place.pair_label[k]];
        safe &= weight[k] * before * plain <= kLargeTerm;
        extra[k] = weight[k] * (before * (node_[n_inner + k] - plain) + node_sum_[n_inner + k]);
    }
    for (std::size_t k = n_own; after.n_pairs < after.size() && k < n_pairs; ++k) {
        if (place.target[n_inner + k] == kNoString) extra[k] = 0.0;  // not a history, but the end of longer histories
    }
    RestPairs& rest = lattice.rest;
    for (std::int64_t k = rest.ptr[t]; k < rest.ptr[t + 1]; ++k) {
        const std::uint32_t found = place.find_pair(rest.pair[k]);
        if (found == kNoString) continue;
        rest.p[k] += extra[found];
        rest.extra[k] += extra[found];
        extra[found] = 0.0;
    }
    return safe;
}

// Computes V in node_, R in node_sum_, dB in new_beta_, the flow of the nodes and the probabilities of inner arcs.
bool NgramCorrection::arc_marginals(Lattice& lattice, std::int64_t t) {
    NgramLattice& of = lattice.ngrams;
    const NgramPlace& place = *of.place[t];
    const NgramArcs& arcs = *place.arcs;
    const std::size_t n_inner = arcs.n_inner(), n_own = arcs.pair.size();
    const double* v = lattice.v + t * stride_;
    const double* weight = of.weight[t];
    const double* leaves = of.leaves.data() + of.node_ptr[t];
    double* flow = of.flow.data() + of.node_ptr[t];
    const auto onward = [&](std::size_t node, std::uint32_t y) {
        const std::uint32_t target = place.target[node];
        return target == kNoString ? v[y] : scaled_[y] * history_beta_[target];
    };
    node_.resize(n_inner + n_own);
    node_sum_.assign(n_inner + n_own, 0.0);
    new_beta_.assign(arcs.before->size(), 0.0);
    for (std::size_t k = 0; k < n_own; ++k) node_[n_inner + k] = onward(n_inner + k, place.pair_label[k]);
    if (t == 0) return true;
    for (std::size_t k = 0; k < n_own; ++k) {
        flow[n_inner + k] = weight[k] * node_[n_inner + k];
        node_sum_[n_inner + k] = node_[n_inner + k] * leaves[n_inner + k];
    }
    const double* before = of.before(t);
    double* arc_p = of.p.data() + of.arc_ptr[t];
    bool safe = true;
    for (std::size_t g = 0; g < n_inner; ++g) {
        const std::size_t arc = arcs.n_leaves() + g, pair = arcs.pair_of[arc];
        const double to = onward(g, place.pair_label[pair]);
        flow[g] = weight[pair] * to;
        node_[g] = arcs.x[arc] * to;
        node_sum_[g] += to * leaves[g];
    }
    for (std::size_t g = 0; g < n_inner; ++g) {
        const std::size_t arc = arcs.n_leaves() + g, parent = arcs.parent[arc], h = arcs.history[arc];
        const double mass = before[h], e = weight[arcs.pair_of[arc]], more = node_[g] - node_[parent];
        safe &= mass * e * node_[parent] <= kLargeTerm;
        arc_p[g] = e * (mass * node_[g] + node_sum_[g]);
        node_sum_[parent] += mass * more + node_sum_[g];
        new_beta_[h] += e * more;
    }
    return safe && leaves_backward(arcs, before, flow);
}

// dB(c) += sum over leaves c a of flow(parent) (X - X(parent)).
bool NgramCorrection::leaves_backward(const NgramArcs& arcs, const double* before, const double* flow) {
    const std::uint32_t* parent = arcs.parent.data();
    const double *more = arcs.more.data(), *x_parent = arcs.x_parent.data();
    const bool pairs_only = arcs.n_inner() == 0;  // the X of all parents is 1
    bool safe = true;
    for (std::size_t h = 0; h + 1 < arcs.leaf_ptr.size(); ++h) {
        const std::uint32_t first = arcs.leaf_ptr[h], last = arcs.leaf_ptr[h + 1];
        double sum = 0.0, size = 0.0;
        if (pairs_only) {
            for (std::uint32_t k = first; k < last; ++k) {
                const double f = flow[parent[k]];
                sum += f * more[k];
                size += f;
            }
        } else {
            for (std::uint32_t k = first; k < last; ++k) {
                const double f = flow[parent[k]];
                sum += f * more[k];
                size += f * x_parent[k];
            }
        }
        new_beta_[h] += sum;
        safe &= before[h] * size <= kLargeTerm;
    }
    return safe;
}

// beta(y') += E(y', a) e(a) / c (B'(y' a) - beta(a)) for pairs that are histories after t; also computes B of the
// histories before t.
void NgramCorrection::add_backward(const Lattice& lattice, std::int64_t t, double* beta) {
    const NgramPlace& place = *lattice.ngrams.place[t];
    const Histories &after = *place.after, &before = *place.arcs->before;
    for (std::size_t k = 0; k < after.n_pairs;) {  // processes all pairs with the same first label together
        const std::uint32_t previous = after.first[k];
        double sum = beta[previous];
        for (; k < after.n_pairs && after.first[k] == previous; ++k) sum += steps_[k];
        beta[previous] = sum;
    }
    for (int y = 0; y < n_labels_; ++y) beta[y] = std::max(beta[y], 0.0);
    for (std::size_t k = 0; k < before.n_pairs; ++k) {
        new_beta_[k] = std::max(beta[before.label[k]] + new_beta_[k], 0.0);
    }
    for (std::size_t k = before.n_pairs; k < before.size(); ++k) {
        const std::uint32_t suffix = before.suffix[k];
        const double below = suffix == kNoString ? beta[before.label[k]] : new_beta_[suffix];
        new_beta_[k] = std::max(below + new_beta_[k], 0.0);
    }
    std::swap(history_beta_, new_beta_);
}

}  // namespace sparsecrf
