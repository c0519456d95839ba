// Features of an attribute and a class pair. For base lists, sums are computed by list, then distributed over the
// list's attributes; for rest lists, they are computed by attribute.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/lanes.hpp"
#include "core/training/families/count_rows.hpp"
#include "core/training/families/family.hpp"

namespace sparsecrf {
namespace {

class ClassPairFamily final : public Family {
   public:
    explicit ClassPairFamily(SetTables& tables)
        : Family(tables),
          pairs_(tables.features->parts->class_pairs()),
          row_(static_cast<std::size_t>(padded(static_cast<int>(pairs_.n_inner())))),
          slot_of_(tables.corpus.base_lists.size(), -1) {
        const ListPool& pool = tables.corpus.base_lists;
        for (std::uint32_t list = 0; list < pool.size(); ++list) {
            for (std::int64_t e = pool.begin(list); e < pool.end(list) && slot_of_[list] < 0; ++e) {
                if (tables.features->class_pairs_of(pool.id(e)).empty()) continue;
                slot_of_[list] = static_cast<std::int32_t>(lists_.size());
                lists_.push_back(list);
            }
        }
    }

    static bool present(const Corpus&, const FeatureSet& features) { return features.n_class() > 0; }
    static void count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                      std::span<double> counts) {
        count_rows(corpus, weights, threads, features.class_ptr, features.class_pair,
                   counts.data() + features.first_class(),
                   [&](std::int64_t t, std::uint32_t previous, std::uint32_t y, auto add) {
                       const std::uint32_t pair = features.parts->class_pair(previous, y);
                       add(corpus.base_lists, corpus.base[t], pair);
                       add(corpus.rest_lists, corpus.rest[t], pair);
                   });
    }

    void begin(const GradientPass& pass) override {
        pass_ = &pass;
        sum_.assign(lists_.size() * pairs_.size(), 0.0);
        if (pass.curvature()) square_.assign(sum_.size(), 0.0);
    }

    void open(BlockRows& rows) override { rows.classes.resize(static_cast<std::size_t>(pass_->plan.max_rows) * row_); }

    void keep(Recursion& recursion, const Lattice& lattice, std::size_t first_row, BlockRows& rows) override {
        for (std::int64_t t = 0; t < lattice.length; ++t) {
            recursion.class_marginals(lattice, t,
                                      rows.classes.data() + (first_row + static_cast<std::size_t>(t)) * row_);
        }
    }

    void add(int, std::size_t b, BlockRows& rows, Turn& turn) override {
        const Block& block = pass_->plan.blocks[b];
        turn([&] {
            for (const bool start : {false, true}) {
                const Occurrences& all = start ? block.start : block.inner;
                for (std::size_t k = 0; k < all.keys.size(); ++k) {
                    const std::int32_t slot = slot_of_[all.keys[k]];
                    if (slot < 0) continue;
                    add_list(static_cast<std::size_t>(slot),
                             std::span(all.rows).subspan(all.ptr[k], all.ptr[k + 1] - all.ptr[k]), rows, start);
                }
            }
            add_rest(block, rows);
        });
    }

    // E[x, c', c] += v sum over the rows of the base lists that contain x
    void finish() override {
        const FeatureSet& features = *tables_.features;
        const std::span<double> g = pass_->g, h = pass_->h;
        const ListPool& pool = tables_.corpus.base_lists;
        for (std::size_t slot = 0; slot < lists_.size(); ++slot) {
            const double* sum = sum_.data() + slot * pairs_.size();
            const double* square = pass_->curvature() ? square_.data() + slot * pairs_.size() : nullptr;
            for (std::int64_t e = pool.begin(lists_[slot]); e < pool.end(lists_[slot]); ++e) {
                const std::span<const std::uint32_t> row = features.class_pairs_of(pool.id(e));
                if (row.empty()) continue;
                const auto place = static_cast<std::size_t>(features.first_class() + features.class_ptr[pool.id(e)]);
                const double value = pool.value(e);
                for (std::size_t j = 0; j < row.size(); ++j) {
                    g[place + j] += value * sum[row[j]];
                    if (pass_->curvature()) h[place + j] += value * value * (sum[row[j]] - square[row[j]]);
                }
            }
        }
    }

    void release() override { sum_ = square_ = {}; }

   private:
    // sum_r w p_r(c', c), and the same with p^2, over the rows of a list; `start`: with p_r(start, c).
    void add_list(std::size_t slot, std::span<const std::uint32_t> all, const BlockRows& rows, bool start) {
        const std::size_t at = slot * pairs_.size() + (start ? pairs_.n_inner() : 0);
        const std::size_t n = start ? pairs_.n_labels : pairs_.n_inner();
        for (const std::uint32_t r : all) {
            const double* p = rows.classes.data() + r * row_;
            const double weight = rows.weight[r];
            double* sum = sum_.data() + at;
            for (std::size_t c = 0; c < n; ++c) sum[c] += weight * p[c];
            if (!pass_->curvature()) continue;
            double* square = square_.data() + at;
            for (std::size_t c = 0; c < n; ++c) square[c] += weight * p[c] * p[c];
        }
    }

    // E[x, c', c] += sum_t w v p_t(c', c) for the attributes of rest lists.
    void add_rest(const Block& block, const BlockRows& rows) const {
        const FeatureSet& features = *tables_.features;
        const std::span<double> g = pass_->g, h = pass_->h;
        const Occurrences& all = block.rest;
        for (std::size_t k = 0; k < all.keys.size(); ++k) {
            const std::span<const std::uint32_t> row = features.class_pairs_of(all.keys[k]);
            if (row.empty()) continue;
            const auto place = static_cast<std::size_t>(features.first_class() + features.class_ptr[all.keys[k]]);
            const std::size_t inner = pairs_.count_inner(row);
            for (std::uint32_t o = all.ptr[k]; o < all.ptr[k + 1]; ++o) {
                const std::uint32_t r = all.rows[o];
                const bool start = static_cast<std::int64_t>(r) == rows.first_row[rows.item[r]];
                const double* p = rows.classes.data() + r * row_;
                const double value = all.value(o), weight = rows.weight[r];
                for (std::size_t j = start ? inner : 0; j < (start ? row.size() : inner); ++j) {
                    const double q = p[start ? pairs_.start_label(row[j]) : row[j]];
                    g[place + j] += weight * value * q;
                    if (pass_->curvature()) h[place + j] += weight * value * value * q * (1.0 - q);
                }
            }
        }
    }

    const LabelPairs pairs_;             // class pairs
    const std::size_t row_;              // length of a row of BlockRows::classes
    std::vector<std::int32_t> slot_of_;  // [base lists] slot of their sums; -1 means no class features
    std::vector<std::uint32_t> lists_;   // list of each slot
    std::vector<double> sum_, square_;   // [slots, (C + 1) C]
};

}  // namespace

FamilyKind class_pair_family() { return family_kind<ClassPairFamily>(); }

}  // namespace sparsecrf
