#include "core/training/screening/triples.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/aligned.hpp"
#include "core/corpus/numbering.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {

bool Triples::possible(const FeatureSet& features) {
    return std::all_of(features.ngram_string.begin(), features.ngram_string.end(),
                       [&](std::uint32_t string) { return features.strings.length(string) == 3; });
}

Triples::Triples(const FeatureSet& features, const ListedFeatures& listed, const ListedRows& rows,
                 const Potentials& potentials)
    : corpus_(potentials.corpus()), features_(features), listed_(listed), rows_(rows), potentials_(potentials) {
    for (std::uint32_t x = 0; x + 1 < rows.ptr.size(); ++x) attribute_.resize(rows.ptr[x + 1], x);
    const NgramTables* tables = potentials.ngrams();
    tabulated_ = n_entries() <= kMostEntries;
    if (tabulated_) {
        for (std::uint32_t base = 0; base < corpus_.base_lists.size(); ++base) of_base_.push_back(kind(nullptr, base));
        if (tables != nullptr) {
            for (const NgramTables::Kind& each : tables->kinds) of_kind_.push_back(kind(each.place, each.base));
        }
    }
    if (tables == nullptr) return;
    for (std::uint32_t id = 0; id < tables->places->n_arcs(); ++id) {
        const NgramArcs& arcs = tables->places->arcs(id);
        const auto attribute = [&](const NgramArcs::Term& term) { return features_.ngram_attribute[term.feature]; };
        const bool one = !arcs.terms.empty() && arcs.terms.size() == arcs.n_arcs() &&
                         std::all_of(arcs.terms.begin(), arcs.terms.end(), [&](const NgramArcs::Term& term) {
                             return attribute(term) == attribute(arcs.terms.front());
                         });
        alone_.push_back(one ? attribute(arcs.terms.front()) : kNoString);
    }
}

std::size_t Triples::n_entries() const {
    const ListPool& lists = corpus_.base_lists;
    std::vector<std::size_t> of_base(lists.size(), 0);
    std::size_t sum = 0;
    for (std::uint32_t base = 0; base < lists.size(); ++base) {
        for (std::int64_t e = lists.begin(base); e < lists.end(base); ++e) {
            of_base[base] += rows_.ptr[lists.id(e) + 1] - rows_.ptr[lists.id(e)];
        }
        sum += of_base[base];
    }
    if (const NgramTables* tables = potentials_.ngrams(); tables != nullptr) {
        for (const NgramTables::Kind& each : tables->kinds) sum += of_base[each.base];
    }
    return sum;
}

Triples::Kind Triples::kind(const NgramPlace* place, std::uint32_t base) const {
    const LabelPairs numbers(corpus_.n_labels);
    const Transition& transition = potentials_.transition_of_list(base);
    const ListPool& lists = corpus_.base_lists;
    Kind made;
    for (std::int64_t e = lists.begin(base); e < lists.end(base); ++e) {
        const std::uint32_t x = lists.id(e);
        Group group{x, lists.value(e), made.entries.size(), 0, 0};
        for (std::uint32_t r = rows_.ptr[x]; r < rows_.ptr[x + 1]; ++r) {
            const std::uint32_t pair = rows_.cell[r], previous = numbers.previous(pair), label = numbers.label(pair);
            const std::uint32_t slot = place == nullptr ? kNoString : place->find_pair(pair);
            made.entries.push_back({rows_.place[r], slot, static_cast<std::uint16_t>(previous),
                                    static_cast<std::uint16_t>(label),
                                    transition.weight(static_cast<int>(previous), static_cast<int>(label))});
        }
        const auto first = made.entries.begin() + static_cast<std::ptrdiff_t>(group.first);
        const auto middle = std::stable_partition(first, made.entries.end(), [&](const Entry& of) {
            return place != nullptr && of.slot < place->own_pairs().size();
        });
        group.middle = static_cast<std::size_t>(middle - made.entries.begin());
        group.last = made.entries.size();
        if (group.last > group.first) made.groups.push_back(group);
    }
    return made;
}

const std::vector<Triples::Pair>& Triples::at(double w, ItemRun& run, std::int64_t t, Scratch& scratch,
                                              std::vector<Arc>& arcs) const {
    const Lattice& lattice = run.lattice;
    const std::int64_t position = lattice.first + t;
    scratch.pairs.clear();
    const std::uint32_t rest = corpus_.rest[position];
    if (!tabulated_ || corpus_.rest_lists.begin(rest) != corpus_.rest_lists.end(rest)) {
        add_each(w, run, t, scratch, arcs);
        return scratch.pairs;
    }
    const NgramTables* tables = potentials_.ngrams();
    const std::uint32_t number = tables == nullptr ? kNoString : tables->kind_of[static_cast<std::size_t>(position)];
    const Kind& kind = number == kNoString ? of_base_[corpus_.base[position]] : of_kind_[number];
    for (const Group& group : kind.groups) {
        add_group(w, lattice, t, kind, group, scratch);
        add_arcs(lattice, t, group.attribute, scratch, arcs);
    }
    return scratch.pairs;
}

void Triples::add_group(double w, const Lattice& lattice, std::int64_t t, const Kind& kind, const Group& group,
                        Scratch& scratch) const {
    const NgramLattice& ngrams = lattice.ngrams;
    const NgramPlace* here = ngrams.at(t);
    const int stride = potentials_.stride();
    const double *alpha = lattice.alpha + (t - 1) * stride, *v = lattice.v + t * stride;
    if (here != nullptr) {
        scratch.own.assign(here->own_pairs().size(), {kNoString, 0.0});
        const double* flow = ngrams.flow.data() + ngrams.node_ptr[t];
        for (std::size_t k = group.first; k < group.middle; ++k) {
            const Entry& of = kind.entries[k];
            const double weight = w * group.value * flow[of.slot];
            scratch.own[of.slot] = {of.place, weight};
            scratch.pairs.push_back({of.place, weight * alpha[of.previous]});
        }
    }
    for (std::size_t k = group.middle; k < group.last; ++k) {
        const Entry& of = kind.entries[k];
        double p = alpha[of.previous] * of.e * v[of.label];
        if (of.slot != kNoString && here != nullptr)
            p += ngrams.extra[static_cast<std::size_t>(ngrams.pair_ptr[t]) + of.slot];
        scratch.pairs.push_back({of.place, w * group.value * std::max(p, 0.0)});
    }
}

// Like `at`, for positions with a rest list or if no tables were built.
void Triples::add_each(double w, ItemRun& run, std::int64_t t, Scratch& scratch, std::vector<Arc>& arcs) const {
    const Lattice& lattice = run.lattice;
    const NgramPlace* here = lattice.ngrams.at(t);
    const auto own = here == nullptr ? std::span<const std::uint32_t>{} : here->own_pairs();
    const double* flow = own.empty() ? nullptr : lattice.ngrams.flow.data() + lattice.ngrams.node_ptr[t];
    const double* alpha = lattice.alpha + (t - 1) * potentials_.stride();
    std::uint32_t attribute = kNoString;  // attribute of the last pair
    std::size_t k = 0;
    listed_.at(run.at(t, nullptr), [&](std::uint32_t place, double value, double p, bool, auto labels) {
        if (attribute_[place] != attribute) {  // the pairs of a new attribute follow, in ascending order
            if (attribute != kNoString) add_arcs(lattice, t, attribute, scratch, arcs);
            attribute = attribute_[place];
            scratch.own.assign(own.size(), {kNoString, 0.0});
            k = 0;
        }
        double weight = w * value * std::max(p, 0.0);
        while (k < own.size() && own[k] < rows_.cell[place]) ++k;
        if (k < own.size() && own[k] == rows_.cell[place]) {
            scratch.own[k] = {place, w * value * flow[k]};
            weight = scratch.own[k].second * alpha[labels().previous - 1];
        }
        scratch.pairs.push_back({place, weight});
    });
    if (attribute != kNoString) add_arcs(lattice, t, attribute, scratch, arcs);
}

void Triples::add_arcs(const Lattice& lattice, std::int64_t t, std::uint32_t attribute, const Scratch& scratch,
                       std::vector<Arc>& out) const {
    const NgramPlace* here = lattice.ngrams.at(t);
    if (here == nullptr || here->own_pairs().empty() || attribute == alone_[here->arcs_id]) return;
    const NgramArcs& arcs = *here->arcs;
    const double* mass = lattice.ngrams.before(t);
    for (std::size_t leaf = 0; leaf < arcs.n_leaves(); ++leaf) {
        const auto& [place, weight] = scratch.own[arcs.parent[leaf]];
        const std::uint32_t h = arcs.history[leaf];
        if (place != kNoString) out.push_back({place, arcs.before->first[h], weight * mass[h] * arcs.more[leaf]});
    }
}

// alpha_t(y) ~ sum_b E(b, y) mass(b y), where mass(b y) is alpha_{t-1}(b) plus the sum over the arcs that end in b y.
void Triples::shares(const ItemRun& run, std::int64_t t, const std::uint32_t* columns, std::size_t stride,
                     double* out) {
    const Lattice& lattice = run.lattice;
    const Potentials& potentials = run.recursion.potentials();
    const auto Y = static_cast<std::size_t>(potentials.n_labels());
    const auto for_each_column = [&](auto visit) {
        for (std::size_t y = 0; y < Y; ++y) {
            if (columns[y] != kNoString) visit(y, out + columns[y] * stride);
        }
    };
    if (t == 0) return for_each_column([&](std::size_t, double* column) { column[Y] = 1.0; });
    const double* alpha = lattice.alpha + (t - 1) * potentials.stride();
    for_each_column([&](std::size_t y, double* column) {
        potentials.transition(lattice.first + t).column_weights(static_cast<int>(y), column);
        for (std::size_t b = 0; b < Y; ++b) column[b] *= alpha[b];
    });
    const LabelPairs numbers(potentials.n_labels());
    for (std::int64_t k = lattice.rest.ptr[t]; k < lattice.rest.ptr[t + 1]; ++k) {
        const std::uint32_t pair = lattice.rest.pair[k], column = columns[numbers.label(pair)];
        if (column != kNoString) out[column * stride + numbers.previous(pair)] *= std::exp(lattice.rest.delta[k]);
    }
    const NgramLattice& ngrams = lattice.ngrams;
    if (const NgramPlace* place = ngrams.at(t); place != nullptr) {
        const double *weight = ngrams.weight[t], *leaves = ngrams.leaves.data() + ngrams.node_ptr[t];
        for (std::size_t k = 0, n = place->own_pairs().size(); k < n; ++k) {
            const std::uint32_t column = columns[place->pair_label[k]];
            if (column != kNoString) out[column * stride + place->pair_previous[k]] += weight[k] * leaves[k];
        }
    }
    thread_local AlignedVector<double> ones;
    ones.resize(stride, 1.0);
    for_each_column([&](std::size_t, double* column) {  // the cells of other labels are 0
        const double sum = kernels().dot(column, ones.data(), static_cast<int>(stride));
        const double scale = sum > 0.0 ? 1.0 / sum : 0.0;
        for (std::size_t b = 0; b < stride; ++b) column[b] *= scale;
    });
}

}  // namespace sparsecrf
