#include "core/training/sgd.hpp"

#include <chrono>

#include "core/base/error.hpp"
#include "core/base/shuffle.hpp"
#include "core/training/sgd_step.hpp"

namespace sparsecrf {
namespace {

// S is turned into 1 again below this, long before weights in its units lose range.
constexpr double kSmallestScale = 1e-50;
constexpr std::chrono::milliseconds kAskEvery(200);

}  // namespace

Sgd::Sgd(const Corpus& corpus, Kernel kernel)
    : corpus_(corpus),
      kernel_(kernel),
      plan_(corpus, false),
      first_item_(static_cast<std::size_t>(corpus.n_sequences()) + 1, 0) {
    for (const Item& item : plan_.items) ++first_item_[static_cast<std::size_t>(item.sequence) + 1];
    for (std::size_t i = 0; i + 1 < first_item_.size(); ++i) {
        if (first_item_[i + 1] > 0) counting_.push_back(static_cast<std::int64_t>(i));
        first_item_[i + 1] += first_item_[i];
    }
}

std::vector<std::int64_t> Sgd::order(std::uint64_t seed, std::uint64_t epoch) const {
    std::vector<std::int64_t> order = counting_;
    shuffle(order, seed, epoch);
    return order;
}

std::span<const Item> Sgd::items_of(std::int64_t sequence) const {
    const auto i = static_cast<std::size_t>(sequence);
    return std::span(plan_.items)
        .subspan(static_cast<std::size_t>(first_item_[i]),
                 static_cast<std::size_t>(first_item_[i + 1] - first_item_[i]));
}

void Sgd::check_sequences(std::span<const std::int64_t> sequences) const {
    for (const std::int64_t i : sequences) {
        if (i < 0 || i >= corpus_.n_sequences()) {
            throw InputError(
                message("sequences: expected numbers from 0 to ", corpus_.n_sequences() - 1, ", found ", i));
        }
    }
}

double Sgd::run(const FeatureSet& features, std::span<double> w, std::span<double> q, double u,
                std::span<const std::int64_t> sequences, const Options& options, const GoOn& go_on) const {
    features.check_fits(corpus_);
    features.check_pairs_at_most("sgd");
    features.check_weights(w);
    features.check_weights(q);
    check_sequences(sequences);
    if (sequences.empty()) return u;
    const auto n = static_cast<double>(counting_.size());
    if (!(options.eta0 > 0.0 && options.eta0 * options.rho2 < n)) {
        throw InputError(message("eta0: expected a number above 0 with eta0 rho2 < N = ", counting_.size(), ", found ",
                                 options.eta0));
    }
    SgdStep step(corpus_, plan_, features, w, kernel_);
    LazyWeights weights(w, q, u, options.rho1, options.rho2, 2 * static_cast<std::int64_t>(corpus_.n_attributes));
    using Clock = std::chrono::steady_clock;
    Clock::time_point asked{};  // long ago
    for (std::size_t k = 0; k < sequences.size(); ++k) {
        const double t = options.done + static_cast<double>(k);
        const double eta = options.eta0 / (1.0 + options.decay * t / n);
        step.step(items_of(sequences[k]), weights, eta, n);
        if (weights.scale() < kSmallestScale) {
            step.settle_all(weights);
            weights.rescale();
        }
        if (go_on && Clock::now() - asked >= kAskEvery) {
            if (!go_on(k + 1)) break;
            asked = Clock::now();
        }
    }
    step.settle_all(weights);
    weights.rescale();
    return weights.u();
}

double Sgd::loss(const FeatureSet& features, std::span<const double> w, std::span<const std::int64_t> sequences) const {
    features.check_fits(corpus_);
    features.check_pairs_at_most("sgd");
    features.check_weights(w);
    check_sequences(sequences);
    std::vector<double> own(w.begin(), w.end());
    SgdStep step(corpus_, plan_, features, own, kernel_);
    double sum = 0.0;
    for (const std::int64_t i : sequences) sum += step.loss(items_of(i));
    return sum;
}

}  // namespace sparsecrf
