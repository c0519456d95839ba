#include "core/training/dual_ascent.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/compensated_sum.hpp"
#include "core/base/error.hpp"
#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"
#include "core/base/shuffle.hpp"

namespace sparsecrf {
namespace {

constexpr double kFirstStep = 0.05;  // initial c of a sequence, before kLonger
constexpr double kLonger = 1.6;      // the first c that a search tries, relative to the last one
constexpr double kPast = 0.3;        // how far it may overshoot the peak: fraction of the initial slope
constexpr int kMostTrials = 12;
constexpr double kUniform = 0.25;  // added to the gaps by which sequences are drawn, relative to their mean
constexpr int kShares = 40;        // mixing weights of the model tried at the start, 1/40 to 1
constexpr std::chrono::milliseconds kLookUpEvery(200);

}  // namespace

DualAscent::DualAscent(const Corpus& corpus, const FeatureSet* features, double rho1, double rho2, int threads)
    : space_(corpus, features, rho1, rho2), threads_(resolve_threads(threads)), kernels_(kernels()), pair_first_{0} {
    if (!(rho1 >= 0.0 && std::isfinite(rho1))) throw InputError(message("rho1: expected a number >= 0, found ", rho1));
    if (!(rho2 > 0.0 && std::isfinite(rho2))) throw InputError(message("rho2: expected a number > 0, found ", rho2));
    if (!corpus.token_weight.empty()) throw InputError("dual ascent: expected no token weights, found some");
    if (corpus.n_dense > 0) throw InputError("dual ascent: expected no dense columns, found some");
    for (std::int64_t t = 0; t < corpus.n_tokens(); ++t) {
        if (!is_known(corpus.labels[t])) throw InputError("dual ascent: expected all labels, found missing ones");
    }
    const auto n = static_cast<std::size_t>(corpus.n_sequences());
    const std::int64_t Y = corpus.n_labels;
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        if (corpus.weight(i) > 0.0 && corpus.length(i) > 0) counting_.push_back(i);
        const std::int64_t size = std::max<std::int64_t>(corpus.length(i) - 1, 0) * Y * Y;
        pair_first_.push_back(pair_first_.back() + (size + kLanes - 1) / kLanes * kLanes);
    }
    nodes_.assign(static_cast<std::size_t>(corpus.n_tokens() * space_.stride), 0.0);
    pairs_.assign(static_cast<std::size_t>(pair_first_.back()) + kLanes, 0.0);  // kernels read beyond the last one
    entropy_.assign(n, 0.0);
    gap_.assign(n, 0.0);
    step_.assign(n, kFirstStep);
    for (int k = 0; k < threads_; ++k) inference_.emplace_back(space_);
    for (const std::int64_t i : counting_) add_data(i, 1.0);
}

// u_i += share * (the labels of the data)
void DualAscent::add_data(std::int64_t i, double share) {
    const Corpus& corpus = space_.corpus;
    const auto Y = static_cast<std::size_t>(corpus.n_labels), stride = static_cast<std::size_t>(space_.stride);
    const std::int64_t first = corpus.offsets[i];
    for (std::size_t t = 0; t < static_cast<std::size_t>(corpus.length(i)); ++t) {
        const auto y = static_cast<std::size_t>(corpus.labels[first + static_cast<std::int64_t>(t)]);
        nodes(i)[t * stride + y] += share;
        if (t == 0) continue;
        const auto before = static_cast<std::size_t>(corpus.labels[first + static_cast<std::int64_t>(t) - 1]);
        pairs(i)[(t - 1) * Y * Y + before * Y + y] += share;
    }
}

void DualAscent::start(const FeatureSet& features, std::span<const double> w) {
    space_.set_weights(features, w);
    DualSequence& at = inference_.front();
    const auto pair_numbers = [&](std::int64_t i) {
        return static_cast<std::size_t>((space_.corpus.length(i) - 1) * space_.n_labels * space_.n_labels);
    };
    for (const std::int64_t i : counting_) {
        at.forward(i);
        at.backward();
        std::copy_n(at.p(), at.length() * static_cast<std::size_t>(space_.stride), nodes(i));
        zeros_.resize(std::max(zeros_.size(), n_pairs(i) + kLanes), 0.0);
        d_pairs_.resize(std::max(d_pairs_.size(), n_pairs(i) + kLanes));
        at.pair_differences(zeros_.data(), d_pairs_.data());
        std::copy_n(d_pairs_.begin(), pair_numbers(i), pairs(i));
    }
    certify();
    // With a share s of the model, G is s times that of the model, and the entropy at least s times its own.
    double entropy = 0.0, best = 0.0, share = 0.0;
    for (const std::int64_t i : counting_) {
        entropy += space_.corpus.weight(i) * entropy_[static_cast<std::size_t>(i)];
    }
    for (int k = 1; k <= kShares; ++k) {
        const double s = static_cast<double>(k) / kShares, bound = s * entropy - space_.conjugate_of_G(s);
        if (bound > best) {
            best = bound;
            share = s;
        }
    }
    for (const std::int64_t i : counting_) {
        std::for_each_n(nodes(i), space_.corpus.length(i) * space_.stride, [&](double& u) { u *= share; });
        std::for_each_n(pairs(i), pair_numbers(i), [&](double& q) { q *= share; });
        add_data(i, 1.0 - share);
    }
    certify();
}

std::vector<std::int64_t> DualAscent::order(std::uint64_t seed, std::uint64_t epoch, bool by_gaps) const {
    std::vector<std::int64_t> order = counting_;
    if (!by_gaps) {
        shuffle(order, seed, epoch);
        return order;
    }
    std::vector<double> cumulative(counting_.size());
    double sum = 0.0;
    for (const std::int64_t i : counting_) sum += gap_[static_cast<std::size_t>(i)];
    const double uniform = std::max(kUniform * sum / static_cast<double>(counting_.size()), 1e-300);
    sum = 0.0;
    for (std::size_t k = 0; k < counting_.size(); ++k) {
        cumulative[k] = sum += gap_[static_cast<std::size_t>(counting_[k])] + uniform;
    }
    Splitmix random(Splitmix(seed).next() + epoch);
    for (std::int64_t& i : order) {
        const double at = static_cast<double>(random.next() >> 11) * 0x1p-53 * sum;
        const auto k = std::upper_bound(cumulative.begin(), cumulative.end(), at) - cumulative.begin();
        i = counting_[std::min(static_cast<std::size_t>(k), counting_.size() - 1)];
    }
    return order;
}

void DualAscent::recenter(double share) {
    double entropy = 0.0, tokens = 0.0;
    for (const std::int64_t i : counting_) {
        entropy += space_.corpus.weight(i) * entropy_[static_cast<std::size_t>(i)];
        tokens += space_.corpus.weight(i) * static_cast<double>(space_.corpus.length(i));
    }
    space_.recenter(tokens > 0.0 ? share * std::max(entropy, 0.0) / tokens : 0.0);
}

void DualAscent::run(std::span<const std::int64_t> sequences, const GoOn& go_on) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point asked{};  // long ago
    for (const std::int64_t i : sequences) {
        if (i < 0 || i >= space_.corpus.n_sequences()) {
            throw InputError(message("sequences: expected numbers below ", space_.corpus.n_sequences(), ", found ", i));
        }
    }
    for (std::size_t done = 0; done < sequences.size(); ++done) {
        step(sequences[done]);
        if (go_on && Clock::now() - asked >= kLookUpEvery) {
            if (!go_on(done + 1)) return;
            asked = Clock::now();
        }
    }
}

// One step along d = p - u, with the quantities that the line search needs.
struct DualAscent::Search {
    double weight, entropy;     // w_i; H(u_i), later of the new u_i
    std::size_t n_nodes;        // numbers of the nodes, T Yp
    std::size_t n_near, n_own;  // numbers of G that can count: of labels and of pairs
};

void DualAscent::step(std::int64_t i) {
    DualSequence& at = inference_.front();
    const auto k = static_cast<std::size_t>(i), Y = static_cast<std::size_t>(space_.n_labels);
    at.forward(i);
    at.backward();
    const double weight = space_.corpus.weight(i);
    Search of{weight, entropy_[k], at.length() * static_cast<std::size_t>(space_.stride), 0, 0};
    gap_[k] = std::max(0.0, weight * (at.log_z() - entropy_[k] - at.score(nodes(i), pairs(i))));
    if (gap_[k] == 0.0) return;
    d_nodes_.assign(at.p(), at.p() + of.n_nodes);
    kernels_.axpy(-1.0, nodes(i), static_cast<int>(of.n_nodes), d_nodes_.data());
    d_pairs_.resize(std::max(d_pairs_.size(), n_pairs(i) + kLanes));
    at.pair_differences(pairs(i), d_pairs_.data());
    std::fill_n(d_pairs_.begin() + static_cast<long>((at.length() - 1) * Y * Y),
                n_pairs(i) + kLanes - (at.length() - 1) * Y * Y, 0.0);

    const DualRows rows = space_.rows(i);
    const auto stride = static_cast<std::size_t>(space_.stride);
    for (AlignedVector<double>* of_rows : {&d_rows_, &near_Z_, &near_d_}) {
        of_rows->resize(std::max(of_rows->size(), (rows.n + 1) * stride));
    }
    kernels_.dual_differences(rows, d_nodes_.data(), weight, d_rows_.data());
    near_scale_.resize(std::max(near_scale_.size(), rows.n + 1));
    of.n_near = kernels_.dual_near(rows, d_rows_.data(), near_Z_.data(), near_d_.data(), near_scale_.data());
    at.sum_pairs(d_nodes_.data(), d_pairs_.data(), own_d_);
    of.n_own = at.pair_rows().size();
    own_Z_.resize(own_d_.size());
    own_scale_.resize(of.n_own);
    for (std::size_t r = 0; r < at.pair_rows().size(); ++r) {
        const std::size_t first = at.pair_rows()[r] * space_.pairs;
        own_scale_[r] = space_.pair_scale[at.pair_rows()[r]];
        for (std::size_t j = 0; j < space_.pairs; ++j) {
            double& d = own_d_[r * space_.pairs + j];
            d *= space_.allowed_pairs.empty() ? weight : weight * space_.allowed_pairs[first + j];
            own_Z_[r * space_.pairs + j] = space_.Z_pairs[first + j];
        }
    }

    const double c = search(i, of);
    if (c == 0.0) return;
    entropy_[k] = of.entropy;
    kernels_.axpy(c, d_nodes_.data(), static_cast<int>(of.n_nodes), nodes(i));
    kernels_.axpy(c, d_pairs_.data(), static_cast<int>(n_pairs(i)), pairs(i));
    kernels_.dual_add(rows, d_rows_.data(), c);
    for (std::size_t r = 0; r < at.pair_rows().size(); ++r) {
        kernels_.axpy(c, own_d_.data() + r * space_.pairs, static_cast<int>(space_.pairs),
                      space_.Z_pairs.data() + at.pair_rows()[r] * space_.pairs);
    }
}

// The c in [0, 1] of the step; 0 if none was found. D is concave in c: a c with D' >= 0 is not past the peak. If D' <
// 0, the parabola through D(0), D(c) and D'(c) estimates the peak and the slope at 0.
double DualAscent::search(std::int64_t i, Search& of) {
    const auto k = static_cast<std::size_t>(i);
    const auto stride = static_cast<std::size_t>(space_.stride);
    const bool single = of.n_nodes == stride;
    const std::size_t n_inner = single ? stride : of.n_nodes - 2 * stride;
    const double* u = nodes(i) + (single ? 0 : stride);
    const double* d = d_nodes_.data() + (single ? 0 : stride);
    const double sign = single ? -1.0 : 1.0;  // of the nodes in H
    const auto conjugate = [&](double c, double& slope) {
        double slope_own, square, square_own;
        kernels_.conjugate(near_Z_.data(), near_d_.data(), near_scale_.data(), of.n_near, stride, space_.rho1, c,
                           &slope, &square);
        kernels_.conjugate(own_Z_.data(), own_d_.data(), own_scale_.data(), of.n_own, space_.pairs, space_.rho1, c,
                           &slope_own, &square_own);
        slope += slope_own;
        return (square + square_own) / 2.0;
    };
    double slope;
    const double before = conjugate(0.0, slope), entropy = of.entropy;
    double c = std::min(1.0, kLonger * step_[k]);
    for (int trial = 0; trial < kMostTrials; ++trial) {
        double slope_pairs, slope_nodes, pairs_log, nodes_log;
        kernels_.entropy(pairs(i), d_pairs_.data(), c, n_pairs(i), &slope_pairs, &pairs_log);
        kernels_.entropy(u, d, c, n_inner, &slope_nodes, &nodes_log);
        of.entropy = sign * nodes_log - pairs_log;
        const double after = conjugate(c, slope);
        slope = of.weight * (sign * slope_nodes - slope_pairs) - slope;
        const double gain = of.weight * (of.entropy - entropy) - (after - before);
        const double slope_at_0 = 2.0 * gain / c - slope;
        if (slope >= 0.0 || (gain > 0.0 && -slope <= kPast * slope_at_0)) return step_[k] = c;
        const double peak = slope_at_0 > 0.0 ? c * slope_at_0 / (slope_at_0 - slope) : 0.0;
        c = std::clamp(peak, 0.1 * c, 0.9 * c);
    }
    step_[k] = c;
    return 0.0;
}

DualAscent::Values DualAscent::evaluate() {
    std::vector<double> losses(counting_.size());
    parallel_for(static_cast<std::int64_t>(counting_.size()), threads_, 4, [&](int thread, std::int64_t j) {
        const std::int64_t i = counting_[static_cast<std::size_t>(j)];
        const auto k = static_cast<std::size_t>(i);
        DualSequence& at = inference_[static_cast<std::size_t>(thread)];
        at.forward(i);
        const double weight = space_.corpus.weight(i);
        losses[static_cast<std::size_t>(j)] = weight * (at.log_z() - at.score_of_labels());
        gap_[k] = std::max(0.0, weight * (at.log_z() - entropy_[k] - at.score(nodes(i), pairs(i))));
    });
    CompensatedSum loss, entropy, gap;
    for (std::size_t j = 0; j < counting_.size(); ++j) {
        loss.add(losses[j]);
        gap.add(gap_[static_cast<std::size_t>(counting_[j])]);
        entropy.add(space_.corpus.weight(counting_[j]) * entropy_[static_cast<std::size_t>(counting_[j])]);
    }
    const DualSpace::Penalty penalty = space_.penalty();
    return {loss.value(), penalty.value, entropy.value() - penalty.conjugate, gap.value()};
}

double DualAscent::entropy_of(std::int64_t i, const double* u, const double* q) {
    const auto stride = static_cast<std::size_t>(space_.stride);
    const std::size_t size = static_cast<std::size_t>(space_.corpus.length(i)) * stride;
    zeros_.resize(std::max({zeros_.size(), size, n_pairs(i)}), 0.0);
    double slope, pairs_log, nodes_log;
    kernels_.entropy(q, zeros_.data(), 0.0, n_pairs(i), &slope, &pairs_log);
    if (size == stride) {
        kernels_.entropy(u, zeros_.data(), 0.0, stride, &slope, &nodes_log);
        return -nodes_log;
    }
    kernels_.entropy(u + stride, zeros_.data(), 0.0, size - 2 * stride, &slope, &nodes_log);
    return nodes_log - pairs_log;
}

// The Markov chain with the first node and the conditional probabilities of u_i: its node probabilities are the
// marginals of its pair probabilities.
void DualAscent::make_consistent(std::int64_t i) {
    const auto Y = static_cast<std::size_t>(space_.n_labels), stride = static_cast<std::size_t>(space_.stride);
    double* u = nodes(i);
    double sum = 0.0;
    for (std::size_t y = 0; y < Y; ++y) sum += u[y] = std::max(u[y], 0.0);
    for (std::size_t y = 0; y < Y; ++y) u[y] /= sum;
    double* q = pairs(i);
    for (std::int64_t t = 1; t < space_.corpus.length(i); ++t, u += stride, q += Y * Y) {
        double* next = u + stride;
        std::fill_n(next, Y, 0.0);
        for (std::size_t a = 0; a < Y; ++a) {
            double* row = q + a * Y;
            double total = 0.0;
            for (std::size_t b = 0; b < Y; ++b) total += row[b] = std::max(row[b], 0.0);
            for (std::size_t b = 0; b < Y; ++b) {
                row[b] = u[a] * (total > 0.0 ? row[b] / total : 1.0 / static_cast<double>(Y));
                next[b] += row[b];
            }
        }
    }
}

double DualAscent::certify() {
    space_.clear();
    CompensatedSum entropy;
    for (const std::int64_t i : counting_) {
        make_consistent(i);
        entropy_[static_cast<std::size_t>(i)] = entropy_of(i, nodes(i), pairs(i));
        entropy.add(space_.corpus.weight(i) * entropy_[static_cast<std::size_t>(i)]);
        add_to_Z(i);
    }
    space_.find_active();
    const double conjugate = space_.conjugate_of_G(1.0);
    space_.add_centers();
    return entropy.value() - conjugate;
}

// G += w_i (E_{u_i} F - F_i)
void DualAscent::add_to_Z(std::int64_t i) {
    const Corpus& corpus = space_.corpus;
    const auto Y = static_cast<std::size_t>(space_.n_labels), stride = static_cast<std::size_t>(space_.stride);
    const auto length = static_cast<std::size_t>(corpus.length(i));
    d_nodes_.assign(nodes(i), nodes(i) + length * stride);
    d_pairs_.assign(pairs(i), pairs(i) + n_pairs(i));
    d_pairs_.resize(n_pairs(i) + kLanes, 0.0);
    for (std::size_t t = 0; t < length; ++t) {
        const std::int64_t position = corpus.offsets[i] + static_cast<std::int64_t>(t);
        const auto y = static_cast<std::size_t>(corpus.labels[position]);
        d_nodes_[t * stride + y] -= 1.0;
        if (t > 0) d_pairs_[((t - 1) * Y + static_cast<std::size_t>(corpus.labels[position - 1])) * Y + y] -= 1.0;
    }
    const DualRows rows = space_.rows(i);
    d_rows_.resize(std::max(d_rows_.size(), rows.n * stride));
    kernels_.dual_differences(rows, d_nodes_.data(), corpus.weight(i), d_rows_.data());
    kernels_.dual_add(rows, d_rows_.data(), 1.0);
    DualSequence& at = inference_.front();
    at.take(i);
    at.sum_pairs(d_nodes_.data(), d_pairs_.data(), own_d_);
    for (std::size_t r = 0; r < at.pair_rows().size(); ++r) {
        const std::size_t first = at.pair_rows()[r] * space_.pairs;
        for (std::size_t j = 0; j < space_.pairs; ++j) {
            const double allowed = space_.allowed_pairs.empty() ? 1.0 : space_.allowed_pairs[first + j];
            space_.Z_pairs[first + j] += corpus.weight(i) * allowed * own_d_[r * space_.pairs + j];
        }
    }
}

std::vector<std::span<double>> DualAscent::state() {
    return {nodes_, pairs_, space_.Z, space_.Z_pairs, entropy_, gap_, step_};
}

}  // namespace sparsecrf
