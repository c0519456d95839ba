#include "core/training/sequence_factors.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/aligned.hpp"
#include "core/base/lanes.hpp"
#include "core/corpus/numbering.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/item_runs.hpp"

namespace sparsecrf {
namespace {

constexpr std::int64_t kSequencesAtOnce = 256;
constexpr int kNewtonSteps = 4;
constexpr double kSmallestStep = 1e-4;  // of s
constexpr double kSmall = 3e-4;         // of a threshold: smaller parts of G are not kept
constexpr double kSurelyOwn = 0.98;     // a sequence whose own labels are likelier than this keeps s = 1
constexpr double kEnough = 1e-4;        // a sweep over all that raises D by less, relative to it, is the last
constexpr int kAllEvery = 5;            // sweeps; the others leave out sequences that stayed at s = 1

double x_log_x(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }

// H(u) and its derivative in s; h = H(p), q = p(y).
double mixed_entropy(double s, double h, double q) {
    return -x_log_x(1.0 - s + s * q) - (1.0 - q) * x_log_x(s) + s * (h + x_log_x(q));
}
double mixed_entropy_slope(double s, double h, double q) {
    constexpr double kTiny = 1e-300;
    return h + x_log_x(q) + (1.0 - q) * (std::log(std::max(1.0 - s + s * q, kTiny)) - std::log(std::max(s, kTiny)));
}

// The features of one sequence side by side.
class OneSequence {
   public:
    void take(std::span<const std::uint32_t> place, std::span<const float> part, std::span<const double> rho1,
              std::span<const double> G) {
        const auto n = static_cast<std::size_t>(padded(static_cast<int>(place.size())));
        for (AlignedVector<double>* x : {&G_, &part_, &rho1_}) x->assign(n, 0.0);
        for (std::size_t e = 0; e < place.size(); ++e) {
            G_[e] = G[place[e]];
            part_[e] = part[e];
            rho1_[e] = rho1[place[e]];
        }
    }

    // Of |S(G + change part)|^2 / 2: derivative and curvature in `change`.
    std::pair<double, double> excess(double change) const {
        double slope, curvature;
        kernels().excess(G_.data(), part_.data(), rho1_.data(), change, static_cast<int>(G_.size()), &slope,
                         &curvature);
        return {slope, curvature};
    }

   private:
    AlignedVector<double> G_, part_, rho1_;
};

}  // namespace

SequenceFactors::SequenceFactors(const Corpus& corpus, const Plan& plan, const FeatureSet& features,
                                 std::span<const double> w, std::span<const std::int64_t> listed)
    : corpus_(corpus),
      plan_(plan),
      strings_(features.strings),
      parts_(features.parts.get()),
      stride_(padded(corpus.n_labels)),
      w_(listed.size()) {
    unigram_.index(features.unigram_ptr, features.unigram_label, 0, listed);
    bigram_.index(features.bigram_ptr, features.bigram_pair, features.n_unigram(), listed);
    if (features.n_class() > 0) class_.index(features.class_ptr, features.class_pair, features.first_class(), listed);
    for (std::size_t k = 0; k < listed.size(); ++k) w_[k] = w[static_cast<std::size_t>(listed[k])];
    ngram_.assign(static_cast<std::size_t>(features.n_ngram()), kNoString);
    for (std::size_t k = listed.size(); k-- > 0 && listed[k] >= features.first_ngram();) {
        ngram_[static_cast<std::size_t>(listed[k] - features.first_ngram())] = static_cast<std::uint32_t>(k);
    }
}

void SequenceFactors::collect(const Potentials& potentials, const FactorOptions& options, int threads) {
    ItemRuns runs(plan_, potentials, threads);
    std::vector<Sums> sums(static_cast<std::size_t>(threads));
    for (Sums& of : sums) {
        of.g.assign(w_.size(), 0.0);
        of.seen.assign(w_.size(), 0);
        if (parts_ != nullptr) of.cells.resize(static_cast<std::size_t>(parts_->n_cells()));
    }
    std::vector<Gradient> gradients(static_cast<std::size_t>(kSequencesAtOnce));
    std::int64_t kept = 0;
    const auto n_items = static_cast<std::int64_t>(plan_.items.size());
    for (std::int64_t begin = 0; begin < n_items; begin += kSequencesAtOnce) {
        const std::int64_t n = std::min(n_items - begin, kSequencesAtOnce);
        const auto number = [&](std::int64_t k) { return static_cast<std::size_t>(begin + k); };
        runs.run(n, number,
                 [&](int thread, std::int64_t k, const Item& item, Recursion& recursion, const Lattice& lattice) {
                     gradient(potentials, recursion, item, lattice, options.thresholds,
                              sums[static_cast<std::size_t>(thread)], gradients[static_cast<std::size_t>(k)]);
                 });
        for (std::int64_t k = 0; k < n; ++k) {
            const Gradient& of = gradients[static_cast<std::size_t>(k)];
            const double weight = plan_.items[static_cast<std::size_t>(begin + k)].weight;
            entropy_.push_back(weight > 0.0 ? of.entropy / weight : 0.0);
            own_.push_back(weight > 0.0 ? std::exp(-of.loss / weight) : 1.0);
            const auto size = static_cast<std::int64_t>(of.place.size());
            if (own_.back() > kSurelyOwn || kept + size > options.max_entries) continue;
            kept += size;
            free_.push_back(static_cast<std::size_t>(begin + k));
            place_.emplace_back(of.place.begin(), of.place.end());
            value_.emplace_back(of.value.begin(), of.value.end());
        }
    }
    s_.assign(plan_.items.size(), 1.0);
}

void SequenceFactors::release_gradients() {
    free_ = {};
    place_ = {};
    value_ = {};
}

double SequenceFactors::entropy() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < s_.size(); ++i) {
        sum += plan_.items[i].weight * mixed_entropy(s_[i], entropy_[i], own_[i]);
    }
    return sum;
}

double SequenceFactors::bound(const FactorOptions& options, std::span<const double> G) const {
    double excess = 0.0;
    for (std::size_t k = 0; k < G.size(); ++k) {
        const double over = std::fabs(G[k]) - options.thresholds[k];
        if (over > 0.0) excess += over * over;
    }
    return entropy() - excess / (2.0 * options.rho2);
}

template <class Add>
double SequenceFactors::add_classes(Recursion& recursion, const Lattice& lattice, std::int64_t t,
                                    std::uint32_t own_pair, Sums& sums, Add add) const {
    const LabelPairs numbers = parts_->class_pairs();
    const std::int64_t position = lattice.first + t;
    double own = 0.0;
    sums.classes.resize(numbers.n_inner());
    bool known = false;  // the marginals of this position
    for (const auto& [pool, of] : {std::pair{&corpus_.base_lists, corpus_.base[position]},
                                   std::pair{&corpus_.rest_lists, corpus_.rest[position]}}) {
        for (std::int64_t k = pool->begin(of); k < pool->end(of); ++k) {
            const std::uint32_t x = pool->id(k);
            if (class_.ptr[x] == class_.ptr[x + 1]) continue;
            if (!known) recursion.class_marginals(lattice, t, sums.classes.data());
            known = true;
            for (std::uint32_t r = class_.ptr[x]; r < class_.ptr[x + 1]; ++r) {
                const std::uint32_t pair = class_.cell[r];
                if (numbers.is_start(pair) != (t == 0)) continue;
                const double p = sums.classes[t == 0 ? numbers.start_label(pair) : pair];
                add(class_.place[r], pool->value(k) * (p - (pair == own_pair ? 1.0 : 0.0)));
                if (pair == own_pair) own += pool->value(k) * w_[class_.place[r]];
            }
        }
    }
    return own;
}

// Where few matrices serve all positions and many pairs are listed, E of each is found once, not at every position.
template <class Visit>
void SequenceFactors::pair_marginals(const Potentials& potentials, Recursion& recursion, const Lattice& lattice,
                                     std::int64_t t, std::uint32_t x, bool base, std::span<const std::uint32_t> pairs,
                                     Sums& sums, Visit visit) const {
    constexpr std::size_t kManyPairs = 64, kFewLists = 16;
    const auto corrected = static_cast<std::size_t>(t);
    if (!base || t == 0 || pairs.size() < kManyPairs || corpus_.base_lists.size() > kFewLists || lattice.logarithmic ||
        lattice.ngrams.any() || lattice.rest.ptr[corrected] < lattice.rest.ptr[corrected + 1]) {
        return recursion.pair_marginals(lattice, t, pairs, visit);
    }
    PairWeights& of = sums.weights[{corpus_.base[lattice.first + t], x}];
    if (of.e.empty()) {
        const Transition& transition = potentials.transition(lattice.first + t);
        for_each_pair(pairs, corpus_.n_labels, [&](std::size_t, std::size_t i, std::size_t y) {
            of.previous.push_back(static_cast<std::uint16_t>(i));
            of.y.push_back(static_cast<std::uint16_t>(y));
            of.e.push_back(transition.weight(static_cast<int>(i), static_cast<int>(y)));
        });
    }
    const double* v = lattice.v + t * stride_;
    const double* alpha = lattice.alpha + (t - 1) * stride_;
    for (std::size_t j = 0; j < pairs.size(); ++j) visit(j, alpha[of.previous[j]] * of.e[j] * v[of.y[j]]);
}

// g_i = sum_t sum_x v (p_t(y) - [y = y_t]) for unigram features, likewise with pairs; loss and entropy:
// -log q = log Z - w . F, H(p) = -log q - w . g.
void SequenceFactors::gradient(const Potentials& potentials, Recursion& recursion, const Item& item,
                               const Lattice& lattice, std::span<const double> thresholds, Sums& sums,
                               Gradient& out) const {
    const LabelPairs numbers(corpus_.n_labels);
    double own = 0.0;  // w . F of its own labels
    const auto add = [&](std::uint32_t place, double value) {
        if (!sums.seen[place]) {
            sums.seen[place] = 1;
            sums.touched.push_back(place);
        }
        sums.g[place] += value;
    };
    std::uint32_t previous = numbers.start();
    for (std::int64_t t = 0; t < lattice.length; ++t) {
        const std::int64_t position = lattice.first + t;
        const auto y = static_cast<std::uint32_t>(corpus_.labels[position]);
        const double* p = lattice.p + t * stride_;
        if (parts_ != nullptr) {
            parts_->unfold(p, sums.cells.data());
            p = sums.cells.data();
        }
        const ListPool& lists = corpus_.unigram_lists;
        const std::uint32_t list = corpus_.unigram[position];
        for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
            const std::uint32_t x = lists.id(k);
            for (std::uint32_t r = unigram_.ptr[x]; r < unigram_.ptr[x + 1]; ++r) {
                const std::uint32_t cell = unigram_.cell[r];
                const bool mine = cell == y || (parts_ != nullptr && parts_->has(y, cell));
                add(unigram_.place[r], lists.value(k) * (p[cell] - (mine ? 1.0 : 0.0)));
                if (mine) own += lists.value(k) * w_[unigram_.place[r]];
            }
        }
        const std::uint32_t pair = numbers.pair(previous, y);
        for (const auto& [pool, of] : {std::pair{&corpus_.base_lists, corpus_.base[position]},
                                       std::pair{&corpus_.rest_lists, corpus_.rest[position]}}) {
            for (std::int64_t k = pool->begin(of); k < pool->end(of); ++k) {
                const std::uint32_t x = pool->id(k);
                const auto of_x = std::span(bigram_.cell).subspan(bigram_.ptr[x], bigram_.ptr[x + 1] - bigram_.ptr[x]);
                const auto pairs = numbers.at(of_x, t == 0);
                const std::uint32_t* place = bigram_.place.data() + (pairs.data() - bigram_.cell.data());
                const bool base = pool == &corpus_.base_lists;
                pair_marginals(potentials, recursion, lattice, t, x, base, pairs, sums,
                               [&](std::size_t j, double probability) {
                                   const bool mine = pairs[j] == pair;
                                   add(place[j], pool->value(k) * (probability - (mine ? 1.0 : 0.0)));
                                   if (mine) own += pool->value(k) * w_[place[j]];
                               });
            }
        }
        if (!class_.cell.empty()) {
            own += add_classes(recursion, lattice, t, parts_->class_pair(previous, y), sums, add);
        }
        if (lattice.ngrams.any() && lattice.ngrams.place[t] != nullptr) {
            const NgramArcs& here = *lattice.ngrams.place[t]->arcs;
            std::vector<char> mine(here.n_arcs(), 0);
            strings_.for_each_suffix(corpus_.labels.data() + lattice.first, t, [&](std::uint32_t string) {
                const std::uint32_t arc = here.arc_of(string);
                if (arc != kNoString) mine[arc] = 1;
            });
            for (const NgramArcs::Term& term : here.terms) {
                const std::uint32_t at = ngram_[term.feature];
                if (at == kNoString) continue;
                add(at, term.value * (lattice.ngrams.probability(t, term.arc) - mine[term.arc]));
                if (mine[term.arc]) own += term.value * w_[at];
            }
        }
        previous = y;
    }
    out.place.clear();
    out.value.clear();
    double along = 0.0;  // w . g
    for (const std::uint32_t place : sums.touched) {
        const double value = item.weight * sums.g[place];
        along += w_[place] * value;
        if (std::fabs(value) > kSmall * thresholds[place]) {
            out.place.push_back(place);
            out.value.push_back(static_cast<float>(value));
        }
        sums.g[place] = 0.0;
        sums.seen[place] = 0;
    }
    sums.touched.clear();
    out.loss = std::max(item.weight * (lattice.log_z - own), 0.0);
    out.entropy = std::max(out.loss - along, 0.0);
}

void SequenceFactors::ascend(const FactorOptions& options, std::span<double> G) {
    const double rho2 = options.rho2;
    const std::span<const double> rho1 = options.thresholds;
    double highest = bound(options, G);
    std::vector<double> best_s = s_, best_G(G.begin(), G.end());
    OneSequence here;
    std::vector<char> resting(free_.size(), 0);  // stayed at s = 1 in the last sweep over all
    for (int sweep = 0; sweep < options.sweeps; ++sweep) {
        const bool all = sweep % kAllEvery == 0;
        for (std::size_t j = 0; j < free_.size(); ++j) {
            if (!all && resting[j]) continue;
            const std::size_t i = free_[j];
            const std::vector<std::uint32_t>& place = place_[j];
            const std::vector<float>& part = value_[j];  // w_i g_i
            const double old = s_[i], weight = plan_.items[i].weight, q = own_[i];
            double s = old, low = 0.0, high = 1.0;
            here.take(place, part, rho1, G);
            // Newton's method for the one factor, kept between the last points where D rose and fell.
            for (int step = 0; step < kNewtonSteps; ++step) {
                auto [slope, curvature] = here.excess(s - old);
                slope = weight * mixed_entropy_slope(s, entropy_[i], q) - slope / rho2;
                if (s == 1.0 && slope >= 0.0) break;
                (slope > 0.0 ? low : high) = s;
                constexpr double kTiny = 1e-9;
                curvature =
                    curvature / rho2 +
                    weight * (1.0 - q) * ((1.0 - q) / std::max(1.0 - s + s * q, kTiny) + 1.0 / std::max(s, kTiny));
                if (!(curvature > 0.0)) break;
                double next = s + slope / curvature;
                if (next >= high) next = high == 1.0 ? 1.0 : 0.5 * (s + high);
                if (next <= low) next = 0.5 * (s + low);
                const bool settled = std::fabs(next - s) < kSmallestStep;
                s = next;
                if (settled) break;
            }
            resting[j] = s == 1.0 && old == 1.0;
            if (s == old) continue;
            for (std::size_t e = 0; e < place.size(); ++e) G[place[e]] += (s - old) * part[e];
            s_[i] = s;
        }
        const double now = bound(options, G), gained = now - highest;
        if (!(gained > 0.0)) break;
        best_s = s_;
        std::copy(G.begin(), G.end(), best_G.begin());
        highest = now;
        if (all && gained <= kEnough * std::fabs(highest)) break;
    }
    s_ = best_s;
    std::copy(best_G.begin(), best_G.end(), G.begin());
}

}  // namespace sparsecrf
