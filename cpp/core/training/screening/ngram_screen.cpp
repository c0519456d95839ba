// Finds the label n-grams that are one label longer than the current n-grams and could violate their optimality
// condition.
//
// If g has n labels and ends at t, a label b in front of g is at position s = t - n, followed by g's first label y. For
// an attribute x with value v at t,
//
//     E[x, b g]  <=  U[x, b g] = sum_t w v min( p_t(g), p_{s+1}(b, y) )
//
// where p is the probability of the strings that end at these positions. A string is therefore a candidate only if its
// parts are likely at the same positions, which is far more selective than comparing sums. Probabilities below
// kUnlikelyString are added for every b. The counts C[x, b g] are computed along the way.
//
// If no string of the set is longer than a triple, E is exact for triples (triples.hpp), and U = E.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/error.hpp"
#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"
#include "core/corpus/numbering.hpp"
#include "core/inference/recursion.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/item_runs.hpp"
#include "core/training/oracle.hpp"
#include "core/training/screening/triples.hpp"

namespace sparsecrf {
namespace {

constexpr double kUnlikelyString = 1e-6;
constexpr std::int64_t kMostItems = 32, kMostCells = 1 << 23;  // cells: labels times positions, at least 4 bytes each

class NgramScreen {
   public:
    // listed: indices in the set, in ascending order, of features with at least two labels that do not begin with the
    // start label.
    NgramScreen(const Corpus& corpus, const Plan& plan, const FeatureSet& features,
                std::span<const std::int64_t> listed);

    // U and C, [L, Y + 1] by listed feature and preceding label (Y: the start), zero on entry. Returns the number of
    // items for which U differs from E for strings that are not in the set.
    std::int64_t sum(const Potentials& potentials, int threads, std::span<double> bound, std::span<double> counts);

   private:
    // A listed feature at a position. For bounds, the feature is likely, its weight is w v, and it contributes w v
    // min(p, column), where the column holds pair probabilities. For E it contributes w v alpha F q.
    struct Firing {
        std::uint32_t place, column;
        double weight, p;
    };
    struct Found {
        std::vector<Firing> firing;
        AlignedVector<double> column;                            // [columns, Y + 1 padded]
        std::vector<std::pair<std::uint32_t, double>> unlikely;  // place, w v p
        std::vector<Triples::Arc> arcs;
        Triples::Scratch scratch;
        std::vector<std::uint32_t> column_of;  // [T, Y] kNoString if not needed
        bool exact;
    };
    // Scratch of a thread: the terms of a feature's row are [ptr[place], ptr[place + 1]).
    struct Terms {
        std::vector<std::size_t> ptr;  // [L + 1]
        std::vector<double> weight;
        std::vector<const double*> column;
    };
    void gather(const Item& item, ItemRun& run, Found& out) const;
    template <class Mine>
    void add_exact(std::span<const Found> found, Mine mine, Terms& terms, double* sums) const;
    void add(std::int64_t t, std::uint32_t place, double weight, double p, Found& out) const;
    std::uint32_t column(std::size_t s, std::uint32_t y, Found& out) const;
    void count(std::span<double> counts) const;

    const Corpus& corpus_;
    const Plan& plan_;
    const FeatureSet& features_;
    const Kernels& kernels_;
    const std::size_t stride_;  // Y + 1 padded
    const ListedFeatures listed_;
    const ListedRows bigram_;                  // listed pairs by attribute
    std::vector<std::uint32_t> ngram_;         // [n-grams] index in the list, or kNoString
    std::vector<std::uint32_t> first_, size_;  // [L] first label, number of labels
    std::uint32_t longest_ = 2;                // largest number of labels of a listed feature
    std::optional<Triples> triples_;           // set if the E of triples is known
};

NgramScreen::NgramScreen(const Corpus& corpus, const Plan& plan, const FeatureSet& features,
                         std::span<const std::int64_t> listed)
    : corpus_(corpus),
      plan_(plan),
      features_(features),
      kernels_(kernels()),
      stride_(static_cast<std::size_t>(padded(corpus.n_labels + 1))),
      listed_(features, listed),
      bigram_(features.bigram_ptr, features.bigram_pair, features.n_unigram(), listed) {
    ngram_.assign(static_cast<std::size_t>(features.n_ngram()), kNoString);
    const LabelPairs numbers(corpus.n_labels);
    for (std::size_t k = 0; k < listed.size(); ++k) {
        const std::int64_t pair = listed[k] - features.n_unigram(), ngram = listed[k] - features.first_ngram();
        if (pair < 0) throw InputError(message("listed: expected features of two labels or more, found ", listed[k]));
        if (ngram < 0) {
            first_.push_back(numbers.previous(features.bigram_pair[static_cast<std::size_t>(pair)]));
            size_.push_back(2);
        } else {
            const std::uint32_t string = features.ngram_string[static_cast<std::size_t>(ngram)];
            ngram_[static_cast<std::size_t>(ngram)] = static_cast<std::uint32_t>(k);
            first_.push_back(features.strings.first(string));
            size_.push_back(features.strings.length(string));
        }
        longest_ = std::max(longest_, size_.back());
        if (first_.back() == numbers.start()) {
            throw InputError(message("listed: expected no feature after the start, found ", listed[k]));
        }
    }
}

std::int64_t NgramScreen::sum(const Potentials& potentials, int threads, std::span<double> bound,
                              std::span<double> counts) {
    count(counts);
    if (longest_ == 2 && Triples::possible(features_)) triples_.emplace(features_, listed_, bigram_, potentials);
    std::int64_t n_bounded = 0;
    const std::size_t width = static_cast<std::size_t>(corpus_.n_labels) + 1;
    AlignedVector<double> sums(first_.size() * static_cast<std::size_t>(stride_), 0.0);  // [L, Y + 1 padded]
    ItemRuns runs(plan_, potentials, threads);
    std::vector<Found> found(static_cast<std::size_t>(kMostItems));
    std::vector<Terms> terms(static_cast<std::size_t>(threads));
    std::vector<double> unlikely(first_.size(), 0.0);  // [L] sum of w v p over small probabilities p, for every label
    const auto n_items = static_cast<std::int64_t>(plan_.items.size());
    for (std::int64_t begin = 0, n = 0; begin < n_items; begin += n) {
        n = 0;
        for (std::int64_t cells = 0; begin + n < n_items && n < kMostItems && cells < kMostCells; ++n) {
            cells += corpus_.length(plan_.items[static_cast<std::size_t>(begin + n)].sequence) * corpus_.n_labels;
        }
        const auto number = [&](std::int64_t k) { return static_cast<std::size_t>(begin + k); };
        runs.run(n, number, [&](int, std::int64_t k, const Item& item, ItemRun& run) {
            gather(item, run, found[static_cast<std::size_t>(k)]);
        });
        // Each feature's row belongs to one thread, which adds to it in the order of the positions.
        parallel_for(threads, threads, 1, [&](int thread, std::int64_t part) {
            const auto mine = [&](std::uint32_t place) { return place % static_cast<std::uint32_t>(threads) == part; };
            const std::span now = std::span(found).first(static_cast<std::size_t>(n));
            add_exact(now, mine, terms[static_cast<std::size_t>(thread)], sums.data());
            for (const Found& of : now) {
                for (const Firing& f : of.firing) {
                    if (of.exact || !mine(f.place)) continue;
                    const double* column = of.column.data() + std::size_t{f.column} * stride_;
                    double* row = sums.data() + std::size_t{f.place} * stride_;
                    for (std::size_t b = 0; b < width; ++b) row[b] += f.weight * std::min(f.p, column[b]);
                }
                for (const auto& [place, p] : of.unlikely) {
                    if (mine(place)) unlikely[place] += p;
                }
                for (const Triples::Arc& arc : of.arcs) {
                    if (mine(arc.place)) sums[std::size_t{arc.place} * stride_ + arc.previous] += arc.value;
                }
            }
        });
        n_bounded += std::count_if(found.begin(), found.begin() + n, [](const Found& of) { return !of.exact; });
    }
    for (std::size_t place = 0; place < unlikely.size(); ++place) {
        const double* row = sums.data() + place * stride_;
        for (std::size_t b = 0; b < width; ++b) bound[place * width + b] = row[b] + unlikely[place];
    }
    return n_bounded;
}

// Adds the firings of the items for which E is summed. All terms of a row are added at once, because the rows together
// do not fit into the cache.
template <class Mine>
void NgramScreen::add_exact(std::span<const Found> found, Mine mine, Terms& terms, double* sums) const {
    const auto each = [&](auto visit) {
        for (const Found& of : found) {
            for (const Firing& f : of.firing) {
                if (of.exact && mine(f.place)) visit(of, f);
            }
        }
    };
    const std::size_t n = first_.size();
    terms.ptr.assign(n + 2, 0);
    each([&](const Found&, const Firing& f) { ++terms.ptr[f.place + 2]; });
    for (std::size_t place = 0; place < n; ++place) terms.ptr[place + 2] += terms.ptr[place + 1];
    terms.weight.resize(terms.ptr[n + 1]);
    terms.column.resize(terms.ptr[n + 1]);
    each([&](const Found& of, const Firing& f) {  // ptr[place + 1] moves from the first term of the row to its last
        const std::size_t k = terms.ptr[f.place + 1]++;
        terms.weight[k] = f.weight;
        terms.column[k] = of.column.data() + std::size_t{f.column} * stride_;
    });
    for (std::size_t place = 0; place < n; ++place) {
        const std::size_t first = terms.ptr[place], last = terms.ptr[place + 1];
        if (first == last) continue;
        kernels_.sum_rows(terms.weight.data() + first, terms.column.data() + first, static_cast<int>(last - first),
                          static_cast<int>(stride_), sums + place * stride_);
    }
}

// The column of label y at position s.
std::uint32_t NgramScreen::column(std::size_t s, std::uint32_t y, Found& out) const {
    std::uint32_t& column = out.column_of[s * static_cast<std::size_t>(corpus_.n_labels) + y];
    if (column == kNoString) {
        column = static_cast<std::uint32_t>(out.column.size() / stride_);
        out.column.resize(out.column.size() + stride_, 0.0);
    }
    return column;
}

void NgramScreen::add(std::int64_t t, std::uint32_t place, double weight, double p, Found& out) const {
    if (p <= kUnlikelyString) {
        out.unlikely.emplace_back(place, weight * std::max(p, 0.0));
        return;
    }
    const auto s = static_cast<std::size_t>(t + 1 - size_[place]);  // position of g's first label
    out.firing.push_back({place, column(s, first_[place], out), weight, std::min(p, 1.0)});
}

void NgramScreen::gather(const Item& item, ItemRun& run, Found& out) const {
    const auto Y = static_cast<std::size_t>(corpus_.n_labels);
    const Lattice& lattice = run.lattice;
    out.firing.clear();
    out.unlikely.clear();
    out.arcs.clear();
    out.column.clear();
    out.exact = triples_.has_value() && !lattice.logarithmic;
    out.column_of.assign(static_cast<std::size_t>(lattice.length) * Y, kNoString);
    for (std::int64_t t = 1; t < lattice.length; ++t) {
        if (out.exact) {
            for (const auto& [place, weight] : triples_->at(item.weight, run, t, out.scratch, out.arcs)) {
                const auto s = static_cast<std::size_t>(t - 1);
                out.firing.push_back({place, column(s, first_[place], out), weight, 0.0});
            }
            continue;
        }
        listed_.at(run.at(t, nullptr), [&](std::uint32_t place, double value, double p, bool, auto) {
            add(t, place, item.weight * value, p, out);
        });
    }
    for (std::int64_t s = 0; s < lattice.length; ++s) {
        const std::uint32_t* columns = out.column_of.data() + static_cast<std::size_t>(s) * Y;
        if (out.exact) {
            Triples::shares(run, s, columns, stride_, out.column.data());
        } else {
            run.recursion.pair_columns(lattice, s, columns, stride_, out.column.data());
        }
    }
}

// Computes C of every listed feature extended by the preceding label.
void NgramScreen::count(std::span<double> counts) const {
    std::unordered_map<std::uint64_t, std::uint32_t> place;  // (attribute, string) to index
    const auto key = [](std::uint32_t x, std::uint32_t string) { return std::uint64_t{x} << 32 | string; };
    for (std::size_t k = 0; k < ngram_.size(); ++k) {
        if (ngram_[k] != kNoString) place[key(features_.ngram_attribute[k], features_.ngram_string[k])] = ngram_[k];
    }
    const LabelPairs numbers(corpus_.n_labels);
    const std::size_t width = static_cast<std::size_t>(corpus_.n_labels) + 1;
    for (std::int64_t i = 0; i < corpus_.n_sequences(); ++i) {
        const double weight = plan_.count_weight[static_cast<std::size_t>(i)];
        if (weight == 0.0) continue;
        const std::int32_t* path = corpus_.labels.data() + corpus_.offsets[i];
        const auto front = [&](std::int64_t s) {  // the label at s, or the start label at -1
            return s < 0 ? numbers.start() : static_cast<std::uint32_t>(path[s]);
        };
        for (std::int64_t t = 1; t < corpus_.length(i); ++t) {
            const std::int64_t position = corpus_.offsets[i] + t;
            const std::uint32_t pair = numbers.pair(front(t - 1), front(t));
            corpus_.for_each_bigram(position, [&](std::uint32_t x, double value) {
                const auto begin = bigram_.cell.begin() + bigram_.ptr[x],
                           end = bigram_.cell.begin() + bigram_.ptr[x + 1];
                const auto found = std::lower_bound(begin, end, pair);
                if (found == end || *found != pair) return;
                counts[bigram_.place[static_cast<std::size_t>(found - bigram_.cell.begin())] * width + front(t - 2)] +=
                    weight * value;
            });
            if (place.empty()) continue;
            features_.strings.for_each_suffix(path, t, [&](std::uint32_t string) {
                const std::uint32_t n = features_.strings.length(string);
                if (n < 3 || n > longest_ || features_.strings.after_start(string)) return;
                corpus_.for_each_bigram(position, [&](std::uint32_t x, double value) {
                    const auto found = place.find(key(x, string));
                    if (found == place.end()) return;
                    counts[found->second * width + front(t - static_cast<std::int64_t>(n))] += weight * value;
                });
            });
        }
    }
}

}  // namespace

std::int64_t Oracle::ngram_bounds(const FeatureSet& features, std::span<const double> w,
                                  std::span<const std::int64_t> listed, std::span<double> bound,
                                  std::span<double> counts) {
    check(features, w);
    check_places("listed", features, listed);
    std::fill(bound.begin(), bound.end(), 0.0);
    std::fill(counts.begin(), counts.end(), 0.0);
    return NgramScreen(corpus_, plan_, features, listed).sum(*prepare(features, w).potentials, threads_, bound, counts);
}

}  // namespace sparsecrf
