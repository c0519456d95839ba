// Features of an attribute and a label pair. For base lists, sums are computed by list, then distributed over the
// list's attributes; for rest lists, they are computed position by position.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/parallel.hpp"
#include "core/base/shares.hpp"
#include "core/inference/transitions/cost_model.hpp"
#include "core/training/families/count_rows.hpp"
#include "core/training/families/family.hpp"

namespace sparsecrf {
namespace {

// Transposes the columns of some labels of n rows, padding with zeros to a multiple of four:
// out[k, r] = x[r][label[k]].
void gather_columns(const double* const* x, std::size_t n, std::span<const std::uint16_t> label, double* out) {
    const std::size_t end = (n + 3) / 4 * 4;
    for (const std::uint16_t y : label) {
        for (std::size_t r = 0; r < n; ++r) out[r] = x[r][y];
        for (std::size_t r = n; r < end; ++r) out[r] = 0.0;
        out += kRowsAtATime;
    }
}

// sum_r a[r] v[r] in four running sums, independent of the instruction set.
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

// Returns the distinct values of x (all < n), in ascending order, and replaces each x by its index among them.
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

std::span<const std::uint32_t> rows_of(const Occurrences& all, std::size_t key) {
    return std::span(all.rows).subspan(all.ptr[key], all.ptr[key + 1] - all.ptr[key]);
}

class PairFamily final : public Family {
   public:
    explicit PairFamily(SetTables& tables)
        : Family(tables),
          threads_(tables.threads),
          n_labels_(tables.corpus.n_labels),
          stride_(padded(tables.corpus.n_labels)) {}

    static bool present(const Corpus&, const FeatureSet&) { return true; }
    static void count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                      std::span<double> counts) {
        const LabelPairs pairs(corpus.n_labels);
        count_rows(corpus, weights, threads, features.bigram_ptr, features.bigram_pair,
                   counts.data() + features.n_unigram(),
                   [&](std::int64_t t, std::uint32_t previous, std::uint32_t y, auto add) {
                       add(corpus.base_lists, corpus.base[t], pairs.pair(previous, y));
                       add(corpus.rest_lists, corpus.rest[t], pairs.pair(previous, y));
                   });
    }

    void begin(const GradientPass& pass) override {
        pass_ = &pass;
        if (lists_.empty()) lay_lists();
        product_.assign(n_cells_, 0.0);
        direct_.resize(n_cells_);
        if (pass.curvature()) {
            product2_.assign(n_cells_, 0.0);
            direct2_.resize(n_cells_);
        }
        for (List& list : lists_) list.has_direct = false;
    }

    // Squares the rows if curvature is needed, so alpha and v must not be used afterwards.
    void add(int, std::size_t b, BlockRows& rows, Turn& turn) override {
        const Block& block = pass_->plan.blocks[b];
        turn([&] {
            add_rest(block, rows);
            for (const Occurrences* all : {&block.inner, &block.start}) {
                for (std::size_t k = 0; k < all->keys.size(); ++k) {
                    if (lists_[all->keys[k]].n > 0) add_direct(all->keys[k], rows_of(*all, k), rows);
                }
            }
        });
        for (int power = 1; power <= (pass_->curvature() ? 2 : 1); ++power) {
            if (power == 2) square(rows);
            double* target = (power == 1 ? product_ : product2_).data();
            for (std::size_t share = 0; share < shares_in_turns(threads_); ++share) {
                turn([&] { add_share(share, block, rows, target); });
            }
            turn([&] {
                for (std::size_t k = 0; k < block.start.keys.size(); ++k) {
                    const std::uint32_t list = block.start.keys[k];
                    if (lists_[list].n > 0) add_start(list, rows_of(block.start, k), rows, target + lists_[list].first);
                }
            });
        }
    }

    // E[x, y', y] += v (E_list o product + direct) over the base lists that contain x.
    void finish() override {
        const auto n_lists = static_cast<std::int64_t>(lists_.size());
        parallel_for(n_lists, threads_, items_at_a_time(n_lists, threads_), [&](int, std::int64_t list) {
            if (lists_[static_cast<std::size_t>(list)].n > 0) complete(static_cast<std::uint32_t>(list));
        });
        parallel_for(threads_, threads_, 1,
                     [&](int, std::int64_t share) { finish_share(static_cast<std::size_t>(share)); });
    }

    void release() override {
        lists_ = {};
        n_cells_ = 0;
        for (AlignedVector<double>* x : {&product_, &product2_, &direct_, &direct2_}) *x = {};
    }

   private:
    // The location and layout of the sums of a list: all pairs, [Y + 1, Yp] (last row: start), or parallel to the pairs
    // that have a feature. Lists without features need no sums.
    struct List {
        std::size_t first = 0, n = 0;            // cells; first is a multiple of kLanes
        bool all_pairs = false;                  // outer products of all pairs instead of individual pairs
        bool has_direct = false;                 // this pass wrote to `direct`
        std::vector<std::uint16_t> previous, y;  // individual pairs: the labels y' < Y and y that occur, ascending
        std::vector<std::uint16_t> left, right;  // index of each pair with y' < Y into these
    };
    void lay_lists() {
        lists_.resize(tables_.corpus.base_lists.size());
        parallel_for(static_cast<std::int64_t>(lists_.size()), threads_, 16, [&](int, std::int64_t list) {
            lay(lists_[static_cast<std::size_t>(list)], tables_.pairs.of(static_cast<std::uint32_t>(list)));
        });
        for (List& list : lists_) {
            list.first = n_cells_;
            n_cells_ += (list.n + kLanes - 1) / kLanes * kLanes;
        }
    }

    void lay(List& list, std::span<const std::uint32_t> pairs) const {
        if (pairs.empty()) return;
        const std::size_t inner = LabelPairs(n_labels_).count_inner(pairs);
        list.all_pairs = tables_.kernel == Kernel::dense || (tables_.kernel == Kernel::automatic &&
                                                             !pairs_are_cheaper(inner, n_labels_, lists_.size() - 1));
        list.n =
            list.all_pairs ? static_cast<std::size_t>(n_labels_ + 1) * static_cast<std::size_t>(stride_) : pairs.size();
        if (list.all_pairs) return;
        list.left.resize(inner);
        list.right.resize(inner);
        for_each_pair(pairs.first(inner), n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
            list.left[k] = static_cast<std::uint16_t>(i);
            list.right[k] = static_cast<std::uint16_t>(y);
        });
        list.previous = compress(list.left, n_labels_);
        list.y = compress(list.right, n_labels_);
    }

    // Index of a pair in the sums of a list, if the pair is summed.
    std::optional<std::size_t> cell(std::uint32_t list, std::uint32_t pair) const {
        const List& of = lists_[list];
        if (of.all_pairs) {
            const LabelPairs numbers(n_labels_);
            return of.first + numbers.previous(pair) * static_cast<std::size_t>(stride_) + numbers.label(pair);
        }
        const std::span<const std::uint32_t> pairs = tables_.pairs.of(list);
        const auto found = std::lower_bound(pairs.begin(), pairs.end(), pair);
        if (found == pairs.end() || *found != pair) return std::nullopt;
        return of.first + static_cast<std::size_t>(found - pairs.begin());
    }

    // sums(y', y) += sum_r alpha_{r-1}(y') v_r(y) for y0 <= y' < y1, over the rows that are not logarithmic.
    void add_products(const List& list, std::span<const std::uint32_t> all, const BlockRows& rows, int y0, int y1,
                      double* sums) const {
        const double* a[kRowsAtATime];
        const double* v[kRowsAtATime];
        std::size_t n = 0;
        for (std::size_t o = 0; o <= all.size(); ++o) {
            if (n == kRowsAtATime || (o == all.size() && n > 0)) {
                if (list.all_pairs) {
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

    // sums[k] += sum_r a[r](y') v[r](y) for the candidates k = (y', y) with y0 <= y' < y1. The columns of a and v that
    // occur are copied contiguously, so that a candidate is a product of two short contiguous vectors.
    static void add_pairs(const List& list, const double* const* a, const double* const* v, std::size_t n, int y0,
                          int y1, double* sums) {
        const auto index = [&](int y) {
            return static_cast<std::size_t>(std::lower_bound(list.previous.begin(), list.previous.end(), y) -
                                            list.previous.begin());
        };
        const std::size_t i0 = index(y0), i1 = index(y1);
        thread_local AlignedVector<double> left, right;
        left.resize((i1 - i0) * kRowsAtATime);
        right.resize(list.y.size() * kRowsAtATime);
        gather_columns(a, n, std::span(list.previous).subspan(i0, i1 - i0), left.data());
        gather_columns(v, n, list.y, right.data());
        const auto place = [&](std::size_t i) {
            return static_cast<std::size_t>(std::lower_bound(list.left.begin(), list.left.end(), i) -
                                            list.left.begin());
        };
        const double* x = left.data();
        const double* y = right.data();
        for (std::size_t k = place(i0), last = place(i1); k < last; ++k) {
            sums[k] += dot(x + (list.left[k] - i0) * kRowsAtATime, y + list.right[k] * kRowsAtATime, n);
        }
    }

    // sums(start, y) += sum_r v_r(y)
    void add_start(std::uint32_t list, std::span<const std::uint32_t> all, const BlockRows& rows, double* sums) const {
        const List& of = lists_[list];
        const LabelPairs numbers(n_labels_);
        const std::span<const std::uint32_t> pairs = tables_.pairs.of(list);
        for (const std::uint32_t r : all) {
            if (rows.lattices[rows.item[r]].logarithmic) continue;
            const double* v = rows.v.data() + static_cast<std::size_t>(r) * stride_;
            if (of.all_pairs) {
                kernels().axpy(1.0, v, stride_, sums + static_cast<std::size_t>(n_labels_) * stride_);
            } else {
                for (std::size_t c = of.left.size(); c < pairs.size(); ++c) sums[c] += v[numbers.start_label(pairs[c])];
            }
        }
    }

    // Adds the terms that are not outer products: pairs of logarithmic rows, and the contributions of rest lists to the
    // base pairs, p - alpha E_base v and p^2 - (alpha E_base v)^2. NgramFamily adds the contribution of label n-grams.
    void add_direct(std::uint32_t list, std::span<const std::uint32_t> all, const BlockRows& rows) {
        List& of = lists_[list];
        const LabelPairs numbers(n_labels_);
        std::optional<Recursion> recursion;
        for (const std::uint32_t r : all) {
            const Lattice& lattice = rows.lattices[rows.item[r]];
            const auto t = static_cast<std::int64_t>(r) - rows.first_row[rows.item[r]];
            const double weight = rows.weight[r];
            const auto add = [&](std::uint32_t pair, double p, double p2) {
                const std::optional<std::size_t> at = cell(list, pair);
                if (!at) return;
                if (!of.has_direct) {
                    std::fill_n(direct_.data() + of.first, of.n, 0.0);
                    if (pass_->curvature()) std::fill_n(direct2_.data() + of.first, of.n, 0.0);
                    of.has_direct = true;
                }
                direct_[*at] += weight * p;
                if (pass_->curvature()) direct2_[*at] += weight * p2;
            };
            if (lattice.logarithmic) {
                if (!recursion) recursion.emplace(pass_->potentials);
                const std::span<const std::uint32_t> pairs = numbers.at(tables_.pairs.of(list), t == 0);
                recursion->pair_marginals(lattice, t, pairs, [&](std::size_t k, double p) { add(pairs[k], p, p * p); });
            } else {
                lattice.rest.for_each_extra(t, add);
            }
        }
    }

    // E[x, y', y] += sum_t w v p_t(y', y) for the attributes of rest lists, whose pairs are in the lattice.
    void add_rest(const Block& block, const BlockRows& rows) const {
        const FeatureSet& features = *tables_.features;
        const std::span<double> g = pass_->g, h = pass_->h;
        const Occurrences& all = block.rest;
        const LabelPairs numbers(n_labels_);
        const std::int64_t offset = features.n_unigram();
        for (std::size_t key = 0; key < all.keys.size(); ++key) {
            const std::uint32_t x = all.keys[key];
            const std::int64_t begin = features.bigram_ptr[x], end = features.bigram_ptr[x + 1];
            if (begin == end) continue;
            const std::uint32_t* pairs = features.bigram_pair.data();
            const std::int64_t split =
                begin + static_cast<std::int64_t>(numbers.count_inner(features.bigram_pairs_of(x)));
            for (std::uint32_t o = all.ptr[key]; o < all.ptr[key + 1]; ++o) {
                const std::uint32_t r = all.rows[o], item = rows.item[r];
                const RestPairs& rest = rows.lattices[item].rest;
                const std::int64_t t = r - rows.first_row[item];
                const double value = all.value(o), weight = rows.weight[r];
                std::int64_t k = rest.ptr[static_cast<std::size_t>(t)];
                for (std::int64_t f = t == 0 ? split : begin; f < (t == 0 ? end : split); ++f) {
                    while (rest.pair[static_cast<std::size_t>(k)] < pairs[f]) ++k;
                    const double p = rest.p[static_cast<std::size_t>(k)];
                    g[offset + f] += weight * value * p;
                    if (!h.empty()) h[offset + f] += weight * value * value * p * (1.0 - p);
                }
            }
        }
    }

    // Processes the lists of one share or, if there are few lists, one share of the labels y'.
    void add_share(std::size_t share, const Block& block, const BlockRows& rows, double* sums) const {
        const std::size_t n_shares = shares_in_turns(threads_);
        const bool by_list = lists_.size() >= 4 * n_shares;
        const auto cut = [&](std::size_t s) {
            return static_cast<int>(static_cast<std::size_t>(n_labels_) * s / n_shares);
        };
        for (std::size_t k = 0; k < block.inner.keys.size(); ++k) {
            const std::uint32_t number = block.inner.keys[k];
            const List& list = lists_[number];
            if (list.n == 0 || (by_list && share_of(number, n_shares) != share)) continue;
            add_products(list, rows_of(block.inner, k), rows, by_list ? 0 : cut(share),
                         by_list ? n_labels_ : cut(share + 1), sums + list.first);
        }
    }

    void square(BlockRows& rows) const {
        for (std::size_t r = 0; r < rows.weight.size(); ++r) {
            if (rows.lattices[rows.item[r]].logarithmic) continue;
            double* alpha = rows.alpha.data() + r * static_cast<std::size_t>(stride_);
            double* v = rows.v.data() + r * static_cast<std::size_t>(stride_);
            const double inverse = 1.0 / rows.weight[r], scale = std::isfinite(inverse) ? inverse : 0.0;
            for (int y = 0; y < stride_; ++y) {
                alpha[y] *= alpha[y];
                v[y] *= v[y] * scale;
            }
        }
    }

    // E_list o product + direct, and the same for squares.
    void complete(std::uint32_t list) {
        const List& of = lists_[list];
        const Transition& transition = pass_->potentials.transition_of_list(list);
        const std::span<const std::uint32_t> pairs = tables_.pairs.of(list);
        const auto multiply = [&](double* x) { of.all_pairs ? transition.multiply(x) : transition.multiply(pairs, x); };
        double* product = product_.data() + of.first;
        multiply(product);
        for (std::size_t c = 0; of.has_direct && c < of.n; ++c) product[c] += direct_[of.first + c];
        if (!pass_->curvature()) return;
        double* product2 = product2_.data() + of.first;
        multiply(product2);
        multiply(product2);
        for (std::size_t c = 0; of.has_direct && c < of.n; ++c) product2[c] += direct2_[of.first + c];
    }

    // Completes the sums of the features of the attributes of one share.
    void finish_share(std::size_t share) const {
        const FeatureSet& features = *tables_.features;
        const std::span<double> g = pass_->g, h = pass_->h;
        const auto Yp = static_cast<std::size_t>(stride_), n_shares = static_cast<std::size_t>(threads_);
        const ListPool& pool = tables_.corpus.base_lists;
        for (std::uint32_t list = 0; list < pool.size(); ++list) {
            const List& of = lists_[list];
            if (of.n == 0) continue;
            const double* product = product_.data() + of.first;
            const double* product2 = pass_->curvature() ? product2_.data() + of.first : nullptr;
            for (std::int64_t e = pool.begin(list); e < pool.end(list); ++e) {
                const std::uint32_t x = pool.id(e);
                if (share_of(x, n_shares) != share) continue;
                const double value = pool.value(e);
                const std::int64_t first = features.n_unigram() + features.bigram_ptr[x];
                const std::span<const std::uint32_t> row = features.bigram_pairs_of(x);
                const auto take = [&](std::size_t k, std::size_t c) {
                    const auto f = static_cast<std::size_t>(first) + k;
                    g[f] += value * product[c];
                    if (pass_->curvature()) h[f] += value * value * (product[c] - product2[c]);
                };
                if (of.all_pairs) {
                    for_each_pair(row, n_labels_,
                                  [&](std::size_t k, std::size_t i, std::size_t y) { take(k, i * Yp + y); });
                } else {
                    for_each_place(row, tables_.pairs.of(list), take);
                }
            }
        }
    }

    const int threads_, n_labels_, stride_;  // Y, Yp
    std::vector<List> lists_;                // [base lists]; empty before the first pass
    std::size_t n_cells_ = 0;                // total over all lists
    // [cells] sum_t w alpha(y') v(y) before multiplication by E, the same for squares, and terms that do not have this
    // form (log rows, corrections). The last two arrays are used only by lists with has_direct.
    AlignedVector<double> product_, product2_, direct_, direct2_;
};

}  // namespace

FamilyKind pair_family() { return family_kind<PairFamily>(); }

}  // namespace sparsecrf
