#include "core/training/expectations.hpp"

#include <algorithm>

#include "core/base/shares.hpp"
#include "core/inference/unigram_rows.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kRowsAtATime = 32;

}  // namespace

Expectations::Expectations(const FeatureSet& features, const UnigramIndex& index, std::span<double> g,
                           std::span<double> h, int threads)
    : features_(features),
      index_(index),
      g_(g),
      h_(h),
      threads_(threads),
      n_labels_(features.n_labels),
      stride_(padded(features.n_cells())) {}

void Expectations::add(const Block& block, const Occurrences& unigrams, const BlockRows& rows, Turn& turn) {
    const auto n_shares = static_cast<std::int64_t>(shares_in_turns(threads_));
    for (std::int64_t share = 0; share < n_shares;
         ++share) {  // features side by side have lines of the cache of their own
        const std::int64_t first = features_.n_unigram() * share / n_shares,
                           last = features_.n_unigram() * (share + 1) / n_shares;
        turn([&] {
            for (std::size_t key = 0; key < unigrams.keys.size(); ++key) {
                const std::int64_t begin = index_.features[unigrams.keys[key]].begin;
                if (begin >= first && begin < last) add_unigrams(unigrams, key, rows);
            }
        });
    }
    turn([&] { add_rest(block, rows); });
}

// E[x, y] += sum_t w v p_t(y);  h[x, y] += sum_t w v^2 p_t(y) (1 - p_t(y)), for one x
void Expectations::add_unigrams(const Occurrences& all, std::size_t key, const BlockRows& rows) {
    const Kernels& k = kernels();
    const auto [begin, end] = index_.features[all.keys[key]];
    const std::size_t first = all.ptr[key], last = all.ptr[key + 1];
    const auto p = [&](std::size_t o) { return rows.cell_p(all.rows[o], stride_); };
    if (!worth_a_dense_row(end - begin, stride_)) {
        for (std::size_t o = first; o < last; ++o) {
            const double value = all.value(o), weight = rows.weight[all.rows[o]];
            for (std::int64_t f = begin; f < end; ++f) {
                const double q = p(o)[features_.unigram_label[f]];
                g_[f] += weight * value * q;
                if (!h_.empty()) h_[f] += weight * value * value * q * (1.0 - q);
            }
        }
        return;
    }
    thread_local AlignedVector<double> sum, sum2;
    sum.assign(static_cast<std::size_t>(stride_), 0.0);
    sum2.assign(static_cast<std::size_t>(stride_), 0.0);
    for (std::size_t o = first; o < last;) {
        const double* x[kRowsAtATime];
        double factor[kRowsAtATime];
        int n = 0;
        for (; o < last && n < static_cast<int>(kRowsAtATime); ++o, ++n) {
            x[n] = p(o);
            factor[n] = rows.weight[all.rows[o]] * all.value(o);
            if (!h_.empty()) k.axpy_variance(factor[n] * all.value(o), x[n], stride_, sum2.data());
        }
        k.sum_rows(factor, x, n, stride_, sum.data());
    }
    for (std::int64_t f = begin; f < end; ++f) {
        g_[f] += sum[features_.unigram_label[f]];
        if (!h_.empty()) h_[f] += sum2[features_.unigram_label[f]];
    }
}

// E[x, y', y] += sum_t w v p_t(y', y) for the attributes of rest lists: their pairs are among the lattice's.
void Expectations::add_rest(const Block& block, const BlockRows& rows) {
    const Occurrences& all = block.rest;
    const LabelPairs numbers(n_labels_);
    const std::int64_t offset = features_.n_unigram();
    for (std::size_t key = 0; key < all.keys.size(); ++key) {
        const std::uint32_t x = all.keys[key];
        const std::int64_t begin = features_.bigram_ptr[x], end = features_.bigram_ptr[x + 1];
        if (begin == end) continue;
        const std::uint32_t* pairs = features_.bigram_pair.data();
        const std::int64_t split = begin + static_cast<std::int64_t>(numbers.count_inner(features_.bigram_pairs_of(x)));
        for (std::uint32_t o = all.ptr[key]; o < all.ptr[key + 1]; ++o) {
            const std::uint32_t r = all.rows[o], item = rows.item[r];
            const RestPairs& rest = rows.lattices[item].rest;
            const std::int64_t t = r - rows.first_row[item];
            const double value = all.value(o), weight = rows.weight[r];
            std::int64_t k = rest.ptr[static_cast<std::size_t>(t)];
            for (std::int64_t f = t == 0 ? split : begin; f < (t == 0 ? end : split); ++f) {
                while (rest.pair[static_cast<std::size_t>(k)] < pairs[f]) ++k;
                const double p = rest.p[static_cast<std::size_t>(k)];
                g_[offset + f] += weight * value * p;
                if (!h_.empty()) h_[offset + f] += weight * value * value * p * (1.0 - p);
            }
        }
    }
}

}  // namespace sparsecrf
