#include "core/training/screening/pair_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/shares.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

constexpr std::uint32_t kNoTable = 0xffffffffu;
constexpr double kLarge = 0.01;  // few labels of a position are more probable, and the squares of all others are small

// Calls visit(y, x(y)) for the large numbers of a row; adds the squares of the small numbers to `squares`.
template <class Visit>
void split(const double* x, int n, double* squares, Visit visit) {
    constexpr int kAtATime = 8;  // n is a multiple of this
    for (int y = 0; y < n; y += kAtATime) {
        double largest = 0.0;
        for (int i = y; i < y + kAtATime; ++i) largest = std::max(largest, x[i]);
        if (largest <= kLarge) {
            for (int i = y; i < y + kAtATime; ++i) squares[i] += x[i] * x[i];
            continue;
        }
        for (int i = y; i < y + kAtATime; ++i) {
            if (x[i] > kLarge) {
                visit(static_cast<std::uint32_t>(i), x[i]);
            } else {
                squares[i] += x[i] * x[i];
            }
        }
    }
}

}  // namespace

PairBounds::PairBounds(const Corpus& corpus, std::vector<std::uint32_t> lists, int threads)
    : n_labels_(corpus.n_labels),
      stride_(padded(corpus.n_labels)),
      threads_(threads),
      table_of_(corpus.base_lists.size(), kNoTable),
      scratch_(static_cast<std::size_t>(threads)) {
    const auto Y = static_cast<std::size_t>(n_labels_), Yp = static_cast<std::size_t>(stride_);
    for (const std::uint32_t list : lists) {
        table_of_[list] = static_cast<std::uint32_t>(tables_.size());
        tables_.push_back({list, AlignedVector<double>((Y + 1) * Yp, 0.0), AlignedVector<double>(Y * Yp, 0.0),
                           std::vector<double>(Yp, 0.0), std::vector<double>(Yp, 0.0)});
    }
    for (Scratch& of : scratch_) {
        of.alpha2.assign(tables_.size(), std::vector<double>(Yp));
        of.v2 = of.alpha2;
    }
}

std::size_t PairBounds::most_lists(int n_labels) {
    constexpr std::size_t kMostNumbers = std::size_t{1} << 25;
    return kMostNumbers / (2 * static_cast<std::size_t>(n_labels + 1) * static_cast<std::size_t>(padded(n_labels)));
}

void PairBounds::collect_row(std::uint32_t table, const BlockRows& rows, std::uint32_t r, Scratch& scratch) const {
    const auto Yp = static_cast<std::size_t>(stride_);
    const double* alpha = rows.alpha.data() + (r - 1) * Yp;
    const double* v = rows.v.data() + r * Yp;
    const std::size_t first = scratch.alpha.size();
    split(alpha, stride_, scratch.alpha2[table].data(),
          [&](std::uint32_t y, double x) { scratch.alpha.push_back({table, y, x, v}); });
    const LabelPairs numbers(n_labels_);
    split(v, stride_, scratch.v2[table].data(), [&](std::uint32_t y, double x) {
        scratch.v.push_back({table, y, x, alpha});
        for (std::size_t k = first; k < scratch.alpha.size(); ++k) {
            scratch.twice.push_back({table, numbers.pair(scratch.alpha[k].label, y), scratch.alpha[k].value * x});
        }
    });
}

void PairBounds::collect(const Block& block, const BlockRows& rows, Scratch& scratch) const {
    scratch.alpha.clear();
    scratch.v.clear();
    scratch.twice.clear();
    scratch.more.clear();
    for (auto* squares : {&scratch.alpha2, &scratch.v2}) {
        for (std::vector<double>& of : *squares) std::fill(of.begin(), of.end(), 0.0);
    }
    const Occurrences& all = block.inner;
    for (std::size_t key = 0; key < all.keys.size(); ++key) {
        const std::uint32_t table = table_of_[all.keys[key]];
        if (table == kNoTable) continue;
        for (std::uint32_t o = all.ptr[key]; o < all.ptr[key + 1]; ++o) {
            const std::uint32_t r = all.rows[o];
            const Lattice& lattice = rows.lattices[rows.item[r]];
            if (lattice.logarithmic || lattice.ngrams.any() || rows.weight[r] < 0.0) {
                scratch.failed = true;
                return;
            }
            collect_row(table, rows, r, scratch);
            const RestPairs& rest = lattice.rest;
            const auto t = static_cast<std::size_t>(static_cast<std::int64_t>(r) - rows.first_row[rows.item[r]]);
            for (auto k = static_cast<std::size_t>(rest.ptr[t]); k < static_cast<std::size_t>(rest.ptr[t + 1]); ++k) {
                const double more = rows.weight[r] * rest.extra[k] / rest.weight[k];
                if (more > 0.0) scratch.more.push_back({table, rest.pair[k], more});
            }
        }
    }
    const auto by_label = [](const Large& a, const Large& b) {
        return a.table != b.table ? a.table < b.table : a.label < b.label;
    };
    std::stable_sort(scratch.alpha.begin(), scratch.alpha.end(), by_label);
    std::stable_sort(scratch.v.begin(), scratch.v.end(), by_label);
}

// sums(label, .) += value row, for the labels of a share.
void PairBounds::add_rows(const std::vector<Large>& large, AlignedVector<double> Table::* sums, std::size_t share,
                          std::size_t n_shares) {
    const double* row[kRowsAtATime];
    double value[kRowsAtATime];
    for (std::size_t k = 0; k < large.size();) {
        const std::uint32_t table = large[k].table, label = large[k].label;
        std::size_t n = 0;
        for (; k < large.size() && n < kRowsAtATime && large[k].table == table && large[k].label == label; ++k, ++n) {
            row[n] = large[k].row;
            value[n] = large[k].value;
        }
        if (share_of(label, n_shares) != share) continue;
        kernels().sum_rows(value, row, static_cast<int>(n), stride_,
                           (tables_[table].*sums).data() + std::size_t{label} * static_cast<std::size_t>(stride_));
    }
}

void PairBounds::add(int thread, const Block& block, const BlockRows& rows, Turn& turn) {
    Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
    collect(block, rows, scratch);
    const std::size_t n_shares = shares_in_turns(threads_);
    const LabelPairs numbers(n_labels_);
    const auto Yp = static_cast<std::size_t>(stride_);
    // Each cell is updated only in the turn of its row's label.
    for (std::size_t share = 0; share < n_shares; ++share) {
        turn([&] {
            add_rows(scratch.alpha, &Table::sums, share, n_shares);
            add_rows(scratch.v, &Table::columns, share, n_shares);
            for (const Correction& c : scratch.twice) {
                const std::uint32_t previous = numbers.previous(c.pair), y = numbers.label(c.pair);
                if (share_of(y, n_shares) == share) tables_[c.table].columns[y * Yp + previous] -= c.more;
            }
            for (const Correction& c : scratch.more) {
                const std::uint32_t previous = numbers.previous(c.pair), y = numbers.label(c.pair);
                if (share_of(previous, n_shares) == share) tables_[c.table].sums[previous * Yp + y] += c.more;
            }
        });
    }
    turn([&] {
        failed_ = failed_ || scratch.failed;
        for (std::size_t k = 0; k < tables_.size(); ++k) {
            for (std::size_t y = 0; y < Yp; ++y) {
                tables_[k].alpha2[y] += scratch.alpha2[k][y];
                tables_[k].v2[y] += scratch.v2[k][y];
            }
        }
    });
}

void PairBounds::finish(const Potentials& potentials) {
    scratch_.clear();
    const auto Y = static_cast<std::size_t>(n_labels_), Yp = static_cast<std::size_t>(stride_);
    for (Table& of : tables_) {
        for (auto* squares : {&of.alpha2, &of.v2}) {
            for (double& x : *squares) x = std::sqrt(x);
        }
        for (std::size_t i = 0; i < Y; ++i) {
            double* sums = of.sums.data() + i * Yp;
            for (std::size_t y = 0; y < Y; ++y) sums[y] += of.columns[y * Yp + i] + of.alpha2[i] * of.v2[y];
        }
        of.columns = {};
        potentials.transition_of_list(of.list).multiply(of.sums.data());
    }
}

}  // namespace sparsecrf
