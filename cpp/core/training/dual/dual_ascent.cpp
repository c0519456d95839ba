#include "core/training/dual/dual_ascent.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/base/compensated_sum.hpp"
#include "core/base/error.hpp"
#include "core/base/in_phases.hpp"
#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"
#include "core/base/shuffle.hpp"

namespace sparsecrf {
namespace {

constexpr double kUniform = 0.25;  // added to the gaps when drawing sequences, relative to the mean gap
constexpr int kShares = 40;        // number of shares of the model tried at the start, 1/40 to 1
// Sequences per batch. If there are few sequences, those of a batch share more rows, so large batches take more epochs.
constexpr int kBatch = 8, kSmallBatch = 4;
constexpr std::int64_t kManySequences = 5000;
constexpr int kMostShares = 32;  // shares of the rows of Z; more than threads, since a batch uses them unevenly
constexpr std::int64_t kTokensAtOnce = 8192;  // tokens between two readings of the clock
constexpr std::chrono::milliseconds kLookUpEvery(200);

const Corpus& checked(const Corpus& corpus, double rho1, double rho2) {
    if (!(rho1 >= 0.0 && std::isfinite(rho1))) throw InputError(message("rho1: expected a number >= 0, found ", rho1));
    if (!(rho2 > 0.0 && std::isfinite(rho2))) throw InputError(message("rho2: expected a number > 0, found ", rho2));
    if (!corpus.token_weight.empty()) throw InputError("dual ascent: token weights are not supported");
    if (corpus.n_dense > 0) throw InputError("dual ascent: dense columns are not supported");
    for (std::int64_t t = 0; t < corpus.n_tokens(); ++t) {
        if (!is_known(corpus.labels[t])) throw InputError("dual ascent: missing labels are not supported");
    }
    return corpus;
}

// The end of the batch of at most `size` distinct sequences that begins at `from`.
std::size_t end_of_batch(std::span<const std::int64_t> sequences, std::size_t from, int size) {
    std::size_t end = from;
    for (; end < std::min(sequences.size(), from + static_cast<std::size_t>(size)); ++end) {
        const auto earlier = sequences.subspan(from, end - from);
        if (std::find(earlier.begin(), earlier.end(), sequences[end]) != earlier.end()) break;
    }
    return end;
}

}  // namespace

DualAscent::DualAscent(const Corpus& corpus, const FeatureSet* features, double rho1, double rho2, int threads)
    : space_(checked(corpus, rho1, rho2), features, rho1, rho2, resolve_threads(threads)),
      u_(corpus, resolve_threads(threads)),
      common_(space_, position_of_common_list(corpus)),
      threads_(resolve_threads(threads)),
      batch_(corpus.n_sequences() < kManySequences ? kSmallBatch : kBatch),
      shares_(space_.shares(threads_ == 1 ? 1 : std::min(4 * threads_, kMostShares))) {
    space_.set_times(batch_, /*at_worst=*/false);
    for (int k = 0; k < std::max(threads_, batch_); ++k) steps_.emplace_back(space_, u_, common_, shares_);
}

void DualAscent::start(const FeatureSet& features, std::span<const double> w) {
    space_.set_weights(features, w);
    common_.fill();
    const auto n = static_cast<std::int64_t>(u_.counting.size());
    parallel_for(n, threads_, 4, [&](int thread, std::int64_t j) {
        steps_[static_cast<std::size_t>(thread)].take_model(u_.counting[static_cast<std::size_t>(j)]);
    });
    certify();
    // With a share s of the model, G is s times the model's G, and the entropy is at least s times the model's.
    const double entropy = u_.total_entropy();
    double best = 0.0, share = 0.0;
    for (int k = 1; k <= kShares; ++k) {
        const double s = static_cast<double>(k) / kShares, bound = s * entropy - space_.conjugate_of_G(s);
        if (bound > best) {
            best = bound;
            share = s;
        }
    }
    parallel_for(n, threads_, 32,
                 [&](int, std::int64_t j) { u_.mix_with_data(u_.counting[static_cast<std::size_t>(j)], share); });
    certify();
}

std::vector<std::int64_t> DualAscent::order(std::uint64_t seed, std::uint64_t epoch, bool by_gaps) const {
    std::vector<std::int64_t> order = u_.counting;
    if (!by_gaps) {
        shuffle(order, seed, epoch);
        return order;
    }
    std::vector<double> cumulative(order.size());
    double sum = 0.0;
    for (const std::int64_t i : u_.counting) sum += u_.gap[static_cast<std::size_t>(i)];
    const double uniform = std::max(kUniform * sum / static_cast<double>(order.size()), 1e-300);
    sum = 0.0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        cumulative[k] = sum += u_.gap[static_cast<std::size_t>(u_.counting[k])] + uniform;
    }
    Splitmix random(Splitmix(seed).next() + epoch);
    std::vector<double> at(order.size());
    for (double& point : at) point = static_cast<double>(random.next() >> 11) * 0x1p-53 * sum;
    parallel_for(static_cast<std::int64_t>(order.size()), threads_, 512, [&](int, std::int64_t j) {
        const auto drawn = static_cast<std::size_t>(j);
        const auto k = std::upper_bound(cumulative.begin(), cumulative.end(), at[drawn]) - cumulative.begin();
        order[drawn] = u_.counting[std::min(static_cast<std::size_t>(k), order.size() - 1)];
    });
    return order;
}

void DualAscent::recenter(double share) {
    double tokens = 0.0;
    for (const std::int64_t i : u_.counting) {
        tokens += space_.corpus.weight(i) * static_cast<double>(space_.corpus.length(i));
    }
    space_.recenter(tokens > 0.0 ? share * std::max(u_.total_entropy(), 0.0) / tokens : 0.0);
}

void DualAscent::never_descend() { space_.set_times(batch_, /*at_worst=*/true); }

void DualAscent::run(std::span<const std::int64_t> sequences, const GoOn& go_on) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point asked{};  // never
    for (const std::int64_t i : sequences) {
        if (i < 0 || i >= space_.corpus.n_sequences()) {
            throw InputError(message("sequences: expected numbers below ", space_.corpus.n_sequences(), ", found ", i));
        }
    }
    common_.fill();
    for (std::size_t done = 0; done < sequences.size();) {
        done += run_batches(sequences.subspan(done));
        if (go_on && Clock::now() - asked >= kLookUpEvery) {
            if (!go_on(done)) return;
            asked = Clock::now();
        }
    }
}

// Runs some batches, beginning with the first sequence. Returns the number of sequences.
std::size_t DualAscent::run_batches(std::span<const std::int64_t> sequences) {
    std::vector<std::vector<std::int64_t>> batches;
    std::vector<int> sizes;  // per phase: the steps of a batch, then their sum
    std::size_t n = 0;
    std::int64_t tokens = 0;
    while (n < sequences.size() && tokens < kTokensAtOnce) {
        const std::size_t end = end_of_batch(sequences, n, batch_);
        std::vector<std::int64_t>& batch =
            batches.emplace_back(sequences.begin() + static_cast<long>(n), sequences.begin() + static_cast<long>(end));
        // Take the longest sequences first, so that threads finish at about the same time.
        std::stable_sort(batch.begin(), batch.end(), [&](std::int64_t a, std::int64_t b) {
            return space_.corpus.length(a) > space_.corpus.length(b);
        });
        for (const std::int64_t i : batch) tokens += std::max<std::int64_t>(space_.corpus.length(i), 1);
        sizes.insert(sizes.end(), {static_cast<int>(batch.size()), static_cast<int>(shares_.size())});
        n = end;
    }
    in_phases(sizes, threads_, [&](std::size_t phase, int k) {
        const std::vector<std::int64_t>& batch = batches[phase / 2];
        if (phase % 2 == 0) {
            // The sequence that this thread will probably take next.
            const auto at = static_cast<std::size_t>(k), later = at + static_cast<std::size_t>(threads_);
            const std::vector<std::int64_t>& after = batches[std::min(phase / 2 + 1, batches.size() - 1)];
            const std::size_t place = later < batch.size() ? later : std::min(later - batch.size(), after.size() - 1);
            steps_[at].take(batch[at], (later < batch.size() ? batch : after)[place]);
            return;
        }
        add_changes(space_.sums(), batch.size(), k);
        if (k == 0) common_.fill();
    });
    return n;
}

DualAscent::Values DualAscent::evaluate() {
    common_.fill();
    std::vector<DualStep::Values> values(u_.counting.size());
    parallel_for(static_cast<std::int64_t>(u_.counting.size()), threads_, 4, [&](int thread, std::int64_t j) {
        const auto k = static_cast<std::size_t>(j);
        values[k] = steps_[static_cast<std::size_t>(thread)].find_gap(u_.counting[k]);
    });
    CompensatedSum loss, gap, size;
    for (std::size_t j = 0; j < u_.counting.size(); ++j) {
        loss.add(values[j].loss);
        size.add(values[j].size);
        gap.add(u_.gap[static_cast<std::size_t>(u_.counting[j])]);
    }
    const DualSpace::Penalty penalty = space_.penalty();
    const double rounding = u_.has_doubles() ? 0.0 : size.value() * std::numeric_limits<float>::epsilon() / 2;
    return {loss.value(), penalty.value, u_.total_entropy() - penalty.conjugate, gap.value(), rounding};
}

// Adds to `to` the changes of all sequences, set by change(step, sequence).
template <class Change>
void DualAscent::sum_changes(DualSpace::Sums to, Change change) {
    std::vector<int> sizes;  // per phase: the sequences of a batch, then their sum
    const auto batch = static_cast<std::size_t>(batch_);
    for (std::size_t j = 0; j < u_.counting.size(); j += batch) {
        const std::size_t n = std::min(batch, u_.counting.size() - j);
        sizes.insert(sizes.end(), {static_cast<int>(n), static_cast<int>(shares_.size())});
    }
    in_phases(sizes, threads_, [&](std::size_t phase, int k) {
        const std::size_t first = phase / 2 * batch;
        if (phase % 2 == 0) {
            change(steps_[static_cast<std::size_t>(k)], u_.counting[first + static_cast<std::size_t>(k)]);
        } else {
            add_changes(to, static_cast<std::size_t>(sizes[phase - 1]), k);
        }
    });
}

double DualAscent::certify() {
    space_.clear();
    sum_changes(space_.sums(), [](DualStep& step, std::int64_t i) { step.certify(i); });
    space_.find_active();
    const double conjugate = space_.conjugate_of_G(1.0);
    space_.add_centers();
    return u_.total_entropy() - conjugate;
}

DualAscent::Optimality DualAscent::finish(const FeatureSet& features, std::span<const double> w) {
    u_.free();
    space_.set_weights(features, w);
    common_.fill();
    AlignedVector<double> rows(space_.Z.size(), 0.0), pairs(space_.Z_pairs.size(), 0.0);
    std::vector<std::uint8_t> active(space_.active.size());
    const DualSpace::Sums gradient{rows.data(), pairs.data(), active.data()};
    std::vector<double> losses(static_cast<std::size_t>(space_.corpus.n_sequences()), 0.0);
    sum_changes(gradient,
                [&](DualStep& step, std::int64_t i) { losses[static_cast<std::size_t>(i)] = step.differentiate(i); });
    CompensatedSum loss;
    for (const std::int64_t i : u_.counting) loss.add(losses[static_cast<std::size_t>(i)]);
    return {loss.value(), space_.residual(gradient)};
}

// Adds the changes of the first n steps: item 0 to the pair rows, every other item to a share of the other rows.
void DualAscent::add_changes(DualSpace::Sums to, std::size_t n, int item) {
    for (std::size_t j = 0; j < n; ++j) {
        if (item == 0) {
            steps_[j].add_to_pairs(to);
        } else {
            steps_[j].add_to_rows(to, static_cast<std::size_t>(item) - 1);
        }
    }
}

std::vector<std::span<double>> DualAscent::state() {
    return {u_.node_values.all(), space_.Z, space_.Z_pairs, u_.entropy, u_.gap, u_.step};
}

}  // namespace sparsecrf
