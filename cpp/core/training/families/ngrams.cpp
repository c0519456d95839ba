// Features of an attribute and a string of three or more labels, and their contribution to the label pairs of base
// lists. Sums are computed by arc, and by place and base list, then distributed over the features.
#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"
#include "core/base/shares.hpp"
#include "core/inference/ngrams/ngram_places.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/families/family.hpp"

namespace sparsecrf {
namespace {

constexpr int kTile = 32;                      // rows
constexpr std::uint32_t kLeavesAtOnce = 1024;  // approximate number of leaves per part

class NgramFamily final : public Family {
   public:
    explicit NgramFamily(SetTables& tables);
    static bool present(const Corpus&, const FeatureSet& features) { return features.n_ngram() > 0; }
    static void count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                      std::span<double> counts);

    void begin(const GradientPass& pass) override;
    void open(BlockRows& rows) override;
    void add(int thread, std::size_t block, BlockRows& rows, Turn& turn) override;
    void finish() override;

   private:
    // A pair of a kind (NgramTables) that is a feature of the base list.
    struct Listed {
        std::uint32_t pair;     // index in the place
        std::uint32_t feature;  // index in the set
        double value;           // value of its attribute
    };
    struct Pairs {
        std::vector<Listed> listed;
        std::size_t first;  // index of its first pair in the sums
    };
    // The leaves of the histories [first, last).
    struct Part {
        std::uint32_t arcs, first, last;
        std::uint32_t number;  // index among all parts
    };
    // Sums of w p and w p^2.
    struct Sums {
        std::vector<double> p, square;
        void begin(std::size_t n, bool curvature) {
            p.assign(n, 0.0);
            square.assign(curvature ? n : 0, 0.0);
        }
    };
    // A tile of rows, by history and by node.
    struct Tile {
        AlignedVector<double> mass, mass2, flow, flow2;
    };
    void lay(const Plan& plan);
    void cut_parts();
    Occurrences index(const Block& block, const Plan& plan, const std::vector<std::uint32_t>& key_of) const;
    void add_arcs(const Part& part, std::span<const std::uint32_t> rows_of, const BlockRows& rows, Tile& tile);
    void add_tile(const Part& part, Tile& tile);
    void list_pairs(std::uint32_t kind);
    void add_sums(std::size_t share, std::size_t n_shares, const NgramSums& of);
    void add_pairs(std::uint32_t kind, std::span<const std::uint32_t> rows_of, const BlockRows& rows);

    NgramTables& ngrams_;
    const Kernels& kernels_;
    const int stride_;                                      // Yp
    std::vector<Pairs> kinds_;                              // [kinds]
    std::vector<Occurrences> rows_by_kind_, rows_by_arcs_;  // [blocks]; empty before the first pass
    std::vector<std::vector<Part>> parts_;                  // [arcs]
    std::vector<std::size_t> first_arc_;                    // [arc sets] index of the first arc in the sums
    std::size_t n_arcs_ = 0, n_pairs_ = 0;                  // totals over all arc sets and kinds
    // leaves_: sums for leaves in the linear domain, without their factors X and X^2. arcs_: sums for all other arcs.
    // pairs_: sums of w (p - b) and w (p^2 - b^2), where b is the probability without n-grams.
    Sums leaves_, arcs_, pairs_;
    std::vector<Tile> tiles_;  // [threads]
};

NgramFamily::NgramFamily(SetTables& tables)
    : Family(tables),
      ngrams_(*tables.ngrams),
      kernels_(kernels()),
      stride_(padded(tables.corpus.n_labels)),
      tiles_(static_cast<std::size_t>(tables.threads)) {}

void NgramFamily::count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int,
                        std::span<double> counts) {
    std::unordered_map<std::uint64_t, std::size_t> place;  // (attribute, string) to index
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
                if (features.strings.length(string) < 3) return;
                corpus.for_each_bigram(position, [&](std::uint32_t x, double value) {
                    const auto found = place.find(key(x, string));
                    if (found != place.end()) counts[found->second] += weight * value;
                });
            });
        }
    }
}

void NgramFamily::lay(const Plan& plan) {
    std::vector<std::uint32_t> arcs_of(ngrams_.kind_of.size(), kNoString);  // [P]
    for (std::size_t p = 0; p < ngrams_.kind_of.size(); ++p) {
        const NgramPlace* place = ngrams_.at(static_cast<std::int64_t>(p));
        if (place != nullptr && place->arcs->n_arcs() > 0) arcs_of[p] = place->arcs_id;
    }
    ngrams_.listed.assign(ngrams_.kinds.size(), {});
    for (std::uint32_t kind = 0; kind < ngrams_.kinds.size(); ++kind) list_pairs(kind);
    cut_parts();
    rows_by_kind_.resize(plan.blocks.size());
    rows_by_arcs_.resize(plan.blocks.size());
    parallel_for(static_cast<std::int64_t>(plan.blocks.size()), tables_.threads, 1, [&](int, std::int64_t b) {
        const auto k = static_cast<std::size_t>(b);
        rows_by_kind_[k] = index(plan.blocks[k], plan, ngrams_.kind_of);
        rows_by_arcs_[k] = index(plan.blocks[k], plan, arcs_of);
    });
}

void NgramFamily::cut_parts() {
    std::uint32_t n_parts = 0;
    for (std::uint32_t id = 0; id < ngrams_.places->n_arcs(); ++id) {
        const NgramArcs& arcs = ngrams_.places->arcs(id);
        first_arc_.push_back(n_arcs_);
        n_arcs_ += arcs.n_arcs();
        std::vector<Part>& parts = parts_.emplace_back();
        const auto n = static_cast<std::uint32_t>(arcs.leaf_ptr.size()) - 1;
        for (std::uint32_t h = 0; h < n || parts.empty();) {
            const std::uint32_t first = h;
            while (h < n && arcs.leaf_ptr[h + 1] - arcs.leaf_ptr[first] <= kLeavesAtOnce) ++h;
            if (h == first && h < n) ++h;
            parts.push_back({id, first, h, n_parts++});
            if (n == 0) break;
        }
    }
}

// Groups the rows of a block by key and keeps their order within each group.
Occurrences NgramFamily::index(const Block& block, const Plan& plan, const std::vector<std::uint32_t>& key_of) const {
    const Corpus& corpus = tables_.corpus;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // key, row
    std::uint32_t row = 0;
    for (std::int64_t k = block.first_item; k < block.last_item; ++k) {
        const std::int64_t i = plan.items[static_cast<std::size_t>(k)].sequence;
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t, ++row) {
            const std::uint32_t key = key_of[static_cast<std::size_t>(t)];
            if (key != kNoString) found.emplace_back(key, row);
        }
    }
    std::sort(found.begin(), found.end());
    Occurrences made;
    for (std::size_t k = 0; k < found.size(); ++k) {
        if (k == 0 || found[k].first != found[k - 1].first) {
            if (k > 0) made.ptr.push_back(static_cast<std::uint32_t>(k));
            made.keys.push_back(found[k].first);
        }
        made.rows.push_back(found[k].second);
    }
    if (!found.empty()) made.ptr.push_back(static_cast<std::uint32_t>(found.size()));
    return made;
}

void NgramFamily::begin(const GradientPass& pass) {
    pass_ = &pass;
    if (rows_by_kind_.empty()) lay(pass.plan);
    for (Sums* of : {&leaves_, &arcs_}) of->begin(n_arcs_, pass.curvature());
    pairs_.begin(n_pairs_, pass.curvature());
}

void NgramFamily::open(BlockRows& rows) {
    rows.ngram_sums.clear(ngrams_.places->n_arcs(), pass_->curvature());
    rows.sum_ngrams = true;
}

// Each turn handles one share of the arc parts and of the kinds.
void NgramFamily::add(int thread, std::size_t block, BlockRows& rows, Turn& turn) {
    const Occurrences &by_arcs = rows_by_arcs_[block], &by_kind = rows_by_kind_[block];
    const auto rows_of = [](const Occurrences& of, std::size_t key) {
        return std::span(of.rows).subspan(of.ptr[key], of.ptr[key + 1] - of.ptr[key]);
    };
    const bool alone =
        std::any_of(rows.lattices.begin(), rows.lattices.begin() + static_cast<std::ptrdiff_t>(rows.first_row.size()),
                    [](const Lattice& of) { return !of.ngrams.together; });
    const std::size_t n_shares = shares_in_turns(tables_.threads);
    for (std::size_t share = 0; share < n_shares; ++share) {
        turn([&] {
            add_sums(share, n_shares, rows.ngram_sums);
            for (std::size_t key = 0; alone && key < by_arcs.keys.size(); ++key) {
                for (const Part& part : parts_[by_arcs.keys[key]]) {
                    if (share_of(part.number, n_shares) != share) continue;
                    add_arcs(part, rows_of(by_arcs, key), rows, tiles_[static_cast<std::size_t>(thread)]);
                }
            }
            for (std::size_t key = 0; key < by_kind.keys.size(); ++key) {
                if (share_of(by_kind.keys[key], n_shares) != share) continue;
                add_pairs(by_kind.keys[key], rows_of(by_kind, key), rows);
            }
        });
    }
}

// For leaves, sum_t w A_t(c) flow_t(parent) is a matrix product, computed for the leaves only, a tile of rows at a
// time; X is multiplied in at the end. The first part handles inner arcs and arcs in the log domain.
void NgramFamily::add_arcs(const Part& part, std::span<const std::uint32_t> rows_of, const BlockRows& rows,
                           Tile& tile) {
    const NgramArcs& arcs = ngrams_.places->arcs(part.arcs);
    const std::size_t n_histories = part.last - part.first, n_nodes = arcs.n_nodes();
    for (AlignedVector<double>* x : {&tile.mass, &tile.mass2}) x->resize(n_histories * kTile);
    for (AlignedVector<double>* x : {&tile.flow, &tile.flow2}) x->resize(n_nodes * kTile);
    const bool first = part.first == 0;
    double* sum = arcs_.p.data() + first_arc_[part.arcs];
    double* square = pass_->curvature() ? arcs_.square.data() + first_arc_[part.arcs] : nullptr;
    std::size_t column = 0;
    for (const std::uint32_t r : rows_of) {
        const std::uint32_t item = rows.item[r];
        const NgramLattice& of = rows.lattices[item].ngrams;
        if (of.together) continue;
        const std::int64_t t = r - rows.first_row[item];
        const double weight = rows.weight[r];
        const double* p = of.p.data() + of.arc_ptr[t];
        const std::size_t begin = of.logarithmic ? 0 : arcs.n_leaves();
        for (std::size_t g = begin; first && g < arcs.n_arcs(); ++g) {
            sum[g] += weight * p[g - begin];
            if (pass_->curvature()) square[g] += weight * p[g - begin] * p[g - begin];
        }
        if (of.logarithmic || n_histories == 0) continue;
        const double* mass = of.before(t) + part.first;
        const double* flow = of.flow.data() + of.node_ptr[t];
        for (std::size_t h = 0; h < n_histories; ++h) tile.mass[h * kTile + column] = weight * mass[h];
        for (std::size_t n = 0; n < n_nodes; ++n) tile.flow[n * kTile + column] = flow[n];
        for (std::size_t h = 0; pass_->curvature() && h < n_histories; ++h)
            tile.mass2[h * kTile + column] = weight * mass[h] * mass[h];
        if (++column == kTile) {
            add_tile(part, tile);
            column = 0;
        }
    }
    if (column == 0) return;
    for (std::size_t h = 0; h < n_histories; ++h) {
        std::fill_n(tile.mass.data() + h * kTile + column, kTile - column, 0.0);
        std::fill_n(tile.mass2.data() + h * kTile + column, kTile - column, 0.0);
    }
    for (std::size_t n = 0; n < n_nodes; ++n) std::fill_n(tile.flow.data() + n * kTile + column, kTile - column, 0.0);
    add_tile(part, tile);
}

// Adds the sums of positions that were processed side by side. The sums are split into parts as in add_arcs, so that
// each sum is updated in one turn only.
void NgramFamily::add_sums(std::size_t share, std::size_t n_shares, const NgramSums& of) {
    for (std::size_t k = 0; k < of.used.size(); ++k) {
        const NgramArcs& arcs = ngrams_.places->arcs(of.used[k]);
        const std::size_t first_arc = first_arc_[of.used[k]];
        const auto add = [&](const std::vector<double>& from, std::vector<double>& to, std::size_t begin,
                             std::size_t end) {
            for (std::size_t g = begin; g < end; ++g) to[first_arc + g] += from[of.first[k] + g];
        };
        for (const Part& part : parts_[of.used[k]]) {
            if (share_of(part.number, n_shares) != share) continue;
            const std::size_t begin = arcs.leaf_ptr[part.first], end = arcs.leaf_ptr[part.last];
            add(of.p, leaves_.p, begin, end);
            if (pass_->curvature()) add(of.square, leaves_.square, begin, end);
            if (part.first != 0) continue;
            add(of.p, arcs_.p, arcs.n_leaves(), arcs.n_arcs());
            if (pass_->curvature()) add(of.square, arcs_.square, arcs.n_leaves(), arcs.n_arcs());
        }
    }
}

void NgramFamily::add_tile(const Part& part, Tile& tile) {
    const NgramArcs& arcs = ngrams_.places->arcs(part.arcs);
    const auto add = [&](const AlignedVector<double>& mass, const AlignedVector<double>& flow, double* sum) {
        for (std::uint32_t h = part.first; h < part.last; ++h) {
            const double* row = mass.data() + std::size_t{h - part.first} * kTile;
            for (std::uint32_t k = arcs.leaf_ptr[h]; k < arcs.leaf_ptr[h + 1]; ++k) {
                sum[k] += kernels_.dot(row, flow.data() + std::size_t{arcs.parent[k]} * kTile, kTile);
            }
        }
    };
    add(tile.mass, tile.flow, leaves_.p.data() + first_arc_[part.arcs]);
    if (!pass_->curvature()) return;
    for (std::size_t k = 0; k < tile.flow.size(); ++k) tile.flow2[k] = tile.flow[k] * tile.flow[k];
    add(tile.mass2, tile.flow2, leaves_.square.data() + first_arc_[part.arcs]);
}

void NgramFamily::list_pairs(std::uint32_t kind) {
    const FeatureSet& features = ngrams_.places->features();
    const NgramPlace& place = *ngrams_.kinds[kind].place;
    const std::uint32_t base = ngrams_.kinds[kind].base;
    const ListPool& base_lists = tables_.corpus.base_lists;
    Pairs& made = kinds_.emplace_back();
    std::vector<std::uint32_t>& pairs = ngrams_.listed[kind];
    for (std::int64_t e = base_lists.begin(base); e < base_lists.end(base); ++e) {
        const std::uint32_t x = base_lists.id(e);
        const std::span<const std::uint32_t> row = features.bigram_pairs_of(x);
        const auto first = static_cast<std::uint32_t>(features.n_unigram() + features.bigram_ptr[x]);
        for (const auto part : {place.own_pairs(), place.other_pairs()}) {
            std::uint32_t j = 0;
            for (const std::uint32_t& pair : part) {
                while (j < row.size() && row[j] < pair) ++j;
                if (j == row.size()) break;
                if (row[j] != pair) continue;
                const auto k = static_cast<std::uint32_t>(&pair - place.pair.data());
                made.listed.push_back({k, first + j, base_lists.value(e)});
                pairs.push_back(k);
            }
        }
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    for (Listed& each : made.listed) {  // each.pair becomes the index of the sum
        each.pair = static_cast<std::uint32_t>(std::lower_bound(pairs.begin(), pairs.end(), each.pair) - pairs.begin());
    }
    made.first = n_pairs_;
    n_pairs_ += pairs.size();
}

// With b = alpha E v, p = b + extra: p^2 - b^2 = extra (2 b + extra). Rows of v hold w v.
void NgramFamily::add_pairs(std::uint32_t kind, std::span<const std::uint32_t> rows_of, const BlockRows& rows) {
    const NgramPlace& place = *ngrams_.kinds[kind].place;
    const std::vector<std::uint32_t>& pairs = ngrams_.listed[kind];
    const std::size_t n = pairs.size();
    double* sum = pairs_.p.data() + kinds_[kind].first;
    double* square = pass_->curvature() ? pairs_.square.data() + kinds_[kind].first : nullptr;
    std::vector<double> gathered(n);
    for (const std::uint32_t r : rows_of) {
        const std::uint32_t item = rows.item[r];
        const Lattice& lattice = rows.lattices[item];
        const NgramLattice& of = lattice.ngrams;
        if (of.logarithmic) continue;
        const std::int64_t t = r - rows.first_row[item];
        const double w = rows.weight[r];
        const double* extra = gathered.data();
        if (of.together) {
            extra = of.listed.data() + of.listed_ptr[t];
        } else {
            for (std::size_t k = 0; k < n; ++k) gathered[k] = of.extra[of.pair_ptr[t] + pairs[k]];
        }
        for (std::size_t k = 0; k < n; ++k) sum[k] += w * extra[k];
        if (!pass_->curvature()) continue;
        const double* v = lattice.v + t * stride_;
        const double* alpha = t == 0 ? nullptr : lattice.alpha + (t - 1) * stride_;
        for (std::size_t k = 0; k < n; ++k) {
            const std::uint32_t pair = pairs[k];
            const double b = (t == 0 ? 1.0 : alpha[place.pair_previous[pair]]) * of.weight[t][pair] *
                             v[place.pair_label[pair]];  // multiplied by w
            square[k] += extra[k] * (2.0 * b + w * extra[k]);
        }
    }
}

// E[x, g] += v sum_t w p_t(g);  h[x, g] += v^2 sum_t w p_t(g) (1 - p_t(g))
void NgramFamily::finish() {
    const std::span<double> g = pass_->g, h = pass_->h;
    const auto offset = static_cast<std::size_t>(ngrams_.places->features().first_ngram());
    for (std::uint32_t id = 0; id < ngrams_.places->n_arcs(); ++id) {
        const NgramArcs& arcs = ngrams_.places->arcs(id);
        for (const NgramArcs::Term& term : arcs.terms) {
            const std::size_t arc = first_arc_[id] + term.arc, f = offset + term.feature;
            const double x = arcs.x[term.arc], linear = leaves_.p[arc];  // X may overflow in the log domain
            const double p = arcs_.p[arc] + (linear == 0.0 ? 0.0 : x * linear);
            g[f] += term.value * p;
            if (!pass_->curvature()) continue;
            const double square = arcs_.square[arc] + (linear == 0.0 ? 0.0 : x * x * leaves_.square[arc]);
            h[f] += term.value * term.value * (p - square);
        }
    }
    for (const Pairs& kind : kinds_) {
        for (const Listed& each : kind.listed) {
            const std::size_t k = kind.first + each.pair;
            g[each.feature] += each.value * pairs_.p[k];
            if (pass_->curvature()) h[each.feature] += each.value * each.value * (pairs_.p[k] - pairs_.square[k]);
        }
    }
}

}  // namespace

FamilyKind ngram_family() { return family_kind<NgramFamily>(); }

}  // namespace sparsecrf
