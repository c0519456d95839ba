#include "core/training/stochastic/sgd.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/shuffle.hpp"
#include "core/base/thread_pool.hpp"
#include "core/training/stochastic/sgd_step.hpp"

namespace sparsecrf {
namespace {

// S is reset to 1 below this, long before weights in units of S overflow.
constexpr double kSmallestScale = 1e-50;
constexpr std::chrono::milliseconds kAskEvery(200);
constexpr std::int64_t kMostAtOnce = 1024;

}  // namespace

Sgd::Sgd(const Corpus& corpus, Kernel kernel, int threads)
    : corpus_(corpus),
      kernel_(kernel),
      threads_(resolve_threads(threads)),
      plan_(corpus, Plan::Blocks::none),
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

std::vector<std::span<const Item>> Sgd::items_of(std::span<const std::int64_t> sequences) const {
    std::vector<std::span<const Item>> found;
    found.reserve(sequences.size());
    for (const std::int64_t i : sequences) {
        if (i < 0 || i >= corpus_.n_sequences()) {
            throw InputError("sequences: expected numbers from 0 to ", corpus_.n_sequences() - 1, ", found ", i);
        }
        const auto first = static_cast<std::size_t>(first_item_[static_cast<std::size_t>(i)]);
        const auto end = static_cast<std::size_t>(first_item_[static_cast<std::size_t>(i) + 1]);
        if (first < end) found.push_back(std::span(plan_.items).subspan(first, end - first));
    }
    return found;
}

double Sgd::run(const FeatureSet& features, std::span<double> w, std::span<double> q, double u,
                std::span<const std::int64_t> sequences, const Options& options, const GoOn& go_on) const {
    features.check_fits(corpus_);
    features.check_weights(w);
    features.check_weights(q);
    const std::vector<std::span<const Item>> items = items_of(sequences);
    if (items.empty()) return u;
    const auto n = static_cast<double>(counting_.size());
    if (!(options.eta0 > 0.0 && options.eta0 * options.rho2 < n)) {
        throw InputError("eta0: expected a number above 0 with eta0 rho2 < N = ", counting_.size(), ", found ",
                         options.eta0);
    }
    if (options.at_once < 1 || options.at_once > kMostAtOnce) {
        throw InputError("at_once: expected 1 to ", kMostAtOnce, " steps, found ", options.at_once);
    }
    if (!(options.order_factor >= 1.0 && std::isfinite(options.order_factor))) {
        throw InputError("order_factor: expected a finite number >= 1, found ", options.order_factor);
    }
    const auto most = static_cast<std::size_t>(options.at_once);
    SgdStep step(corpus_, plan_, features, w, kernel_, most, threads_, options.order_factor);
    LazyWeights weights(w, q, u, options.rho1, options.rho2, SgdStep::n_rows(features));
    using Clock = std::chrono::steady_clock;
    Clock::time_point asked{};  // never
    std::vector<double> eta(most);
    for (std::size_t done = 0; done < items.size(); done += most) {
        const std::span<const std::span<const Item>> next =
            std::span(items).subspan(done).first(std::min(most, items.size() - done));
        for (std::size_t k = 0; k < next.size(); ++k) {
            const double t = options.done + static_cast<double>(done + k);
            eta[k] = options.eta0 / (1.0 + options.decay * t / n);
        }
        step.step(next, eta, weights, n);
        if (weights.scale() < kSmallestScale) {
            step.settle_all(weights);
            weights.rescale();
        }
        if (go_on && Clock::now() - asked >= kAskEvery) {
            if (!go_on(done + next.size())) break;
            asked = Clock::now();
        }
    }
    step.settle_all(weights);
    weights.rescale();
    return weights.u();
}

double Sgd::loss(const FeatureSet& features, std::span<const double> w, std::span<const std::int64_t> sequences) const {
    features.check_fits(corpus_);
    features.check_weights(w);
    std::vector<double> own(w.begin(), w.end());
    const std::vector<std::span<const Item>> items = items_of(sequences);
    return SgdStep(corpus_, plan_, features, own, kernel_, std::max<std::size_t>(items.size(), 1), threads_)
        .loss(items);
}

}  // namespace sparsecrf
