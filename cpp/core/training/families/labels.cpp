// Features of an attribute and a label or label part (corpus/label_parts.hpp).
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/prefetch.hpp"
#include "core/base/shares.hpp"
#include "core/inference/unigram_rows.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/families/count_rows.hpp"
#include "core/training/families/family.hpp"

namespace sparsecrf {
namespace {

class LabelFamily final : public Family {
   public:
    explicit LabelFamily(SetTables& tables) : Family(tables), cell_stride_(padded(tables.features->n_cells())) {}
    static bool present(const Corpus&, const FeatureSet&) { return true; }
    static void count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                      std::span<double> counts) {
        const LabelCells cells = features.cells();
        count_rows(corpus, weights, threads, features.unigram_ptr, features.unigram_label, counts.data(),
                   [&](std::int64_t t, std::uint32_t, std::uint32_t y, auto add) {
                       cells.for_each(y,
                                      [&](std::uint32_t cell) { add(corpus.unigram_lists, corpus.unigram[t], cell); });
                   });
    }

    void begin(const GradientPass& pass) override {
        pass_ = &pass;
        if (blocks_.empty()) blocks_ = tables_.unigrams.turned(tables_.corpus, pass.plan, tables_.threads);
    }

    void add(int, std::size_t b, BlockRows& rows, Turn& turn) override {
        const Occurrences& all = blocks_[b];
        const std::int64_t n_features = tables_.features->n_unigram();
        const auto n_shares = static_cast<std::int64_t>(shares_in_turns(tables_.threads));
        rows.unfold(tables_.features->cells(), padded(tables_.features->n_labels), cell_stride_);
        for (std::int64_t share = 0; share < n_shares; ++share) {  // avoids false sharing of cache lines
            const std::int64_t first = n_features * share / n_shares, last = n_features * (share + 1) / n_shares;
            turn([&] {
                for (std::size_t key = 0; key < all.keys.size(); ++key) {
                    prefetch_row(all, key);
                    const std::int64_t begin = tables_.unigrams.features[all.keys[key]].begin;
                    if (begin >= first && begin < last) add_attribute(all, key, rows);
                }
            });
        }
    }

    void release() override { blocks_ = {}; }

   private:
    // Rows are far apart in memory and most occur only once or twice in a block, so they are prefetched a few keys
    // ahead.
    SPARSECRF_PREFETCHES void prefetch_row(const Occurrences& all, std::size_t key) const {
        constexpr std::size_t kRange = 24, kSums = 12;  // keys ahead
        const std::vector<UnigramIndex::Range>& features = tables_.unigrams.features;
        if (key + kRange < all.keys.size()) prefetch(&features[all.keys[key + kRange]]);
        if (key + kSums >= all.keys.size()) return;
        const std::int64_t begin = features[all.keys[key + kSums]].begin;
        prefetch(pass_->g.data() + begin);
        prefetch(tables_.features->unigram_label.data() + begin);
    }

    // E[x, y] += sum_t w v p_t(y);  h[x, y] += sum_t w v^2 p_t(y) (1 - p_t(y)), for one x
    void add_attribute(const Occurrences& all, std::size_t key, const BlockRows& rows) const {
        const Kernels& k = kernels();
        const std::vector<std::uint16_t>& label = tables_.features->unigram_label;
        const std::span<double> g = pass_->g, h = pass_->h;
        const auto [begin, end] = tables_.unigrams.features[all.keys[key]];
        const std::size_t first = all.ptr[key], last = all.ptr[key + 1];
        const auto p = [&](std::size_t o) { return rows.cell_p(all.rows[o], cell_stride_); };
        const bool once = last - first == 1 && h.empty();  // gives the same bits, since 0 + a = a
        if (once || !worth_a_dense_row(end - begin, cell_stride_)) {
            for (std::int64_t f = begin; f < end; ++f) {
                double sum = g[f];
                for (std::size_t o = first; o < last; ++o)
                    sum += rows.weight[all.rows[o]] * all.value(o) * p(o)[label[f]];
                g[f] = sum;
            }
            for (std::int64_t f = begin; !h.empty() && f < end; ++f) {
                double sum = h[f];
                for (std::size_t o = first; o < last; ++o) {
                    const double value = all.value(o), q = p(o)[label[f]];
                    sum += rows.weight[all.rows[o]] * value * value * q * (1.0 - q);
                }
                h[f] = sum;
            }
            return;
        }
        thread_local AlignedVector<double> sum, sum2;
        sum.assign(static_cast<std::size_t>(cell_stride_), 0.0);
        if (!h.empty()) sum2.assign(static_cast<std::size_t>(cell_stride_), 0.0);
        for (std::size_t o = first; o < last;) {
            const double* x[kRowsAtATime];
            double factor[kRowsAtATime];
            int n = 0;
            for (; o < last && n < static_cast<int>(kRowsAtATime); ++o, ++n) {
                x[n] = p(o);
                factor[n] = rows.weight[all.rows[o]] * all.value(o);
                if (!h.empty()) k.axpy_variance(factor[n] * all.value(o), x[n], cell_stride_, sum2.data());
            }
            k.sum_rows(factor, x, n, cell_stride_, sum.data());
        }
        for (std::int64_t f = begin; f < end; ++f) {
            g[f] += sum[label[f]];
            if (!h.empty()) h[f] += sum2[label[f]];
        }
    }

    const int cell_stride_;            // Cp
    std::vector<Occurrences> blocks_;  // [blocks of the plan] by row of the index
};

}  // namespace

FamilyKind label_family() { return family_kind<LabelFamily>(); }

}  // namespace sparsecrf
