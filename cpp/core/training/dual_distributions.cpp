#include "core/training/dual_distributions.hpp"

#include <algorithm>

#include "core/base/compensated_sum.hpp"
#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"

namespace sparsecrf {
namespace {

constexpr double kFirstStep = 0.05;  // assumed c before the first step

}  // namespace

DualDistributions::DualDistributions(const Corpus& of, int threads)
    : corpus(of), stride(padded(of.n_labels)), kernels_(kernels()), pair_first_{0} {
    const auto n = static_cast<std::size_t>(corpus.n_sequences());
    const std::int64_t Y = corpus.n_labels;
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        if (corpus.weight(i) > 0.0 && corpus.length(i) > 0) counting.push_back(i);
        const std::int64_t size = std::max<std::int64_t>(corpus.length(i) - 1, 0) * Y * Y;
        pair_first_.push_back(pair_first_.back() + (size + kLanes - 1) / kLanes * kLanes + kLanes);
    }
    node_values = Zeros(static_cast<std::size_t>(corpus.n_tokens() * stride));
    pair_values = Zeros(static_cast<std::size_t>(pair_first_.back()));
    entropy.assign(n, 0.0);
    gap.assign(n, 0.0);
    step.assign(n, kFirstStep);
    std::size_t longest = 0;
    for (const std::int64_t i : counting) {
        longest = std::max({longest, static_cast<std::size_t>(corpus.length(i) * stride), n_pairs(i)});
    }
    zeros_.assign(longest, 0.0);
    parallel_for(static_cast<std::int64_t>(counting.size()), threads, 32,
                 [&](int, std::int64_t j) { add_data(counting[static_cast<std::size_t>(j)], 1.0); });
}

void DualDistributions::add_data(std::int64_t i, double share) {
    const auto Y = static_cast<std::size_t>(corpus.n_labels), Yp = static_cast<std::size_t>(stride);
    const std::int64_t first = corpus.offsets[i];
    for (std::size_t t = 0; t < static_cast<std::size_t>(corpus.length(i)); ++t) {
        const auto y = static_cast<std::size_t>(corpus.labels[first + static_cast<std::int64_t>(t)]);
        nodes(i)[t * Yp + y] += share;
        if (t == 0) continue;
        const auto before = static_cast<std::size_t>(corpus.labels[first + static_cast<std::int64_t>(t) - 1]);
        pairs(i)[(t - 1) * Y * Y + before * Y + y] += share;
    }
}

void DualDistributions::make_consistent(std::int64_t i) {
    const auto Y = static_cast<std::size_t>(corpus.n_labels), Yp = static_cast<std::size_t>(stride);
    double* u = nodes(i);
    double sum = 0.0;
    for (std::size_t y = 0; y < Y; ++y) sum += u[y] = std::max(u[y], 0.0);
    for (std::size_t y = 0; y < Y; ++y) u[y] /= sum;
    double* q = pairs(i);
    for (std::int64_t t = 1; t < corpus.length(i); ++t, u += Yp, q += Y * Y) {
        double* next = u + Yp;
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

double DualDistributions::entropy_of(std::int64_t i) const {
    const auto Yp = static_cast<std::size_t>(stride);
    const std::size_t size = static_cast<std::size_t>(corpus.length(i)) * Yp;
    double slope, pairs_log, nodes_log;
    kernels_.entropy(pairs(i), zeros_.data(), 0.0, 0.0, n_pairs(i), pairs(i), &slope, &pairs_log);
    if (size == Yp) {
        kernels_.entropy(nodes(i), zeros_.data(), 0.0, 0.0, Yp, nodes(i), &slope, &nodes_log);
        return -nodes_log;
    }
    kernels_.entropy(nodes(i) + Yp, zeros_.data(), 0.0, 0.0, size - 2 * Yp, nodes(i), &slope, &nodes_log);
    return nodes_log - pairs_log;
}

double DualDistributions::total_entropy() const {
    CompensatedSum sum;
    for (const std::int64_t i : counting) sum.add(corpus.weight(i) * entropy[static_cast<std::size_t>(i)]);
    return sum.value();
}

}  // namespace sparsecrf
