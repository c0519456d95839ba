#include "core/training/oracle.hpp"

#include <algorithm>

#include "core/base/compensated_sum.hpp"
#include "core/base/error.hpp"
#include "core/base/trim.hpp"
#include "core/inference/recursion.hpp"

namespace sparsecrf {
namespace {

// sum of weight[k] * value[k], compensated, in order.
double dot(std::span<const double> a, std::span<const double> b) {
    CompensatedSum sum;
    for (std::size_t k = 0; k < a.size(); ++k) sum.add(a[k] * b[k]);
    return sum.value();
}

}  // namespace

Oracle::Oracle(const Corpus& corpus, Kernel kernel, int threads)
    : corpus_(corpus), kernel_(kernel), threads_(resolve_threads(threads)), plan_(corpus) {}

void Oracle::check(const FeatureSet& features, std::span<const double> w) const {
    features.check_fits(corpus_);
    features.check_weights(w);
}

void Oracle::check_places(const char* what, const FeatureSet& features, std::span<const std::int64_t> places) {
    for (std::size_t k = 0; k < places.size(); ++k) {
        if (places[k] < 0 || places[k] >= features.size() || (k > 0 && places[k] <= places[k - 1])) {
            throw InputError(what, ": expected ascending feature indices below ", features.size(), ", found ",
                             places[k]);
        }
    }
}

const std::vector<double>& Oracle::counts(const FeatureSet& features) {
    features.check_fits(corpus_);
    if (counts_of_ == features.serial) return counts_;
    counts_of_ = 0;
    counts_.resize(static_cast<std::size_t>(features.size()));
    count_features(corpus_, features, plan_.count_weight, threads_, counts_);
    counts_of_ = features.serial;
    return counts_;
}

Oracle::Prepared& Oracle::prepare(const FeatureSet& features, std::span<const double> w) {
    if (prepared_ == nullptr || prepared_->serial != features.serial) {
        prepared_.reset();
        trim();
        prepared_ = std::make_unique<Prepared>(corpus_, features, kernel_, threads_);
    }
    Prepared& of = *prepared_;
    of.tables.features = &features;
    if (of.families.empty()) of.families = make_families(of.tables);
    of.rows = UnigramRows(features, w, of.tables.unigrams.attributes);
    if (!of.potentials) of.potentials.emplace(corpus_, of.tables.unigrams.lists, kernel_, threads_, &of.tables.pairs);
    of.potentials->assign(features, w, of.rows);
    of.potentials->assign_ngrams(of.tables.ngrams);
    return of;
}

void Oracle::trim() const {
    constexpr std::int64_t kMany = 1 << 20;  // entries of 4 bytes in a few tables
    if (corpus_.unigram_lists.n_entries() >= kMany) trim_heap();
}

void Oracle::release_sums(Prepared& of) {
    rows_ = {};
    for (const auto& family : of.families) family->release();
    trim();
}

void Oracle::release_tables() {
    rows_ = {};
    if (prepared_ == nullptr) return;
    prepared_->rows = {};
    prepared_->potentials.reset();
    prepared_->families.clear();  // the next pass rebuilds them, because the set may no longer exist
    trim();
}

std::vector<double> Oracle::item_weights() const {
    std::vector<double> weights;
    weights.reserve(plan_.items.size());
    for (const Item& item : plan_.items) weights.push_back(item.weight);
    return weights;
}

const Plan& Oracle::plan_for(const Potentials& potentials) {
    if (!NgramBatch::suits(potentials)) return plan_;
    if (!large_plan_) large_plan_.emplace(corpus_, Plan::Blocks::large);
    return *large_plan_;
}

double Oracle::pass(const Potentials& potentials, std::span<const double> weights, const Sums& sums) {
    const Plan& plan = plan_for(potentials);
    const auto n_blocks = static_cast<std::int64_t>(plan.blocks.size());
    const auto n_rows = static_cast<std::size_t>(std::min<std::int64_t>(threads_, n_blocks));
    rows_.resize(n_rows);
    std::vector<Recursion> recursions;
    for (std::size_t k = 0; k < n_rows; ++k) recursions.emplace_back(potentials, !sums.empty());
    std::vector<NgramBatch> batches;
    for (Recursion& recursion : recursions) batches.emplace_back(potentials, recursion);
    std::vector<double> log_z(plan.items.size());
    in_turns(n_blocks, threads_, [&](int thread, std::int64_t b, Turn& turn) {
        const auto block = static_cast<std::size_t>(b), own = static_cast<std::size_t>(thread);
        run_block(plan, plan.blocks[block], potentials, weights, sums, recursions[own], batches[own], rows_[own],
                  log_z);
        for (BlockSums* each : sums) each->add(thread, block, rows_[own], turn);
    });
    return dot(weights, log_z);
}

void Oracle::run_block(const Plan& plan, const Block& block, const Potentials& potentials,
                       std::span<const double> weights, const Sums& sums, Recursion& recursion, NgramBatch& batch,
                       BlockRows& rows, std::span<double> log_z) const {
    const auto stride = static_cast<std::size_t>(potentials.stride());
    for (AlignedVector<double>* x : {&rows.alpha, &rows.v, &rows.p})
        x->resize(static_cast<std::size_t>(plan.max_rows) * stride);
    rows.lattices.resize(static_cast<std::size_t>(plan.max_items));
    rows.weight.clear();
    rows.item.clear();
    rows.first_row.clear();
    std::vector<Lattice*> lattices;
    for (std::int64_t number = block.first_item; number < block.last_item; ++number) {
        const auto k = static_cast<std::size_t>(number);
        const Item& item = plan.items[k];
        const std::size_t first_row = rows.weight.size(), first_cell = first_row * stride;
        const auto length = static_cast<std::size_t>(corpus_.length(item.sequence));
        rows.first_row.push_back(static_cast<std::int64_t>(first_row));
        rows.weight.insert(rows.weight.end(), length, weights[k]);
        rows.item.insert(rows.item.end(), length, static_cast<std::uint32_t>(number - block.first_item));
        Lattice& lattice = rows.lattices[static_cast<std::size_t>(number - block.first_item)];
        lattice.take(corpus_, item.sequence);
        lattice.fixed = plan.fixed_labels(item);
        lattice.alpha = rows.alpha.data() + first_cell;
        lattice.v = rows.v.data() + first_cell;
        lattice.p = rows.p.data() + first_cell;
        lattices.push_back(&lattice);
    }
    const auto first_item = static_cast<std::size_t>(block.first_item);
    rows.sum_ngrams = false;
    for (BlockSums* each : sums) each->open(rows);
    batch.run(lattices, weights.subspan(first_item, lattices.size()), !sums.empty(),
              rows.sum_ngrams ? &rows.ngram_sums : nullptr);
    for (std::size_t i = 0; i < lattices.size(); ++i) {
        const Lattice& lattice = *lattices[i];
        const double weight = weights[first_item + i];
        log_z[first_item + i] = lattice.log_z;
        for (BlockSums* each : sums) each->keep(recursion, lattice, static_cast<std::size_t>(rows.first_row[i]), rows);
        if (sums.empty() || weight == 1.0 || lattice.logarithmic) continue;
        for (std::size_t c = 0; c < static_cast<std::size_t>(lattice.length) * stride; ++c) lattice.v[c] *= weight;
    }
}

double Oracle::expectations(const FeatureSet& features, std::span<const double> w, std::span<const double> weights,
                            std::span<double> g, std::span<double> h) {
    Prepared& of = prepare(features, w);
    const GradientPass gradient{plan_for(*of.potentials), *of.potentials, g, h};
    Sums sums;
    for (const auto& family : of.families) {
        family->begin(gradient);
        sums.insert(sums.begin(), family.get());
    }
    const double log_z = pass(*of.potentials, weights, sums);
    for (const auto& family : of.families) family->finish();
    return log_z;
}

Screen Oracle::screened(const FeatureSet& features, std::span<const double> w, double bound, const Masses* whole) {
    check(features, w);
    if (!(bound > 0.0)) throw InputError("screening: expected a bound > 0, found ", bound);
    Prepared& of = prepare(features, w);
    release_sums(of);  // screening follows the last gradient over a set, so free its sums
    Screen screen(corpus_, plan_for(*of.potentials), features.parts.get(), bound, threads_, whole);
    pass(*of.potentials, item_weights(), {&screen});
    screen.finish(*of.potentials);
    return screen;
}

std::vector<std::int64_t> Oracle::candidates(const FeatureSet& features, std::span<const double> w, double bound) {
    return screened(features, w, bound, nullptr).candidates();
}

ShardSums Oracle::shard_sums(const FeatureSet& features, std::span<const double> w, double bound, const Masses& whole,
                             double fraction) {
    for (const std::vector<double>* mass : {&whole.unigram, &whole.start, &whole.inner}) {
        if (mass->size() != corpus_.n_attributes) {
            throw InputError("masses of all shards: expected ", corpus_.n_attributes, ", one per attribute, found ",
                             mass->size());
        }
    }
    if (!(fraction > 0.0 && fraction <= 1.0)) {
        throw InputError("screening: expected a fraction above 0 and at most 1, found ", fraction);
    }
    return screened(features, w, bound, &whole).sums_above(fraction);
}

std::vector<double> Oracle::gradient_with_factors(const FeatureSet& features, std::span<const double> w,
                                                  std::span<const double> s) {
    std::vector<double> weights = item_weights(), of_sequence(plan_.count_weight.size(), 0.0), g;
    for (std::size_t k = 0; k < weights.size(); ++k) {
        weights[k] *= s[k];
        of_sequence[static_cast<std::size_t>(plan_.items[k].sequence)] += weights[k];
    }
    g.resize(static_cast<std::size_t>(features.size()));
    count_features(corpus_, features, of_sequence, threads_, g);
    for (double& c : g) c = -c;
    expectations(features, w, weights, g, {});
    return g;
}

bool Oracle::signs_agree(bool only_lists) const {
    if (corpus_.n_dense > 0 && !only_lists) return false;
    for (const ListPool* lists : {&corpus_.unigram_lists, &corpus_.base_lists, &corpus_.rest_lists}) {
        for (std::int64_t k = 0; lists->has_values() && k < lists->n_entries(); ++k) {
            if (lists->value(k) < 0.0) return false;
        }
    }
    return std::none_of(plan_.items.begin(), plan_.items.end(), [](const Item& i) { return i.weight < 0.0; });
}

double Oracle::loss(const FeatureSet& features, std::span<const double> w) {
    check(features, w);
    return pass(*prepare(features, w).potentials, item_weights(), {}) - dot(w, counts(features));
}

double Oracle::gradient(const FeatureSet& features, std::span<const double> w, std::span<double> g, std::span<double> h,
                        std::span<const double> given) {
    check(features, w);
    if (!given.empty()) features.check_weights(given);
    const std::span<const double> count = given.empty() ? std::span<const double>(counts(features)) : given;
    for (std::size_t k = 0; k < g.size(); ++k) g[k] = -count[k];
    std::fill(h.begin(), h.end(), 0.0);
    const bool mixed =
        std::any_of(plan_.items.begin(), plan_.items.end(), [](const Item& i) { return i.weight < 0.0; });
    std::vector<double> weights = item_weights();
    const double sum = expectations(features, w, weights, g, mixed ? std::span<double>() : h);
    if (mixed && !h.empty()) {  // only for items with positive weight
        for (double& weight : weights) weight = std::max(weight, 0.0);
        std::vector<double> unused(g.size());
        expectations(features, w, weights, unused, h);
    }
    return sum - dot(w, count);
}

}  // namespace sparsecrf
