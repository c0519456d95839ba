#include "core/training/stochastic/sgd_sequence.hpp"

#include <algorithm>

#include "core/inference/decode.hpp"

namespace sparsecrf {

SgdInference::SgdInference(const Corpus& corpus, const Plan& plan, const Potentials& potentials,
                           const LabelParts* parts)
    : corpus_(corpus),
      plan_(plan),
      potentials_(potentials),
      parts_(parts),
      n_labels_(corpus.n_labels),
      stride_(padded(corpus.n_labels)),
      cell_stride_(padded(LabelCells(n_labels_, parts).size())),
      recursion_(potentials, true),
      base_lists_(corpus.base_lists.size()),
      products_(static_cast<std::size_t>(n_labels_) * static_cast<std::size_t>(stride_)) {}

void SgdInference::gradient(std::span<const Item> items, SgdSequence& out) {
    infer(items, true, out);
    subtract_counts(out);
    if (potentials_.ngrams() != nullptr) add_ngrams(*potentials_.ngrams(), out);
    base_lists_.clear();
    for (std::int64_t t = 0; t < out.length; ++t) {
        if (corpus_.base[out.first + t] != 0) base_lists_.add(corpus_.base[out.first + t]);
    }
    out.base_lists = base_lists_.found;
    if (out.sums.size() < out.base_lists.size()) out.sums.resize(out.base_lists.size());
    for (std::size_t k = 0; k < out.base_lists.size(); ++k) {
        positions_.clear();
        for (std::int64_t t = 0; t < out.length; ++t) {
            if (corpus_.base[out.first + t] == out.base_lists[k]) positions_.push_back(t);
        }
        sum_products(out, out.base_lists[k], out.sums[k]);
        sum_direct(out, out.base_lists[k], out.sums[k]);
    }
}

void SgdInference::infer(std::span<const Item> items, bool backward, SgdSequence& out) {
    const std::int64_t sequence = items.front().sequence;
    out.first = corpus_.offsets[sequence];
    out.length = corpus_.length(sequence);
    out.count = plan_.count_weight[static_cast<std::size_t>(sequence)];
    if (out.lattices.size() < items.size()) out.lattices.resize(items.size());
    out.item_weight.clear();
    out.classes.clear();
    for (std::size_t k = 0; k < items.size(); ++k) {
        OwnedLattice& lattice = out.lattices[k];
        lattice.take(corpus_, sequence, stride_);
        lattice.fixed = plan_.fixed_labels(items[k]);
        recursion_.forward(lattice);
        out.item_weight.push_back(items[k].weight);
        if (!backward) continue;
        recursion_.backward(lattice);
        if (potentials_.classes() != nullptr) add_classes(items[k].weight, lattice, out);
        if (lattice.logarithmic || items[k].weight == 1.0) continue;
        std::for_each_n(lattice.v, out.length * stride_, [&](double& v) { v *= items[k].weight; });
    }
}

// d_t(c', c) = sum_items weight p_t(c', c) - count [these are the classes at t]. Adds one item to the sum and, with the
// first item, the counts. v is not yet multiplied by the weight.
void SgdInference::add_classes(double weight, const Lattice& lattice, SgdSequence& out) {
    const LabelPairs pairs = parts_->class_pairs();
    const std::size_t n = pairs.n_inner();
    classes_.resize(n);
    const bool first = out.classes.empty();
    if (first) out.classes.assign(static_cast<std::size_t>(out.length) * n, 0.0);
    const LabelPairs labels(n_labels_);
    for (std::int64_t t = 0; t < out.length; ++t) {
        double* d = out.classes.data() + static_cast<std::size_t>(t) * n;
        recursion_.class_marginals(lattice, t, classes_.data());
        for (std::size_t k = 0; k < (t == 0 ? pairs.n_labels : n); ++k) d[k] += weight * classes_[k];
        if (!first || out.count == 0.0) continue;
        const std::uint32_t own = out.pair_of_labels(corpus_, t);
        const std::uint32_t pair = parts_->class_pair(labels.previous(own), labels.label(own));
        d[t == 0 ? pairs.start_label(pair) : pair] -= out.count;
    }
}

// d_t(s) = sum_items weight p_t(s) - count [the labels up to t end in s], for the strings s of the arcs at t
void SgdInference::add_ngrams(const NgramTables& tables, SgdSequence& out) const {
    out.ngrams.clear();
    out.ngram_ptr.clear();
    for (std::int64_t t = 0; t < out.length; ++t) {
        out.ngram_ptr.push_back(out.ngrams.size());
        const NgramPlace* place = tables.at(out.first + t);
        if (place == nullptr) continue;
        const NgramArcs& arcs = *place->arcs;
        out.ngrams.resize(out.ngram_ptr.back() + arcs.n_arcs(), 0.0);
        double* d = out.ngrams.data() + out.ngram_ptr.back();
        for (std::size_t k = 0; k < out.item_weight.size(); ++k) {
            const NgramLattice& of = out.lattices[k].ngrams;
            for (std::uint32_t g = 0; g < arcs.n_arcs(); ++g) d[g] += out.item_weight[k] * of.probability(t, g);
        }
        if (out.count == 0.0) continue;
        tables.places->features().strings.for_each_suffix(corpus_.labels.data() + out.first, t, [&](std::uint32_t s) {
            const std::uint32_t arc = arcs.arc_of(s);
            if (arc != kNoString) d[arc] -= out.count;
        });
    }
}

// d_t(y) = sum_items weight p_t(y) - count [y = y_t]
void SgdInference::subtract_counts(SgdSequence& out) const {
    out.difference.assign(static_cast<std::size_t>(out.length * stride_), 0.0);
    for (std::size_t k = 0; k < out.item_weight.size(); ++k) {
        kernels().axpy(out.item_weight[k], out.lattices[k].p, static_cast<int>(out.length) * stride_,
                       out.difference.data());
    }
    for (std::int64_t t = 0; out.count != 0.0 && t < out.length; ++t) {
        out.difference[t * stride_ + corpus_.labels[out.first + t]] -= out.count;
    }
    out.by_cell =
        LabelCells(n_labels_, parts_)
            .unfold(out.difference.data(), static_cast<std::size_t>(out.length), stride_, cell_stride_, out.cells);
}

// sums(y', y) = E(y', y) sum_t alpha_{t-1}(y') v_t(y) over the positions of a base list, for the pairs with a feature;
// E(start, y) v_0(y) after the start label.
void SgdInference::sum_products(const SgdSequence& of, std::uint32_t list, std::vector<double>& out) {
    left_.clear();
    right_.clear();
    start_.clear();
    for (std::size_t k = 0; k < of.item_weight.size(); ++k) {
        if (of.lattices[k].logarithmic) continue;
        for (const std::int64_t t : positions_) {
            (t == 0 ? start_ : right_).push_back(of.lattices[k].v + t * stride_);
            if (t > 0) left_.push_back(of.lattices[k].alpha + (t - 1) * stride_);
        }
    }
    const auto Y = static_cast<std::size_t>(n_labels_), Yp = static_cast<std::size_t>(stride_);
    const LabelPairs numbers(n_labels_);
    const std::span<const std::uint32_t> pairs = potentials_.pairs_of_list(list);
    const std::size_t inner = numbers.count_inner(pairs);
    const Transition& transition = potentials_.transition_of_list(list);
    const double* e = transition.renewed();
    out.assign(pairs.size(), 0.0);
    double* sums = out.data();
    if (left_.empty()) {
    } else if (transition.dense()) {
        std::fill(products_.begin(), products_.end(), 0.0);
        kernels().rank_update(left_.data(), right_.data(), left_.size(), 0, n_labels_, stride_, products_.data());
        if (inner == numbers.n_inner()) {
            for (std::size_t i = 0; i < Y; ++i) {
                for (std::size_t y = 0; y < Y; ++y) sums[i * Y + y] = e[i * Y + y] * products_[i * Yp + y];
            }
        } else {
            for_each_pair(pairs.first(inner), n_labels_,
                          [&](std::size_t k, std::size_t i, std::size_t y) { sums[k] = e[k] * products_[i * Yp + y]; });
        }
    } else {
        for_each_pair(pairs.first(inner), n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
            double sum = 0.0;
            for (std::size_t r = 0; r < left_.size(); ++r) sum += left_[r][i] * right_[r][y];
            sums[k] = e[k] * sum;
        });
    }
    for (const double* v : start_) {
        for (std::size_t k = inner; k < pairs.size(); ++k) sums[k] += e[k] * v[numbers.start_label(pairs[k])];
    }
}

// The terms that are not products of this form: the labels of the sequence, the contribution of rest lists and label
// n-grams to the pairs of the base matrix, and whole positions in the log domain.
void SgdInference::sum_direct(const SgdSequence& of, std::uint32_t list, std::vector<double>& out) {
    const std::span<const std::uint32_t> pairs = potentials_.pairs_of_list(list);
    const auto add = [&](std::uint32_t pair, double amount) {
        const auto found = std::lower_bound(pairs.begin(), pairs.end(), pair);
        if (found != pairs.end() && *found == pair) out[static_cast<std::size_t>(found - pairs.begin())] += amount;
    };
    for (const std::int64_t t : positions_) {
        if (of.count != 0.0) add(of.pair_of_labels(corpus_, t), -of.count);
        for (std::size_t k = 0; k < of.item_weight.size(); ++k) {
            const Lattice& lattice = of.lattices[k];
            if (!lattice.logarithmic) {
                lattice.rest.for_each_extra(
                    t, [&](std::uint32_t pair, double extra, double) { add(pair, of.item_weight[k] * extra); });
            }
            if (!lattice.logarithmic && !lattice.ngrams.any()) continue;
            const std::span<const std::uint32_t> here = LabelPairs(n_labels_).at(pairs, t == 0);
            double* sums = out.data() + (here.data() - pairs.data());
            if (lattice.logarithmic) {
                recursion_.pair_marginals(lattice, t, here,
                                          [&](std::size_t i, double p) { sums[i] += of.item_weight[k] * p; });
            } else {
                NgramLattice::Extras extras(lattice.ngrams, t);
                for (std::size_t i = 0; i < here.size(); ++i) sums[i] += of.item_weight[k] * extras.of(here[i]);
            }
        }
    }
}

double SgdInference::loss(std::span<const Item> items, SgdSequence& scratch) {
    infer(items, false, scratch);
    double sum = 0.0;
    for (std::size_t k = 0; k < items.size(); ++k) sum += scratch.item_weight[k] * scratch.lattices[k].log_z;
    return scratch.count == 0.0 ? sum : sum - scratch.count * path_score(scratch);
}

// w.F of the labels of the sequence, all of which are known.
double SgdInference::path_score(const SgdSequence& of) const {
    const Lattice& lattice = of.lattices.front();
    AlignedVector<double> scratch(static_cast<std::size_t>(stride_));
    const NgramTables* ngrams = potentials_.ngrams();
    double sum = 0.0;
    for (std::int64_t t = 0; t < of.length; ++t) {
        const std::int32_t y = corpus_.labels[of.first + t];
        const Transition& transition = potentials_.transition(of.first + t);
        sum += potentials_.scores(of.first + t, scratch.data())[y];
        sum += t == 0 ? transition.start_score()[y] : transition.score(corpus_.labels[of.first + t - 1], y);
        if (ngrams != nullptr) sum += ngram_score(*ngrams, of.first + t, corpus_.labels.data() + of.first, t);
        const auto begin = lattice.rest.pair.begin() + lattice.rest.ptr[t];
        const auto end = lattice.rest.pair.begin() + lattice.rest.ptr[t + 1];
        const auto found = std::lower_bound(begin, end, of.pair_of_labels(corpus_, t));
        if (found == end || *found != of.pair_of_labels(corpus_, t)) continue;
        sum += lattice.rest.delta[static_cast<std::size_t>(found - lattice.rest.pair.begin())];
    }
    return sum;
}

}  // namespace sparsecrf
