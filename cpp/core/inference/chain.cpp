#include "core/inference/chain.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "core/base/error.hpp"
#include "core/base/infinity.hpp"
#include "core/base/parallel.hpp"
#include "core/inference/recursion.hpp"

namespace sparsecrf {
namespace {

// Prepares a lattice for sequence i: applies the constraints and allocates rows for all positions.
void prepare(OwnedLattice& lattice, const Corpus& corpus, std::int64_t i, const Constraints& constraints, int stride) {
    lattice.take(corpus, i, stride);
    constraints.apply(corpus, i, lattice);
}

void check_sequence(const Corpus& corpus, std::int64_t i) {
    if (i < 0 || i >= corpus.n_sequences()) {
        throw InputError("expected a sequence from 0 to ", corpus.n_sequences() - 1, ", found ", i);
    }
}

// Limits on the label n-gram places kept for later calls: the number of places per call, and the total size in bytes.
constexpr std::uint32_t kMostPlaces = 4096;
constexpr std::uint64_t kMostBytes = 1 << 28;

void check_paths(std::int64_t k) {
    if (k < 1) throw InputError("n-best: expected k >= 1, found ", k);
}

// log Z of sequence i with the labels `known` fixed in addition to the constraints; -infinity if they contradict the
// constraints.
double log_partition_with(const Corpus& corpus, std::int64_t i, std::span<const std::int32_t> known,
                          const Constraints& constraints, Recursion& recursion, OwnedLattice& lattice, int stride) {
    prepare(lattice, corpus, i, constraints, stride);
    std::vector<std::int32_t> fixed(known.begin(), known.end());
    for (std::size_t t = 0; t < fixed.size() && lattice.fixed != nullptr; ++t) {
        if (lattice.fixed[t] == kMissing) continue;
        if (!corpus.permits(fixed[t], lattice.fixed[t])) return -kInfinity;
        fixed[t] = lattice.fixed[t];
    }
    lattice.fixed = fixed.data();
    try {
        recursion.forward(lattice);
    } catch (const UnsatisfiableError&) {
        return -kInfinity;
    }
    return lattice.log_z;
}

}  // namespace

Chain::Chain(std::shared_ptr<const FeatureSet> features, std::vector<double> w, Kernel kernel, int threads)
    : features_(std::move(features)),
      weights_(std::make_shared<const Weights>(*features_, std::move(w))),
      kernel_(kernel),
      threads_(resolve_threads(threads)),
      idle_(std::make_shared<IdlePlaces>()) {}

Chain::Weights::Weights(const FeatureSet& features, std::vector<double> all) : w(std::move(all)) {
    features.check_weights(w);
    rows = UnigramRows(features, w);
    for (const double weight : w) largest = std::max(largest, std::abs(weight));
}

Chain Chain::with_threads(int threads) const {
    Chain made = *this;
    made.threads_ = resolve_threads(threads);
    return made;
}

// Small corpora use a single thread, because waking other threads would not pay off.
int Chain::threads_for(const Corpus& corpus) const {
    constexpr std::int64_t kCells = 1 << 17;
    return corpus.n_tokens() * corpus.n_labels < kCells ? 1 : threads_;
}

// Owns the places used by one call, and the features that they refer to.
struct Chain::LentPlaces {
    std::shared_ptr<const FeatureSet> features;
    std::shared_ptr<IdlePlaces> idle;
    std::unique_ptr<NgramPlaces> places;
    bool whole = false;  // false if their construction was interrupted

    ~LentPlaces() {
        if (!whole || places->size() > kMostPlaces) return;
        const std::uint64_t bytes = places->bytes();
        const std::unique_lock lock(idle->mutex, std::try_to_lock);
        if (!lock || idle->bytes + bytes > kMostBytes) return;
        try {
            idle->places.push_back(std::move(places));
            idle->bytes += bytes;
        } catch (const std::bad_alloc&) {  // drop the places
        }
    }
};

std::unique_ptr<NgramPlaces> Chain::take_places() const {
    {
        const std::unique_lock lock(idle_->mutex, std::try_to_lock);
        if (lock && !idle_->places.empty()) {
            std::unique_ptr<NgramPlaces> taken = std::move(idle_->places.back());
            idle_->places.pop_back();
            idle_->bytes -= taken->bytes();
            return taken;
        }
    }
    return std::make_unique<NgramPlaces>(*features_);
}

// Places are kept from call to call, because most sequences share attributes with earlier sequences.
std::shared_ptr<NgramTables> Chain::ngram_tables(const Corpus& corpus) const {
    const auto made_with = [&](std::unique_ptr<NgramPlaces> places) {
        const auto lent = std::make_shared<LentPlaces>();
        lent->places = std::move(places);
        lent->idle = idle_;
        lent->features = features_;
        auto made = std::make_shared<NgramTables>(std::shared_ptr<NgramPlaces>(lent, lent->places.get()), corpus);
        lent->places->assign(w(), 1, true);
        lent->whole = true;
        return made;
    };
    std::unique_ptr<NgramPlaces> places = take_places();
    if (places->size() > 1) {  // the places of earlier calls together with the new ones may exceed the limit
        try {
            return made_with(std::move(places));
        } catch (const InputError&) {
            places = std::make_unique<NgramPlaces>(*features_);
        }
    }
    return made_with(std::move(places));
}

Potentials Chain::potentials(const Corpus& corpus, const Constraints& constraints) const {
    features_->check_fits(corpus);
    constraints.check(corpus);
    Potentials made(corpus, corpus.unigram_lists, kernel_, threads_for(corpus), nullptr, constraints.forbidden_pairs());
    made.assign(*features_, w(), rows());
    if (features_->n_ngram() > 0) {
        made.set_ngrams(ngram_tables(corpus));
    }
    return made;
}

// Calls answer(tables, i, recursion, lattice) with the lattice of every sequence i; each thread has its own recursion
// and lattice.
template <class Answer>
void Chain::for_each_lattice(const Corpus& corpus, const Constraints& constraints, const Answer& answer) const {
    const Potentials tables = potentials(corpus, constraints);
    const int threads = threads_for(corpus);
    std::vector<Recursion> recursions;
    for (int k = 0; k < threads; ++k) recursions.emplace_back(tables);
    std::vector<OwnedLattice> lattices(static_cast<std::size_t>(threads));
    parallel_for(corpus.n_sequences(), threads, 8, [&](int thread, std::int64_t i) {
        prepare(lattices[thread], corpus, i, constraints, tables.stride());
        answer(tables, i, recursions[thread], lattices[thread]);
    });
}

void Chain::log_partition(const Corpus& corpus, const Constraints& constraints, std::span<double> out) const {
    for_each_lattice(corpus, constraints, [&](auto&, std::int64_t i, Recursion& recursion, Lattice& lattice) {
        recursion.forward(lattice);
        out[i] = lattice.log_z;
    });
}

void Chain::score(const Corpus& corpus, std::span<double> out) const {
    const Potentials tables = potentials(corpus, {});
    parallel_for(corpus.n_sequences(), threads_for(corpus), 8,
                 [&](int, std::int64_t i) { out[i] = path_score(tables, i); });
}

void Chain::token_scores(const Corpus& corpus, std::span<const std::int32_t> labels, std::span<double> out) const {
    const Potentials tables = potentials(corpus, {});
    parallel_for(corpus.n_sequences(), threads_for(corpus), 8,
                 [&](int, std::int64_t i) { sparsecrf::token_scores(tables, i, labels.data(), out.data()); });
}

void Chain::log_prob(const Corpus& corpus, const Constraints& constraints, std::span<double> out) const {
    const auto answer = [&](const Potentials& tables, std::int64_t i, Recursion& recursion, OwnedLattice& lattice) {
        recursion.forward(lattice);
        const double log_z = lattice.log_z;
        const auto known = std::span(corpus.labels).subspan(corpus.offsets[i], corpus.length(i));
        if (corpus.is_labelled(i)) {
            bool permitted = true;
            for (std::int64_t t = 0; t < corpus.length(i); ++t) {
                const std::int32_t previous = t == 0 ? corpus.n_labels : known[t - 1];  // Y: the start label
                permitted = permitted && constraints.permits(corpus, corpus.offsets[i] + t, previous, known[t]);
            }
            out[i] = permitted ? path_score(tables, i) - log_z : -kInfinity;
        } else {
            out[i] = log_partition_with(corpus, i, known, constraints, recursion, lattice, tables.stride()) - log_z;
        }
        out[i] = std::min(out[i], 0.0);
    };
    for_each_lattice(corpus, constraints, answer);
}

void Chain::marginals(const Corpus& corpus, const Constraints& constraints, std::span<double> out) const {
    const int Y = corpus.n_labels;
    for_each_lattice(corpus, constraints, [&](auto& tables, std::int64_t, Recursion& recursion, Lattice& lattice) {
        recursion.forward(lattice);
        recursion.backward(lattice);
        for (std::int64_t t = 0; t < lattice.length; ++t) {
            std::copy_n(lattice.p + t * tables.stride(), Y, out.data() + (lattice.first + t) * Y);
        }
    });
}

void Chain::edge_marginals(const Corpus& corpus, std::int64_t sequence, const Constraints& constraints,
                           std::span<double> out) const {
    check_sequence(corpus, sequence);
    const Potentials tables = potentials(corpus, constraints);
    Recursion recursion(tables);
    OwnedLattice lattice;
    prepare(lattice, corpus, sequence, constraints, tables.stride());
    recursion.forward(lattice);
    recursion.backward(lattice);
    const std::int64_t pairs = LabelPairs(corpus.n_labels).size();
    for (std::int64_t t = 0; t < lattice.length; ++t) recursion.edge_marginals(lattice, t, out.data() + t * pairs);
}

double Chain::span_log_prob(const Corpus& corpus, std::int64_t sequence, std::int64_t start,
                            std::span<const std::int32_t> labels, const Constraints& constraints) const {
    check_sequence(corpus, sequence);
    const std::int64_t length = corpus.length(sequence);
    if (labels.empty()) throw InputError("sequence ", sequence, ": expected a span of labels, found none");
    if (start < 0 || start + static_cast<std::int64_t>(labels.size()) > length) {
        throw InputError("sequence ", sequence, ": expected a span within its ", length, " positions, found [", start,
                         ", ", start + static_cast<std::int64_t>(labels.size()), ")");
    }
    std::vector<std::int32_t> known(static_cast<std::size_t>(length), kMissing);
    for (std::size_t k = 0; k < labels.size(); ++k) {
        if (labels[k] < 0 || labels[k] >= corpus.n_labels) {
            throw InputError("sequence ", sequence, ", position ", start + static_cast<std::int64_t>(k),
                             ": expected a label from 0 to ", corpus.n_labels - 1, ", found ", labels[k]);
        }
        known[static_cast<std::size_t>(start) + k] = labels[k];
    }
    const Potentials tables = potentials(corpus, constraints);
    Recursion recursion(tables);
    OwnedLattice lattice;
    prepare(lattice, corpus, sequence, constraints, tables.stride());
    recursion.forward(lattice);
    const double log_z = lattice.log_z;
    const double numerator =
        log_partition_with(corpus, sequence, known, constraints, recursion, lattice, tables.stride());
    return std::min(numerator - log_z, 0.0);
}

void Chain::viterbi(const Corpus& corpus, const Constraints& constraints, std::span<std::int32_t> labels,
                    std::span<double> scores) const {
    for_each_lattice(corpus, constraints, [&](auto& tables, std::int64_t i, Recursion& recursion, Lattice& lattice) {
        scores[i] = best_path(tables, recursion, lattice, labels.data() + lattice.first);
    });
}

std::vector<Labelling> Chain::nbest(const Corpus& corpus, std::int64_t sequence, std::int64_t k,
                                    const Constraints& constraints) const {
    check_sequence(corpus, sequence);
    check_paths(k);
    const Potentials tables = potentials(corpus, constraints);
    Recursion recursion(tables);
    OwnedLattice lattice;
    prepare(lattice, corpus, sequence, constraints, tables.stride());
    return best_paths(tables, recursion, lattice, k);
}

std::vector<std::vector<Labelling>> Chain::nbest(const Corpus& corpus, std::int64_t k,
                                                 const Constraints& constraints) const {
    check_paths(k);
    std::vector<std::vector<Labelling>> paths(static_cast<std::size_t>(corpus.n_sequences()));
    for_each_lattice(corpus, constraints, [&](auto& tables, std::int64_t i, Recursion& recursion, Lattice& lattice) {
        paths[i] = best_paths(tables, recursion, lattice, k);
    });
    return paths;
}

}  // namespace sparsecrf
