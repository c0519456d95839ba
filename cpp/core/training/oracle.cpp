#include "core/training/oracle.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/base/compensated_sum.hpp"
#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/shares.hpp"
#include "core/base/trim.hpp"
#include "core/inference/recursion.hpp"
#include "core/training/block_curvature.hpp"
#include "core/training/expectations.hpp"
#include "core/training/ngram_screen.hpp"

namespace sparsecrf {
namespace {

// sum of weight[k] * value[k], compensated, in order.
double dot(std::span<const double> a, std::span<const double> b) {
    CompensatedSum sum;
    for (std::size_t k = 0; k < a.size(); ++k) sum.add(a[k] * b[k]);
    return sum.value();
}

void check_places(const char* what, const FeatureSet& features, std::span<const std::int64_t> places) {
    for (std::size_t k = 0; k < places.size(); ++k) {
        if (places[k] < 0 || places[k] >= features.size() || (k > 0 && places[k] <= places[k - 1])) {
            throw InputError(
                message(what, ": expected ascending places below ", features.size(), ", found ", places[k]));
        }
    }
}

// C of the label n-grams.
void count_ngrams(const Corpus& corpus, std::span<const double> weights, const FeatureSet& features,
                  std::vector<double>& counts) {
    std::unordered_map<std::uint64_t, std::size_t> place;  // of attribute and string
    const auto key = [](std::uint32_t x, std::uint32_t string) { return std::uint64_t{x} << 32 | string; };
    for (std::size_t k = 0; k < features.ngram_string.size(); ++k) {
        place[key(features.ngram_attribute[k], features.ngram_string[k])] =
            static_cast<std::size_t>(features.first_ngram()) + k;
    }
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        const double weight = weights[static_cast<std::size_t>(i)];
        if (weight == 0.0) continue;
        const std::int32_t* path = corpus.labels.data() + corpus.offsets[i];
        for (std::int64_t t = 0; t < corpus.length(i); ++t) {
            const std::int64_t position = corpus.offsets[i] + t;
            features.strings.for_each_suffix(path, t, [&](std::uint32_t string) {
                const auto add = [&](const ListPool& lists, std::uint32_t list) {
                    for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
                        const auto found = place.find(key(lists.id(k), string));
                        if (found != place.end()) counts[found->second] += weight * lists.value(k);
                    }
                };
                if (features.strings.length(string) < 3) return;
                add(corpus.base_lists, corpus.base[position]);
                add(corpus.rest_lists, corpus.rest[position]);
            });
        }
    }
}

}  // namespace

Oracle::Oracle(const Corpus& corpus, Kernel kernel, int threads)
    : corpus_(corpus), kernel_(kernel), threads_(resolve_threads(threads)), plan_(corpus) {}

const std::vector<double>& Oracle::counts(const FeatureSet& features) {
    features.check_fits(corpus_);
    if (counts_of_ == features.serial) return counts_;
    counts_of_ = 0;
    count(features, plan_.count_weight, counts_);
    counts_of_ = features.serial;
    return counts_;
}

// The counts of the attributes of one share.
void Oracle::count_share(const FeatureSet& features, std::span<const double> weights, std::size_t share,
                         std::vector<double>& counts) const {
    const auto n_shares = static_cast<std::size_t>(threads_);
    const auto add = [&](const auto& ptr, const auto& cells, std::int64_t offset, const ListPool& lists,
                         std::uint32_t list, std::uint32_t cell, double weight) {
        for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
            if (share_of_attribute(lists.id(k), n_shares) != share) continue;
            const auto begin = cells.begin() + ptr[lists.id(k)], end = cells.begin() + ptr[lists.id(k) + 1];
            const auto found = std::lower_bound(begin, end, cell);
            if (found == end || *found != cell) continue;
            counts[static_cast<std::size_t>(offset + (found - cells.begin()))] += weight * lists.value(k);
        }
    };
    const LabelPairs pairs(corpus_.n_labels);
    for (std::int64_t i = 0; i < corpus_.n_sequences(); ++i) {
        const double weight = weights[static_cast<std::size_t>(i)];
        if (weight == 0.0) continue;
        std::uint32_t previous = pairs.start();
        for (std::int64_t t = corpus_.offsets[i]; t < corpus_.offsets[i + 1]; ++t) {
            const auto y = static_cast<std::uint32_t>(corpus_.labels[t]);
            const std::uint32_t pair = pairs.pair(previous, y);
            add(features.unigram_ptr, features.unigram_label, 0, corpus_.unigram_lists, corpus_.unigram[t], y, weight);
            for (std::size_t k = 0; features.parts != nullptr && k < features.parts->cells_of(y).size(); ++k) {
                add(features.unigram_ptr, features.unigram_label, 0, corpus_.unigram_lists, corpus_.unigram[t],
                    features.parts->cells_of(y)[k], weight);
            }
            add(features.bigram_ptr, features.bigram_pair, features.n_unigram(), corpus_.base_lists, corpus_.base[t],
                pair, weight);
            add(features.bigram_ptr, features.bigram_pair, features.n_unigram(), corpus_.rest_lists, corpus_.rest[t],
                pair, weight);
            if (features.n_class() > 0) {
                const std::uint32_t of_classes = features.parts->class_pair(previous, y);
                add(features.class_ptr, features.class_pair, features.first_class(), corpus_.base_lists,
                    corpus_.base[t], of_classes, weight);
                add(features.class_ptr, features.class_pair, features.first_class(), corpus_.rest_lists,
                    corpus_.rest[t], of_classes, weight);
            }
            previous = y;
        }
    }
}

void Oracle::count(const FeatureSet& features, std::span<const double> weights, std::vector<double>& counts) const {
    counts.assign(static_cast<std::size_t>(features.size()), 0.0);
    parallel_for(threads_, threads_, 1, [&](int, std::int64_t share) {
        count_share(features, weights, static_cast<std::size_t>(share), counts);
    });
    if (features.n_ngram() > 0) count_ngrams(corpus_, weights, features, counts);
    if (corpus_.n_dense > 0) count_dense(corpus_, weights, features, counts);
}

Oracle::Prepared::Prepared(const Corpus& corpus, const FeatureSet& features, int threads)
    : serial(features.serial), unigrams(corpus, features, threads), pairs(corpus, features) {
    if (features.n_ngram() > 0) ngrams = std::make_shared<NgramTables>(std::make_shared<NgramPlaces>(features), corpus);
}

Oracle::Prepared& Oracle::prepare(const FeatureSet& features, std::span<const double> w) {
    if (prepared_ == nullptr || prepared_->serial != features.serial) {
        prepared_.reset();
        trim();
        prepared_ = std::make_unique<Prepared>(corpus_, features, threads_);
    }
    Prepared& of = *prepared_;
    of.rows = UnigramRows(features, w, of.unigrams.attributes);
    if (!of.potentials) of.potentials.emplace(corpus_, of.unigrams.lists, kernel_, threads_, &of.pairs);
    of.potentials->assign(features, w, of.rows);
    if (of.ngrams != nullptr) of.ngrams->places->assign(w, threads_);
    of.potentials->set_ngrams(of.ngrams);
    return of;
}

void Oracle::trim() const {
    constexpr std::int64_t kMany = 1 << 20;  // entries, 4 bytes each in a few tables
    if (corpus_.unigram_lists.n_entries() >= kMany) trim_heap();
}

void Oracle::release_sums(Prepared& of) {
    rows_ = {};
    of.unigrams.blocks = {};
    of.sums.reset();
    of.class_sums.reset();
    trim();
}

void Oracle::release_tables() {
    rows_ = {};
    if (prepared_ == nullptr) return;
    prepared_->rows = {};
    prepared_->potentials.reset();
    prepared_->sums.reset();
    prepared_->class_sums.reset();
    prepared_->ngram_sums.reset();
    prepared_->dense_sums.reset();
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

double Oracle::pass(const Potentials& potentials, std::span<const double> weights, const Visit& visit,
                    const NgramExpectations* sums) {
    const Plan& plan = plan_for(potentials);
    const auto n_blocks = static_cast<std::int64_t>(plan.blocks.size());
    const auto n_rows = static_cast<std::size_t>(std::min<std::int64_t>(threads_, n_blocks));
    const bool derivatives = static_cast<bool>(visit);
    rows_.resize(n_rows);
    std::vector<Recursion> recursions;
    for (std::size_t k = 0; k < n_rows; ++k) recursions.emplace_back(potentials, derivatives);
    std::vector<NgramBatch> batches;
    for (std::size_t k = 0; NgramBatch::suits(potentials) && k < n_rows; ++k)
        batches.emplace_back(potentials, recursions[k]);
    std::vector<double> log_z(plan.items.size());
    in_turns(n_blocks, threads_, [&](int thread, std::int64_t b, Turn& turn) {
        const auto block = static_cast<std::size_t>(b), own = static_cast<std::size_t>(thread);
        run_block(plan, plan.blocks[block], potentials, weights, derivatives, sums, recursions[own],
                  batches.empty() ? nullptr : &batches[own], rows_[own], log_z);
        if (visit) visit(thread, block, rows_[own], turn);
    });
    return dot(weights, log_z);
}

void Oracle::run_block(const Plan& plan, const Block& block, const Potentials& potentials,
                       std::span<const double> weights, bool derivatives, const NgramExpectations* sums,
                       Recursion& recursion, NgramBatch* batch, BlockRows& rows, std::span<double> log_z) const {
    const auto stride = static_cast<std::size_t>(potentials.stride());
    const LabelParts* parts = potentials.parts();
    const auto cell_stride = static_cast<std::size_t>(parts == nullptr ? 0 : padded(parts->n_cells()));
    for (AlignedVector<double>* x : {&rows.alpha, &rows.v, &rows.p})
        x->resize(static_cast<std::size_t>(plan.max_rows) * stride);
    rows.cells.resize(static_cast<std::size_t>(plan.max_rows) * cell_stride);
    const LabelParts* classes = derivatives ? potentials.classes() : nullptr;
    const std::size_t class_stride = classes == nullptr ? 0 : class_row_size(*classes);
    rows.classes.resize(static_cast<std::size_t>(plan.max_rows) * class_stride);
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
    const bool together = batch != nullptr;
    if (sums != nullptr) sums->clear(rows.ngram_sums);
    if (together) {
        batch->run(lattices, weights.subspan(first_item, lattices.size()), derivatives,
                   sums == nullptr ? nullptr : &rows.ngram_sums);
    }
    rows.alone = !together;
    for (std::size_t i = 0; i < lattices.size(); ++i) {
        Lattice& lattice = *lattices[i];
        const std::size_t k = first_item + i, first_row = static_cast<std::size_t>(rows.first_row[i]);
        const auto length = static_cast<std::size_t>(lattice.length);
        if (!together) recursion.forward(lattice);
        log_z[k] = lattice.log_z;
        if (!derivatives) continue;
        if (!together) recursion.backward(lattice);
        rows.alone |= lattice.ngrams.any() && !lattice.ngrams.together;
        for (std::size_t t = 0; parts != nullptr && t < length; ++t)
            parts->unfold(lattice.p + t * stride, rows.cells.data() + (first_row + t) * cell_stride);
        for (std::size_t t = 0; classes != nullptr && t < length; ++t) {
            recursion.class_marginals(lattice, static_cast<std::int64_t>(t),
                                      rows.classes.data() + (first_row + t) * class_stride);
        }
        if (weights[k] == 1.0 || lattice.logarithmic) continue;
        for (std::size_t c = 0; c < length * stride; ++c) lattice.v[c] *= weights[k];
    }
}

double Oracle::expectations(const FeatureSet& features, std::span<const double> w, std::span<const double> weights,
                            std::span<double> g, std::span<double> h) {
    Prepared& of = prepare(features, w);
    const Plan& plan = plan_for(*of.potentials);
    if (of.unigrams.blocks.empty()) of.unigrams.make_blocks(corpus_, plan, threads_);
    if (!of.sums) of.sums.emplace(corpus_, of.pairs, kernel_, threads_);
    Expectations sums(features, of.unigrams, g, h, threads_);
    of.sums->begin(!h.empty());
    if (features.n_class() > 0) {
        if (!of.class_sums) of.class_sums.emplace(corpus_, features);
        of.class_sums->begin(!h.empty());
    }
    if (of.ngrams != nullptr) {
        if (!of.ngram_sums) of.ngram_sums.emplace(*of.ngrams, corpus_, plan, threads_);
        of.ngram_sums->begin(!h.empty());
    }
    if (corpus_.n_dense > 0) {
        if (!of.dense_sums) of.dense_sums.emplace(corpus_, plan, threads_);
        of.dense_sums->begin(!h.empty());
    }
    const Visit visit = [&](int thread, std::size_t b, BlockRows& rows, Turn& turn) {
        sums.add(plan.blocks[b], of.unigrams.blocks[b], rows, turn);
        if (of.dense_sums) of.dense_sums->add(thread, plan.blocks[b], rows, turn);
        if (of.class_sums) of.class_sums->add(plan.blocks[b], rows, features, g, h, turn);
        if (of.ngrams != nullptr) of.ngram_sums->add(thread, b, rows, turn);
        of.sums->add(*of.potentials, plan.blocks[b], rows, turn);
    };
    const double log_z = pass(*of.potentials, weights, visit, of.ngrams == nullptr ? nullptr : &*of.ngram_sums);
    of.sums->finish(*of.potentials, features, g, h);
    if (of.class_sums) of.class_sums->finish(features, g, h);
    if (of.ngrams != nullptr) of.ngram_sums->finish(g, h);
    if (of.dense_sums) of.dense_sums->finish(features, g, h);
    return log_z;
}

Screen Oracle::screened(const FeatureSet& features, std::span<const double> w, double bound, const Masses* whole) {
    features.check_fits(corpus_);
    features.check_weights(w);
    if (!(bound > 0.0)) throw InputError(message("screening: expected a bound > 0, found ", bound));
    Prepared& of = prepare(features, w);
    release_sums(of);  // a screening ends the gradients over a set: they make room for what is summed here
    Screen screen(corpus_, plan_for(*of.potentials), features.parts.get(), bound, threads_, whole);
    pass(*of.potentials, item_weights(),
         [&](int thread, std::size_t b, BlockRows& rows, Turn& turn) { screen.add(thread, b, rows, turn); });
    screen.finish(*of.potentials);
    return screen;
}

std::vector<std::int64_t> Oracle::candidates(const FeatureSet& features, std::span<const double> w, double bound) {
    return screened(features, w, bound, nullptr).candidates();
}

void Oracle::ngram_bounds(const FeatureSet& features, std::span<const double> w, std::span<const std::int64_t> listed,
                          std::span<double> bound, std::span<double> counts) {
    features.check_fits(corpus_);
    features.check_weights(w);
    check_places("listed", features, listed);
    std::fill(bound.begin(), bound.end(), 0.0);
    std::fill(counts.begin(), counts.end(), 0.0);
    NgramScreen(corpus_, plan_, features, listed).sum(*prepare(features, w).potentials, threads_, bound, counts);
}

ShardSums Oracle::shard_sums(const FeatureSet& features, std::span<const double> w, double bound, const Masses& whole,
                             double fraction) {
    for (const std::vector<double>* mass : {&whole.unigram, &whole.start, &whole.inner}) {
        if (mass->size() != corpus_.n_attributes) {
            throw InputError(message("masses of all shards: expected ", corpus_.n_attributes,
                                     ", one per attribute, found ", mass->size()));
        }
    }
    if (!(fraction > 0.0 && fraction <= 1.0)) {
        throw InputError(message("screening: expected a fraction above 0 and at most 1, found ", fraction));
    }
    return screened(features, w, bound, &whole).sums_above(fraction);
}

void Oracle::block_curvature(const FeatureSet& features, std::span<const double> w, std::span<const std::int64_t> block,
                             int every, std::span<double> h) {
    features.check_fits(corpus_);
    features.check_weights(w);
    check_places("block", features, block);
    if (every < 1) throw InputError(message("block: expected every first or later item, found every ", every));
    std::fill(h.begin(), h.end(), 0.0);
    BlockCurvature(corpus_, plan_, features, block).sum(*prepare(features, w).potentials, every, threads_, h);
}

std::vector<double> Oracle::gradient_with_factors(const FeatureSet& features, std::span<const double> w,
                                                  std::span<const double> s) {
    std::vector<double> weights = item_weights(), of_sequence(plan_.count_weight.size(), 0.0), g;
    for (std::size_t k = 0; k < weights.size(); ++k) {
        weights[k] *= s[k];
        of_sequence[static_cast<std::size_t>(plan_.items[k].sequence)] += weights[k];
    }
    count(features, of_sequence, g);
    for (double& c : g) c = -c;
    expectations(features, w, weights, g, {});
    return g;
}

double Oracle::sequence_factors(const FeatureSet& features, std::span<const double> w,
                                std::span<const std::int64_t> listed, const FactorOptions& options,
                                std::span<double> G) {
    features.check_fits(corpus_);
    features.check_weights(w);
    check_places("listed", features, listed);
    if (!(options.rho2 > 0.0)) throw InputError(message("rho2: expected a number above 0, found ", options.rho2));
    if (corpus_.n_dense > 0 || !signs_agree()) {
        throw InputError("factors of sequences: expected no vectors, negative values and missing labels, found some");
    }
    SequenceFactors factors(corpus_, plan_, features, w, listed);
    Prepared& of = prepare(features, w);
    release_sums(of);  // the gradients of all sequences need the room
    factors.collect(*of.potentials, options, threads_);
    const auto own = [&] {  // G of this corpus, at the listed places
        const std::vector<double> whole = gradient_with_factors(features, w, factors.factors());
        std::vector<double> g(listed.size());
        for (std::size_t k = 0; k < g.size(); ++k) g[k] = whole[static_cast<std::size_t>(listed[k])];
        return g;
    };
    const std::vector<double> total(G.begin(), G.end()), at_1 = options.alone ? total : own();
    factors.ascend(options, G);
    factors.release_gradients();
    const std::vector<double> found = own();
    // What was left out of the gradients may have misled the ascent.
    std::vector<double> all(listed.size());
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = total[k] - at_1[k] + found[k];
    const double bound = factors.bound(options, all), entropy = factors.entropy();
    factors.reset();
    const bool better = bound > factors.bound(options, total);
    std::copy_n(better ? found.begin() : at_1.begin(), listed.size(), G.begin());
    return better ? entropy : factors.entropy();
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
    features.check_fits(corpus_);
    features.check_weights(w);
    return pass(*prepare(features, w).potentials, item_weights(), {}) - dot(w, counts(features));
}

double Oracle::gradient(const FeatureSet& features, std::span<const double> w, std::span<double> g, std::span<double> h,
                        std::span<const double> given) {
    features.check_fits(corpus_);
    features.check_weights(w);
    if (!given.empty()) features.check_weights(given);
    const std::span<const double> count = given.empty() ? std::span<const double>(counts(features)) : given;
    for (std::size_t k = 0; k < g.size(); ++k) g[k] = -count[k];
    std::fill(h.begin(), h.end(), 0.0);
    const bool mixed =
        std::any_of(plan_.items.begin(), plan_.items.end(), [](const Item& i) { return i.weight < 0.0; });
    std::vector<double> weights = item_weights();
    const double sum = expectations(features, w, weights, g, mixed ? std::span<double>() : h);
    if (mixed && !h.empty()) {  // of the items of positive weight alone
        for (double& weight : weights) weight = std::max(weight, 0.0);
        std::vector<double> unused(g.size());
        expectations(features, w, weights, unused, h);
    }
    return sum - dot(w, count);
}

}  // namespace sparsecrf
