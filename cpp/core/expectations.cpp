#include "expectations.hpp"

#include <algorithm>

#include "cost_model.hpp"
#include "parallel.hpp"
#include "recursion.hpp"

namespace sparsecrf {
namespace {

constexpr std::size_t kRowsAtATime = 32;  // their alpha and v stay in the first-level cache

// x^T of the n rows for some labels, rows padded with zeros to a multiple of four: out[k, r] = x[r][label[k]].
void gather_columns(const double* const* x, std::size_t n, std::span<const std::uint16_t> label, double* out) {
    const std::size_t end = (n + 3) / 4 * 4;
    for (const std::uint16_t y : label) {
        for (std::size_t r = 0; r < n; ++r) out[r] = x[r][y];
        for (std::size_t r = n; r < end; ++r) out[r] = 0.0;
        out += kRowsAtATime;
    }
}

// sum_r a[r] v[r] in four running sums, which fill a vector of any instruction set twice.
double dot(const double* a, const double* v, std::size_t n) {
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    for (std::size_t r = 0; r < n; r += 4) {
        s0 += a[r] * v[r];
        s1 += a[r + 1] * v[r + 1];
        s2 += a[r + 2] * v[r + 2];
        s3 += a[r + 3] * v[r + 3];
    }
    return (s0 + s2) + (s1 + s3);
}

// Distinct values of x < n, ascending; x becomes the index of each among them.
std::vector<std::uint16_t> compress(std::vector<std::uint16_t>& x, int n) {
    std::vector<std::uint16_t> index(static_cast<std::size_t>(n), 0), distinct;
    for (const std::uint16_t k : x) index[k] = 1;
    for (std::size_t k = 0; k < index.size(); ++k) {
        if (index[k] == 0) continue;
        index[k] = static_cast<std::uint16_t>(distinct.size());
        distinct.push_back(static_cast<std::uint16_t>(k));
    }
    for (std::uint16_t& k : x) k = index[k];
    return distinct;
}

}  // namespace

Expectations::Expectations(const Potentials& potentials, const FeatureSet& features, const UnigramIndex& index,
                           std::span<double> g, std::span<double> h, int threads)
    : potentials_(potentials),
      corpus_(potentials.corpus()),
      features_(features),
      index_(index),
      g_(g),
      h_(h),
      threads_(threads),
      n_labels_(potentials.n_labels()),
      stride_(potentials.stride()),
      lists_(corpus_.base_lists.size()) {
    const auto Y = static_cast<std::uint32_t>(n_labels_);
    parallel_for(static_cast<std::int64_t>(lists_.size()), threads, 16, [&](int, std::int64_t list) {
        PairScores pairs;
        potentials.gather_base(static_cast<std::uint32_t>(list), Pairs::all, true, pairs);
        if (pairs.pair.empty()) return;
        ListSums& sums = lists_[static_cast<std::size_t>(list)];
        const auto inner = static_cast<std::size_t>(std::lower_bound(pairs.pair.begin(), pairs.pair.end(), Y * Y) -
                                                    pairs.pair.begin());
        sums.all_pairs =
            potentials.kernel() == Kernel::dense ||
            (potentials.kernel() == Kernel::automatic && !pairs_are_cheaper(inner, n_labels_, lists_.size() - 1));
        if (!sums.all_pairs) {
            for (std::size_t k = 0; k < inner; ++k) {
                sums.left.push_back(static_cast<std::uint16_t>(pairs.pair[k] / Y));
                sums.right.push_back(static_cast<std::uint16_t>(pairs.pair[k] % Y));
            }
            sums.previous = compress(sums.left, n_labels_);
            sums.y = compress(sums.right, n_labels_);
            sums.pair = std::move(pairs.pair);
        }
        const std::size_t cells = sums.all_pairs
                                      ? static_cast<std::size_t>(n_labels_ + 1) * static_cast<std::size_t>(stride_)
                                      : sums.pair.size();
        sums.product.assign(cells, 0.0);
        sums.direct.assign(cells, 0.0);
        if (!h_.empty()) {
            sums.product2.assign(cells, 0.0);
            sums.direct2.assign(cells, 0.0);
        }
    });
}

std::optional<std::size_t> Expectations::cell(const ListSums& of, std::uint32_t pair) const {
    const auto Y = static_cast<std::uint32_t>(n_labels_);
    if (of.all_pairs) return static_cast<std::size_t>(pair / Y) * static_cast<std::size_t>(stride_) + pair % Y;
    const auto found = std::lower_bound(of.pair.begin(), of.pair.end(), pair);
    if (found == of.pair.end() || *found != pair) return std::nullopt;
    return static_cast<std::size_t>(found - of.pair.begin());
}

void Expectations::add(const Block& block, const Occurrences& unigrams, BlockRows& rows) {
    add_unigrams(unigrams, rows);
    add_rest(block, rows);
    add_base(block, rows);
}

// E[x, y] += sum_t w v p_t(y);  h[x, y] += sum_t w v^2 p_t(y) (1 - p_t(y))
void Expectations::add_unigrams(const Occurrences& all, const BlockRows& rows) {
    const Kernels& k = kernels();
    parallel_for(static_cast<std::int64_t>(all.keys.size()), threads_, 64, [&](int, std::int64_t key) {
        const std::uint32_t row = all.keys[static_cast<std::size_t>(key)];
        const auto [begin, end] = index_.features[row];
        const std::size_t first = all.ptr[static_cast<std::size_t>(key)],
                          last = all.ptr[static_cast<std::size_t>(key) + 1];
        const auto p = [&](std::size_t o) { return rows.p.data() + static_cast<std::size_t>(all.rows[o]) * stride_; };
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
    });
}

// E[x, y', y] += sum_t w v p_t(y', y) for the attributes of rest lists: their pairs are among the lattice's.
void Expectations::add_rest(const Block& block, const BlockRows& rows) {
    const Occurrences& all = block.rest;
    const auto inner = static_cast<std::uint32_t>(n_labels_) * static_cast<std::uint32_t>(n_labels_);
    const std::int64_t offset = features_.n_unigram();
    parallel_for(static_cast<std::int64_t>(all.keys.size()), threads_, 64, [&](int, std::int64_t key) {
        const std::uint32_t x = all.keys[static_cast<std::size_t>(key)];
        const std::int64_t begin = features_.bigram_ptr[x], end = features_.bigram_ptr[x + 1];
        if (begin == end) return;
        const std::uint32_t* pairs = features_.bigram_pair.data();
        const std::int64_t split = std::lower_bound(pairs + begin, pairs + end, inner) - pairs;
        for (std::uint32_t o = all.ptr[static_cast<std::size_t>(key)]; o < all.ptr[static_cast<std::size_t>(key) + 1];
             ++o) {
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
    });
}

// sums(y', y) += sum_r alpha_{r-1}(y') v_r(y) for y0 <= y' < y1, over the rows that are not logarithmic.
void Expectations::add_products(std::uint32_t list, std::span<const std::uint32_t> all, const BlockRows& rows, int y0,
                                int y1, double* sums) const {
    const ListSums& of = lists_[list];
    const double* a[kRowsAtATime];
    const double* v[kRowsAtATime];
    std::size_t n = 0;
    for (std::size_t o = 0; o <= all.size(); ++o) {
        if (n == kRowsAtATime || (o == all.size() && n > 0)) {
            if (of.all_pairs) {
                kernels().rank_update(a, v, n, y0, y1, stride_, sums);
            } else {
                add_pairs(list, a, v, n, y0, y1, sums);
            }
            n = 0;
        }
        if (o == all.size()) break;
        const std::uint32_t r = all[o];
        if (rows.lattices[rows.item[r]].logarithmic) continue;
        a[n] = rows.alpha.data() + static_cast<std::size_t>(r - 1) * stride_;
        v[n] = rows.v.data() + static_cast<std::size_t>(r) * stride_;
        ++n;
    }
}

// sums[k] += sum_r a[r](y') v[r](y) for the candidates k = (y', y) with y0 <= y' < y1. With the columns of a and v that
// occur laid side by side, a candidate is a product of two short contiguous vectors.
void Expectations::add_pairs(std::uint32_t list, const double* const* a, const double* const* v, std::size_t n, int y0,
                             int y1, double* sums) const {
    const ListSums& of = lists_[list];
    const auto index = [&](int y) {
        return static_cast<std::size_t>(std::lower_bound(of.previous.begin(), of.previous.end(), y) -
                                        of.previous.begin());
    };
    const std::size_t i0 = index(y0), i1 = index(y1);
    thread_local AlignedVector<double> left, right;
    left.resize((i1 - i0) * kRowsAtATime);
    right.resize(of.y.size() * kRowsAtATime);
    gather_columns(a, n, std::span(of.previous).subspan(i0, i1 - i0), left.data());
    gather_columns(v, n, of.y, right.data());
    const auto first = static_cast<std::size_t>(std::lower_bound(of.left.begin(), of.left.end(), i0) - of.left.begin());
    const auto last = static_cast<std::size_t>(std::lower_bound(of.left.begin(), of.left.end(), i1) - of.left.begin());
    const double* x = left.data();
    const double* y = right.data();
    for (std::size_t k = first; k < last; ++k) {
        sums[k] += dot(x + (of.left[k] - i0) * kRowsAtATime, y + of.right[k] * kRowsAtATime, n);
    }
}

// What is not an outer product: pairs of logarithmic rows, and the rest lists' share of the base pairs,
// p - alpha E_base v and p^2 - (alpha E_base v)^2 = extra (2 p - extra).
void Expectations::add_direct(std::uint32_t list, std::span<const std::uint32_t> all, const BlockRows& rows) {
    ListSums& sums = lists_[list];
    const auto Y = static_cast<std::uint32_t>(n_labels_);
    std::vector<double> edges;
    std::optional<Recursion> recursion;
    for (const std::uint32_t r : all) {
        const Lattice& lattice = rows.lattices[rows.item[r]];
        const auto t = static_cast<std::int64_t>(r) - rows.first_row[rows.item[r]];
        const double weight = rows.weight[r];
        const auto add = [&](std::uint32_t pair, double p, double p2) {
            const std::optional<std::size_t> at = cell(sums, pair);
            if (!at) return;
            sums.direct[*at] += weight * p;
            if (!h_.empty()) sums.direct2[*at] += weight * p2;
        };
        if (lattice.logarithmic) {
            edges.resize(static_cast<std::size_t>(Y + 1) * Y);
            if (!recursion) recursion.emplace(potentials_);
            recursion->edge_marginals(lattice, t, edges.data());
            for (std::uint32_t pair = t == 0 ? Y * Y : 0; pair < (t == 0 ? (Y + 1) * Y : Y * Y); ++pair) {
                add(pair, edges[pair], edges[pair] * edges[pair]);
            }
            continue;
        }
        for (std::int64_t k = lattice.rest.ptr[t]; k < lattice.rest.ptr[t + 1]; ++k) {
            const double extra = lattice.rest.extra[k];
            if (extra != 0.0) add(lattice.rest.pair[k], extra, extra * (2.0 * lattice.rest.p[k] - extra));
        }
    }
}

void Expectations::square(BlockRows& rows) const {
    parallel_for(static_cast<std::int64_t>(rows.weight.size()), threads_, 64, [&](int, std::int64_t r) {
        if (rows.lattices[rows.item[r]].logarithmic) return;
        double* alpha = rows.alpha.data() + r * stride_;
        double* v = rows.v.data() + r * stride_;
        const double scale = rows.weight[r] > 0.0 ? 1.0 / rows.weight[r] : 0.0;
        for (int y = 0; y < stride_; ++y) {
            alpha[y] *= alpha[y];
            v[y] *= v[y] * scale;
        }
    });
}

void Expectations::add_base(const Block& block, BlockRows& rows) {
    const auto keys = [](const Occurrences& all, std::int64_t k) {
        return std::span(all.rows).subspan(all.ptr[k], all.ptr[k + 1] - all.ptr[k]);
    };
    const auto n_inner = static_cast<std::int64_t>(block.inner.keys.size());
    const auto n_start = static_cast<std::int64_t>(block.start.keys.size());
    const auto used = [&](std::uint32_t list) { return !lists_[list].product.empty(); };
    const auto inner = static_cast<std::uint32_t>(n_labels_) * static_cast<std::uint32_t>(n_labels_);

    for (const auto* all : {&block.inner, &block.start}) {
        parallel_for(static_cast<std::int64_t>(all->keys.size()), threads_, 1, [&](int, std::int64_t k) {
            if (used(all->keys[k])) add_direct(all->keys[k], keys(*all, k), rows);
        });
    }
    // Slices of previous labels are tasks of their own when there are few lists.
    const int slices = threads_ == 1 || n_inner >= 4 * threads_ ? 1 : std::min(2 * threads_, (n_labels_ + 7) / 8);
    for (int power = 1; power <= (h_.empty() ? 1 : 2); ++power) {
        if (power == 2) square(rows);
        const auto target = [&](std::uint32_t list) {
            return (power == 1 ? lists_[list].product : lists_[list].product2).data();
        };
        parallel_for(n_inner * slices, threads_, 1, [&](int, std::int64_t task) {
            const std::int64_t k = task / slices;
            const int slice = static_cast<int>(task % slices);
            const std::uint32_t list = block.inner.keys[k];
            if (!used(list)) return;
            add_products(list, keys(block.inner, k), rows, n_labels_ * slice / slices, n_labels_ * (slice + 1) / slices,
                         target(list));
        });
        parallel_for(n_start, threads_, 1, [&](int, std::int64_t k) {
            const std::uint32_t list = block.start.keys[k];
            if (!used(list)) return;
            const ListSums& of = lists_[list];
            double* sums = target(list) + (of.all_pairs ? static_cast<std::size_t>(n_labels_) * stride_ : 0);
            for (const std::uint32_t r : keys(block.start, k)) {
                if (rows.lattices[rows.item[r]].logarithmic) continue;
                const double* v = rows.v.data() + static_cast<std::size_t>(r) * stride_;
                if (of.all_pairs) {
                    kernels().axpy(1.0, v, stride_, sums);
                } else {
                    for (std::size_t c = of.left.size(); c < of.pair.size(); ++c) sums[c] += v[of.pair[c] - inner];
                }
            }
        });
    }
}

// E[x, y', y] += v (E_list o product + direct) over the base lists that hold x.
void Expectations::finish() {
    const std::int64_t offset = features_.n_unigram();
    const auto Y = static_cast<std::uint32_t>(n_labels_);
    const ListPool& pool = corpus_.base_lists;
    for (std::uint32_t list = 0; list < pool.size(); ++list) {
        ListSums& sums = lists_[list];
        if (sums.product.empty()) continue;
        const Transition& transition = potentials_.transition_of_list(list);
        const auto multiply = [&](AlignedVector<double>& x) {
            sums.all_pairs ? transition.multiply(x.data()) : transition.multiply(sums.pair, x.data());
        };
        multiply(sums.product);
        for (std::size_t c = 0; c < sums.product.size(); ++c) sums.product[c] += sums.direct[c];
        if (!h_.empty()) {
            multiply(sums.product2);
            multiply(sums.product2);
            for (std::size_t c = 0; c < sums.product2.size(); ++c) sums.product2[c] += sums.direct2[c];
        }
        for (std::int64_t k = pool.begin(list); k < pool.end(list); ++k) {
            const std::uint32_t x = pool.id(k);
            const double value = pool.value(k);
            std::size_t next = 0;  // pair by pair: both the features and the candidates ascend
            for (std::int64_t f = features_.bigram_ptr[x]; f < features_.bigram_ptr[x + 1]; ++f) {
                const std::uint32_t pair = features_.bigram_pair[f];
                while (!sums.all_pairs && sums.pair[next] < pair) ++next;
                const std::size_t c = sums.all_pairs ? static_cast<std::size_t>(pair / Y) * stride_ + pair % Y : next;
                g_[offset + f] += value * sums.product[c];
                if (!h_.empty()) h_[offset + f] += value * value * (sums.product[c] - sums.product2[c]);
            }
        }
    }
}

}  // namespace sparsecrf
