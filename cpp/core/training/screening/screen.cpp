#include "core/training/screening/screen.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/infinity.hpp"
#include "core/base/parallel.hpp"
#include "core/base/shares.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

constexpr std::uint32_t kNoRow = ListPool::kDropped;
// If the sums of all cells of all attributes take more than this, only likely cells are kept for rare attributes.
constexpr std::size_t kLargestTable = std::size_t{1} << 25;
// With fewer labels, a gradient over all pairs is cheap.
constexpr int kManyLabels = 256;
// Upper bound of the relative rounding error of sums of positive numbers.
constexpr double kRounding = 1e-9;

}  // namespace

Masses attribute_masses(const Corpus& corpus, const Plan& plan, bool absolute, int threads) {
    std::vector<double> weight(static_cast<std::size_t>(corpus.n_sequences()), 0.0);
    for (const Item& item : plan.items) {
        weight[static_cast<std::size_t>(item.sequence)] +=
            absolute ? std::fabs(item.weight) : std::max(item.weight, 0.0);
    }
    const std::vector<double> zero(corpus.n_attributes, 0.0);
    Masses mass{zero, zero, zero};
    parallel_for(threads, threads, 1, [&](int, std::int64_t share) {  // one share of the attributes per thread
        for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
            const double w = weight[static_cast<std::size_t>(i)];
            for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
                const auto to = [&](std::vector<double>& sums) {
                    return [&](std::uint32_t x, double value) {
                        if (share_of_attribute(x, static_cast<std::size_t>(threads)) != static_cast<std::size_t>(share))
                            return;
                        sums[x] += w * (absolute ? std::fabs(value) : value);
                    };
                };
                corpus.for_each_unigram(t, to(mass.unigram));
                corpus.for_each_dense(t, to(mass.unigram));
                corpus.for_each_bigram(t, to(t == corpus.offsets[i] ? mass.start : mass.inner));
            }
        }
    });
    return mass;
}

Screen::Rows Screen::make_rows(const std::vector<double>& mass, const std::vector<double>& whole, double least,
                               double most, int stride) {
    Rows made;
    made.row_of.assign(mass.size(), kNoRow);
    for (std::uint32_t x = 0; x < mass.size(); ++x) {
        if (whole[x] <= least || whole[x] > most || mass[x] == 0.0) continue;
        made.row_of[x] = static_cast<std::uint32_t>(made.keys.size());
        made.keys.push_back(x);
        made.share.push_back(mass[x] / whole[x]);
    }
    made.sums.assign(made.keys.size() * static_cast<std::size_t>(stride), 0.0);
    return made;
}

Screen::Screen(const Corpus& corpus, const Plan& plan, const LabelParts* parts, double bound, int threads,
               const Masses* whole)
    : Screen(corpus, plan, parts, attribute_masses(corpus, plan, true, threads), whole, bound, threads) {}

Screen::Screen(const Corpus& corpus, const Plan& plan, const LabelParts* parts, const Masses& mass, const Masses* whole,
               double bound, int threads)
    : corpus_(corpus),
      plan_(plan),
      parts_(parts),
      bound_(bound),
      threads_(threads),
      n_labels_(corpus.n_labels),
      stride_(padded(corpus.n_labels)),
      n_cells_(parts == nullptr ? corpus.n_labels : parts->n_cells()),
      cell_stride_(padded(n_cells_)),
      scratch_(static_cast<std::size_t>(threads)) {
    const Masses& all = whole == nullptr ? mass : *whole;
    const auto n = static_cast<std::size_t>(
        std::count_if(all.unigram.begin(), all.unigram.end(), [&](double m) { return m > bound; }));
    const bool sparse = n * static_cast<std::size_t>(cell_stride_) > kLargestTable;
    const double frequent = sparse ? SparseSums::kMostMass * bound : bound;
    unigram_ = make_rows(mass.unigram, all.unigram, frequent, kInfinity, cell_stride_);
    if (sparse) {
        rare_keys_ = make_rows(mass.unigram, all.unigram, bound, frequent, 0);
        std::vector<double> masses;
        for (const std::uint32_t x : rare_keys_.keys) masses.push_back(all.unigram[x]);
        rare_ = SparseSums(masses, bound);
    }
    row_of_ = unigram_.row_of;
    for (std::uint32_t row = 0; row < rare_keys_.keys.size(); ++row) {
        row_of_[rare_keys_.keys[row]] = static_cast<std::uint32_t>(unigram_.keys.size()) + row;
    }
    previous_ = make_rows(mass.inner, all.inner, bound, kInfinity, stride_);
    label_ = make_rows(mass.inner, all.inner, bound, kInfinity, stride_);
    start_ = make_rows(mass.start, all.start, bound, kInfinity, stride_);
    for (auto* lists : {&list_previous_, &list_label_, &list_start_}) {
        lists->assign(corpus.base_lists.size(), AlignedVector<double>(static_cast<std::size_t>(stride_), 0.0));
    }
    if (whole == nullptr && n_labels_ >= kManyLabels) pairs_ = PairBounds(corpus, lists_to_bound(), threads);
}

std::vector<std::uint32_t> Screen::lists_to_bound() const {
    const ListPool& lists = corpus_.base_lists;
    std::vector<std::uint32_t> wanted;
    for (std::uint32_t list = 0; list < lists.size(); ++list) {
        bool any = false;
        for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
            any = any || previous_.row_of[lists.id(e)] != kNoRow;
        }
        if (any) wanted.push_back(list);
    }
    if (wanted.size() > PairBounds::most_lists(n_labels_)) wanted.clear();
    return wanted;
}

void Screen::add(int thread, std::size_t b, BlockRows& rows, Turn& turn) {
    const Block& block = plan_.blocks[b];
    rows.unfold({n_labels_, parts_}, stride_, cell_stride_);
    auto& [sorter, unigrams, likely, sums] = scratch_[static_cast<std::size_t>(thread)];
    const std::size_t n_frequent = unigram_.keys.size(), n_shares = shares_in_turns(threads_);
    unigrams = sorter.sort(corpus_, plan_, block, corpus_.unigram_lists, row_of_.data(), n_frequent + rare_.size());
    if (rare_.size() > 0) rare_.scan(rows.cell_p(0, cell_stride_), block.n_rows, cell_stride_, n_cells_, likely);
    for (std::size_t share = 0; share < n_shares; ++share) {
        turn([&, &all = unigrams, &of_block = likely, &scratch = sums] {
            for (std::size_t key = 0; key < all.keys.size(); ++key) {
                if (share_of(all.keys[key], n_shares) != share) continue;
                if (all.keys[key] < n_frequent) {
                    add_frequent(all, static_cast<std::int64_t>(key), rows);
                } else {
                    add_rare(all, static_cast<std::int64_t>(key), rows, of_block, scratch);
                }
            }
        });
    }
    turn([&] { add_bigrams(block, rows); });
    if (pairs_.any()) pairs_.add(thread, block, rows, turn);
}

void Screen::add_bigrams(const Block& block, const BlockRows& rows) {
    const Kernels& k = kernels();
    const auto row = [&](std::uint32_t r) { return rows.p.data() + static_cast<std::size_t>(r) * stride_; };
    const auto each = [&](const Occurrences& all, auto visit) {
        for (std::size_t key = 0; key < all.keys.size(); ++key) {
            for (std::uint32_t o = all.ptr[key]; o < all.ptr[key + 1]; ++o) {
                const std::uint32_t r = all.rows[o];
                visit(all.keys[key], r, std::fabs(rows.weight[r] * all.value(o)));
            }
        }
    };
    const auto add_to = [&](Rows& to, std::uint32_t x, std::uint32_t r, double f) {
        if (to.row_of[x] == kNoRow) return;
        k.axpy(f, row(r), stride_, to.sums.data() + static_cast<std::size_t>(to.row_of[x]) * stride_);
    };
    each(block.rest, [&](std::uint32_t x, std::uint32_t r, double f) {
        if (r == rows.first_row[rows.item[r]]) {
            add_to(start_, x, r, f);
        } else {
            add_to(previous_, x, r - 1, f);
            add_to(label_, x, r, f);
        }
    });
    each(block.inner, [&](std::uint32_t list, std::uint32_t r, double f) {
        k.axpy(f, row(r - 1), stride_, list_previous_[list].data());
        k.axpy(f, row(r), stride_, list_label_[list].data());
    });
    each(block.start,
         [&](std::uint32_t list, std::uint32_t r, double f) { k.axpy(f, row(r), stride_, list_start_[list].data()); });
}

void Screen::add_frequent(const Occurrences& all, std::int64_t key, const BlockRows& rows) {
    double* sums = unigram_.sums.data() + static_cast<std::size_t>(all.keys[key]) * cell_stride_;
    for (std::uint32_t o = all.ptr[key]; o < all.ptr[key + 1];) {
        const double* p[kRowsAtATime];
        double factor[kRowsAtATime];
        int n = 0;
        for (; o < all.ptr[key + 1] && n < static_cast<int>(kRowsAtATime); ++o, ++n) {
            p[n] = rows.cell_p(all.rows[o], cell_stride_);
            factor[n] = std::fabs(rows.weight[all.rows[o]] * all.value(o));
        }
        kernels().sum_rows(factor, p, n, cell_stride_, sums);
    }
}

void Screen::add_rare(const Occurrences& all, std::int64_t key, const BlockRows& rows, const SparseSums::Likely& likely,
                      SparseSums::Scratch& scratch) {
    const std::size_t first = all.ptr[key], n = all.ptr[key + 1] - first;
    thread_local std::vector<double> factor;
    factor.resize(n);
    for (std::size_t k = 0; k < n; ++k) factor[k] = std::fabs(rows.weight[all.rows[first + k]] * all.value(first + k));
    rare_.add(all.keys[key] - unigram_.keys.size(), std::span(all.rows).subspan(first, n), factor, likely, n_cells_,
              scratch);
}

template <class Visit>
void Screen::each_unigram(Visit visit) const {
    const auto frequent = [&](std::size_t row) {
        const double* sums = unigram_.sums.data() + row * static_cast<std::size_t>(cell_stride_);
        for (int c = 0; c < n_cells_; ++c) visit(unigram_, row, c, sums[c]);
    };
    std::size_t next = 0;  // next frequent attribute
    for (std::size_t row = 0; row < rare_.size(); ++row) {
        while (next < unigram_.keys.size() && unigram_.keys[next] < rare_keys_.keys[row]) frequent(next++);
        for (const SparseSums::Entry& e : rare_.row(row)) {
            visit(rare_keys_, row, static_cast<int>(e.cell), e.sum + rare_.missing() * rare_keys_.share[row]);
        }
    }
    while (next < unigram_.keys.size()) frequent(next++);
}

// Adds to each base attribute the sums of the lists that contain it, in list order.
void Screen::finish(const Potentials& potentials) {
    pairs_.finish(potentials);
    const ListPool& lists = corpus_.base_lists;
    for (std::uint32_t list = 0; list < lists.size(); ++list) {
        for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
            const auto add = [&](Rows& to, const AlignedVector<double>& from) {
                const std::uint32_t row = to.row_of[lists.id(e)];
                if (row == kNoRow) return;
                kernels().axpy(std::fabs(lists.value(e)), from.data(), stride_,
                               to.sums.data() + static_cast<std::size_t>(row) * stride_);
            };
            add(previous_, list_previous_[list]);
            add(label_, list_label_[list]);
            add(start_, list_start_[list]);
        }
    }
}

std::vector<std::vector<std::pair<std::uint32_t, double>>> Screen::base_lists_of_attributes() const {
    std::vector<std::vector<std::pair<std::uint32_t, double>>> of(previous_.keys.size());
    if (!pairs_.known()) return of;
    const auto each = [&](const ListPool& lists, auto visit) {
        for (std::uint32_t list = 0; list < lists.size(); ++list) {
            for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
                const std::uint32_t row = previous_.row_of[lists.id(e)];
                if (row != kNoRow) visit(of[row], list, std::fabs(lists.value(e)));
            }
        }
    };
    each(corpus_.base_lists, [](auto& lists, std::uint32_t list, double value) { lists.push_back({list, value}); });
    each(corpus_.rest_lists, [](auto& lists, std::uint32_t, double) { lists.clear(); });
    return of;
}

std::vector<std::int64_t> Screen::candidates() const {
    const auto over = [&](const AlignedVector<double>& sums, std::uint32_t row) {
        std::vector<std::uint32_t> labels;
        for (std::uint32_t y = 0; y < static_cast<std::uint32_t>(n_labels_); ++y) {
            if (sums[static_cast<std::size_t>(row) * stride_ + y] > bound_) labels.push_back(y);
        }
        return labels;
    };
    const auto classes_over = [&](const AlignedVector<double>& sums, std::uint32_t row) {
        std::vector<double> of_class(static_cast<std::size_t>(parts_->n_classes()));
        parts_->sum_classes(sums.data() + static_cast<std::size_t>(row) * stride_, of_class.data());
        std::vector<std::uint32_t> classes;
        for (std::uint32_t c = 0; c < of_class.size(); ++c) {
            if (of_class[c] > bound_) classes.push_back(c);
        }
        return classes;
    };
    const int n_classes = parts_ == nullptr ? 0 : parts_->n_classes();
    const Numbering numbering(n_labels_, corpus_.n_attributes, n_cells_ - n_labels_, n_classes);
    std::vector<std::int64_t> out;
    each_unigram([&](const Rows& of, std::size_t row, int cell, double sum) {
        if (sum > bound_) out.push_back(numbering.unigram.number(of.keys[row], cell));
    });
    // Adds the pairs of labels or classes that are both above the bound, unless kept(x, y', y) is false.
    const auto add_pairs = [&](const FeatureRange& range, const LabelPairs& pairs, auto above, auto kept) {
        for (std::uint32_t x = 0; x < corpus_.n_attributes; ++x) {
            const auto add = [&](std::uint32_t before, std::uint32_t y) {
                if (kept(x, before, y)) out.push_back(range.number(x, pairs.pair(before, y)));
            };
            if (previous_.row_of[x] != kNoRow) {
                const auto ys = above(label_.sums, label_.row_of[x]);
                for (const std::uint32_t before : above(previous_.sums, previous_.row_of[x])) {
                    for (const std::uint32_t y : ys) add(before, y);
                }
            }
            if (start_.row_of[x] == kNoRow) continue;
            for (const std::uint32_t y : above(start_.sums, start_.row_of[x])) add(pairs.start(), y);
        }
    };
    const auto lists_of = base_lists_of_attributes();
    add_pairs(numbering.bigram, numbering.pairs, over, [&](std::uint32_t x, std::uint32_t before, std::uint32_t y) {
        if (before == numbering.pairs.start()) return true;
        const auto& lists = lists_of[previous_.row_of[x]];
        double most = lists.empty() ? kInfinity : 0.0;
        for (const auto& [list, value] : lists) most += value * pairs_.at(list, before, y);
        return most > bound_ * (1.0 - kRounding);
    });
    if (n_classes == 0) return out;
    const LabelPairs of_classes = parts_->class_pairs();
    add_pairs(numbering.classes, of_classes, classes_over, [&](std::uint32_t, std::uint32_t before, std::uint32_t c) {
        return parts_->has_features(of_classes.pair(before, c));
    });
    return out;
}

ShardSums Screen::sums_above(double fraction) const {
    ShardSums out;
    FeatureRange range = Numbering(n_labels_, corpus_.n_attributes, n_cells_ - n_labels_).unigram;
    const auto tell = [&](const Rows& of, std::size_t row, int cell, double sum) {
        if (sum <= fraction * bound_ * of.share[row]) return;
        out.cell.push_back(range.number(of.keys[row], cell));
        out.sum.push_back(sum);
        out.share.push_back(of.share[row]);
    };
    each_unigram(tell);
    for (const Rows* rows : {&previous_, &label_, &start_}) {
        range.first = range.end();
        for (std::size_t row = 0; row < rows->keys.size(); ++row) {
            const double* sums = rows->sums.data() + row * static_cast<std::size_t>(stride_);
            for (int y = 0; y < n_labels_; ++y) tell(*rows, row, y, sums[y]);
        }
    }
    return out;
}

}  // namespace sparsecrf
