// Features of a dense column and a label (inference/dense_columns.hpp).
#include <span>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/base/shares.hpp"
#include "core/inference/dense_columns.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/families/family.hpp"

namespace sparsecrf {
namespace {

class DenseFamily final : public Family {
   public:
    explicit DenseFamily(SetTables& tables)
        : Family(tables), stride_(padded(tables.corpus.n_labels)), scratch_(static_cast<std::size_t>(tables.threads)) {}

    static bool present(const Corpus& corpus, const FeatureSet&) { return corpus.n_dense > 0; }
    static void count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int,
                      std::span<double> counts) {
        const std::int64_t d = corpus.n_dense, Y = corpus.n_labels;
        std::vector<double> sums(static_cast<std::size_t>(d * Y), 0.0);  // [d, Y]
        for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
            const double weight = weights[static_cast<std::size_t>(i)];
            if (weight == 0.0) continue;
            for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
                for (std::int64_t j = 0; j < d; ++j) sums[j * Y + corpus.labels[t]] += weight * corpus.dense[t * d + j];
            }
        }
        for_each_dense(corpus, features, [&](std::int64_t j, std::int64_t k, int y) { counts[k] += sums[j * Y + y]; });
    }

    void begin(const GradientPass& pass) override {
        pass_ = &pass;
        const auto size = static_cast<std::size_t>(tables_.corpus.n_dense * stride_);
        sums_.assign(size, 0.0);
        squares_.assign(pass.curvature() ? size : 0, 0.0);
    }

    void add(int thread, std::size_t b, BlockRows& rows, Turn& turn) override {
        const Corpus& corpus = tables_.corpus;
        const Block& block = pass_->plan.blocks[b];
        const std::int64_t d = corpus.n_dense;
        const std::size_t n = rows.weight.size();
        auto& [x, variance, x_rows, p_rows] = scratch_[static_cast<std::size_t>(thread)];
        x.resize(n * static_cast<std::size_t>(d));
        x_rows.resize(n);
        p_rows.resize(n);
        for (std::size_t r = 0; r < n; ++r) {
            x_rows[r] = x.data() + r * static_cast<std::size_t>(d);
            p_rows[r] = rows.p.data() + r * static_cast<std::size_t>(stride_);
        }
        // x <- w X, or w X^2, row by row
        const auto fill = [&](bool squared) {
            for (std::int64_t local = 0; local < block.last_item - block.first_item; ++local) {
                const std::int64_t i = pass_->plan.items[static_cast<std::size_t>(block.first_item + local)].sequence;
                const std::int64_t first = rows.first_row[static_cast<std::size_t>(local)];
                const float* from = corpus.dense.data() + corpus.offsets[i] * d;
                double* to = x.data() + first * d;
                const double weight = rows.weight[static_cast<std::size_t>(first)];
                for (std::int64_t k = 0; k < corpus.length(i) * d; ++k) {
                    const double value = from[k];
                    to[k] = squared ? weight * value * value : weight * value;
                }
            }
        };
        // sums(j, y) += sum_r x(r, j) p(r, y), one share of the columns j per turn
        const auto n_shares = static_cast<std::int64_t>(shares_in_turns(tables_.threads));
        const auto multiply = [&](double* sums) {
            for (std::int64_t share = 0; share < n_shares; ++share) {
                turn([&] {
                    kernels().rank_update(x_rows.data(), p_rows.data(), n, static_cast<int>(d * share / n_shares),
                                          static_cast<int>(d * (share + 1) / n_shares), stride_, sums);
                });
            }
        };
        fill(false);
        multiply(sums_.data());
        if (!pass_->curvature()) return;
        variance.resize(n * static_cast<std::size_t>(stride_));
        for (std::size_t k = 0; k < variance.size(); ++k) variance[k] = rows.p[k] * (1.0 - rows.p[k]);
        for (std::size_t r = 0; r < n; ++r) p_rows[r] = variance.data() + r * static_cast<std::size_t>(stride_);
        fill(true);
        multiply(squares_.data());
    }

    void finish() override {
        for_each_dense(tables_.corpus, *tables_.features, [&](std::int64_t j, std::int64_t k, int y) {
            pass_->g[k] += sums_[j * stride_ + y];
            if (pass_->curvature()) pass_->h[k] += squares_[j * stride_ + y];
        });
    }

   private:
    // Scratch of a thread for one block.
    struct Scratch {
        AlignedVector<double> x, variance;        // w X [rows, d], or w X^2; p (1 - p) [rows, Yp]
        std::vector<const double*> x_rows, rows;  // row pointers
    };
    const int stride_;                      // Yp
    AlignedVector<double> sums_, squares_;  // E and h, [d, Yp]
    std::vector<Scratch> scratch_;          // [threads]
};

}  // namespace

FamilyKind dense_family() { return family_kind<DenseFamily>(); }

}  // namespace sparsecrf
