#include "core/training/dual/dual_distributions.hpp"

#include <algorithm>

#include "core/base/compensated_sum.hpp"
#include "core/base/lanes.hpp"
#include "core/base/parallel.hpp"

namespace sparsecrf {
namespace {

constexpr double kFirstStep = 0.05;  // the c assumed before the first step
constexpr float kTiny = 1e-30F;      // smaller probabilities are stored as zero
constexpr std::size_t kConvertedAtOnce = std::size_t{1} << 20;

}  // namespace

DualDistributions::DualDistributions(const Corpus& of, int threads)
    : corpus(of), stride(padded(of.n_labels)), kernels_(kernels()), pair_first_{0} {
    const auto n = static_cast<std::size_t>(corpus.n_sequences());
    const std::int64_t Y = corpus.n_labels;
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        if (corpus.weight(i) > 0.0 && corpus.length(i) > 0) counting.push_back(i);
        const std::int64_t size = std::max<std::int64_t>(corpus.length(i) - 1, 0) * Y * Y;
        pair_first_.push_back(pair_first_.back() + (size + kLanes - 1) / kLanes * kLanes);
    }
    node_values = Zeros<double>(static_cast<std::size_t>(corpus.n_tokens() * stride));
    floats_ = Zeros<float>(static_cast<std::size_t>(pair_first_.back()));
    entropy.assign(n, 0.0);
    gap.assign(n, 0.0);
    step.assign(n, kFirstStep);
    std::size_t longest = 0;
    for (const std::int64_t i : counting) {
        longest = std::max({longest, static_cast<std::size_t>(corpus.length(i) * stride), n_pairs(i)});
    }
    zeros_.assign(longest, 0.0);
    parallel_for(static_cast<std::int64_t>(counting.size()), threads, 32,
                 [&](int, std::int64_t j) { mix_with_data(counting[static_cast<std::size_t>(j)], 0.0); });
}

void DualDistributions::read_pairs(std::int64_t i, AlignedVector<double>& out) const {
    const std::size_t n = n_pairs(i), first = first_pair(i);
    if (out.size() < n + kLanes) out.resize(n + kLanes);
    if (has_doubles()) {
        std::copy_n(doubles_.data() + first, n, out.begin());
    } else {
        kernels_.read_floats(floats_.data() + first, n, out.data());
    }
    std::fill_n(out.begin() + static_cast<long>(n), kLanes, 0.0);
}

void DualDistributions::move_pairs(std::int64_t i, const double* from, const double* d, double c) {
    const std::size_t n = n_pairs(i), first = first_pair(i);
    if (has_doubles()) {
        std::transform(from, from + n, d, doubles_.data() + first, [c](double q, double dq) { return q + c * dq; });
    } else {
        kernels_.store_floats(from, d, c, kTiny, n, floats_.data() + first);
    }
}

const float* DualDistributions::prefetched_pairs(std::int64_t i) const {
    return floats_.size() > 0 ? floats_.data() + first_pair(i)
                              : reinterpret_cast<const float*>(doubles_.data() + first_pair(i));
}

void DualDistributions::use_doubles() {
    if (has_doubles()) return;
    doubles_ = Zeros<double>(floats_.size());
    for (std::size_t k = 0; k < floats_.size(); k += kConvertedAtOnce) {
        const std::size_t n = std::min(kConvertedAtOnce, floats_.size() - k);
        std::copy_n(floats_.data() + k, n, doubles_.data() + k);
        give_back(floats_.data() + k, n * sizeof(float));
    }
    floats_ = {};
}

void DualDistributions::free() {
    node_values = {};
    floats_ = {};
    doubles_ = {};
}

std::vector<double> DualDistributions::all_pairs() const {
    if (has_doubles()) return {doubles_.data(), doubles_.data() + doubles_.size()};
    return {floats_.data(), floats_.data() + floats_.size()};
}

void DualDistributions::set_all_pairs(std::span<const double> pairs) {
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) write_pairs(i, pairs.data() + first_pair(i));
}

void DualDistributions::mix_with_data(std::int64_t i, double share) {
    const auto Y = static_cast<std::size_t>(corpus.n_labels), Yp = static_cast<std::size_t>(stride);
    const std::int64_t first = corpus.offsets[i];
    AlignedVector<double> q;
    read_pairs(i, q);
    for (double& value : q) value *= share;
    std::for_each_n(nodes(i), corpus.length(i) * stride, [&](double& u) { u *= share; });
    for (std::size_t t = 0; t < static_cast<std::size_t>(corpus.length(i)); ++t) {
        const auto y = static_cast<std::size_t>(corpus.labels[first + static_cast<std::int64_t>(t)]);
        nodes(i)[t * Yp + y] += 1.0 - share;
        if (t == 0) continue;
        const auto before = static_cast<std::size_t>(corpus.labels[first + static_cast<std::int64_t>(t) - 1]);
        q[(t - 1) * Y * Y + before * Y + y] += 1.0 - share;
    }
    write_pairs(i, q.data());
}

void DualDistributions::make_consistent(std::int64_t i, AlignedVector<double>& pairs) {
    read_pairs(i, pairs);
    const auto Y = static_cast<std::size_t>(corpus.n_labels), Yp = static_cast<std::size_t>(stride);
    double* u = nodes(i);
    double sum = 0.0;
    for (std::size_t y = 0; y < Y; ++y) sum += u[y] = std::max(u[y], 0.0);
    for (std::size_t y = 0; y < Y; ++y) u[y] /= sum;
    double* q = pairs.data();
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
    write_pairs(i, pairs.data());
}

double DualDistributions::entropy_of(std::int64_t i, const AlignedVector<double>& q) const {
    const auto Yp = static_cast<std::size_t>(stride);
    const std::size_t size = static_cast<std::size_t>(corpus.length(i)) * Yp;
    double slope, pairs_log, nodes_log;
    kernels_.entropy(q.data(), zeros_.data(), 0.0, 0.0, n_pairs(i), prefetched_pairs(i), &slope, &pairs_log);
    if (size == Yp) {
        kernels_.entropy(nodes(i), zeros_.data(), 0.0, 0.0, Yp, prefetched_pairs(i), &slope, &nodes_log);
        return -nodes_log;
    }
    kernels_.entropy(nodes(i) + Yp, zeros_.data(), 0.0, 0.0, size - 2 * Yp, prefetched_pairs(i), &slope, &nodes_log);
    return nodes_log - pairs_log;
}

double DualDistributions::total_entropy() const {
    CompensatedSum sum;
    for (const std::int64_t i : counting) sum.add(corpus.weight(i) * entropy[static_cast<std::size_t>(i)]);
    return sum.value();
}

}  // namespace sparsecrf
