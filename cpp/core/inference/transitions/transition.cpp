#include "core/inference/transitions/transition.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/base/error.hpp"
#include "core/base/infinity.hpp"
#include "core/inference/transitions/max_plus.hpp"

namespace sparsecrf {
namespace {

// A zero sum stays zero even if E overflowed to infinity, as it may where only the log domain was used.
double times(double sum, double weight) { return sum == 0.0 ? 0.0 : sum * weight; }

}  // namespace

void Transition::report_stale(State needed, const char* method) const {
    constexpr const char* kNames[] = {"nothing", "`assign`", "`renew`"};
    throw std::logic_error(message("Transition::", method, ": expected scores of ",
                                   kNames[static_cast<std::size_t>(needed)], ", found those of ",
                                   kNames[static_cast<std::size_t>(state_)]));
}

void Transition::fill_scores(double* out) const {
    for (int i = 0; i < n_labels_; ++i) {
        double* row = out + static_cast<std::size_t>(i) * stride_;
        std::fill_n(row, n_labels_, 0.0);
        if (classes_ != nullptr) {
            const double* kappa = class_score_.data() + class_cell(static_cast<std::size_t>(i), 0) -
                                  classes_->class_of(0);  // row of the class of i
            for (int y = 0; y < n_labels_; ++y) row[y] = kappa[classes_->class_of(static_cast<std::size_t>(y))];
        }
        std::fill(row + n_labels_, row + stride_, -kInfinity);
    }
    for_each_pair(scores_.pair, n_labels_, [&](std::size_t k, std::size_t i, std::size_t y) {
        out[i * static_cast<std::size_t>(stride_) + y] = scores_.score[k];
    });
}

void Transition::multiply(double* sums) const {
    if (dense_) {
        for (std::size_t k = 0; k < e_.size(); ++k) sums[k] = times(sums[k], e_[k]);
    } else {
        const auto Y = static_cast<std::size_t>(n_labels_), Yp = static_cast<std::size_t>(stride_);
        std::size_t k = 0;  // entry
        for (std::size_t i = 0; classes_ != nullptr && i < Y; ++i) {
            for (std::size_t y = 0; y < Y; ++y) {
                const bool entry = k < scores_.pair.size() && scores_.pair[k] == i * Y + y;
                sums[i * Yp + y] = times(sums[i * Yp + y], entry ? weight_[k++] : plain_weight(i, y));
            }
        }
        if (classes_ == nullptr) {
            for_each_pair(scores_.pair, n_labels_, [&](std::size_t at, std::size_t i, std::size_t y) {
                sums[i * Yp + y] = times(sums[i * Yp + y], weight_[at]);
            });
        }
    }
    double* start = sums + static_cast<std::size_t>(n_labels_) * stride_;
    for (int y = 0; y < n_labels_; ++y) start[y] = times(start[y], start_weight_[y]);
}

void Transition::multiply(std::span<const std::uint32_t> pairs, double* sums) const {
    const LabelPairs numbers(n_labels_);
    std::size_t entry = 0;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        const std::uint32_t pair = pairs[k];
        if (numbers.is_start(pair)) {
            sums[k] = times(sums[k], start_weight_[numbers.start_label(pair)]);
        } else if (dense_) {
            sums[k] = times(sums[k], e_[std::size_t{numbers.previous(pair)} * stride_ + numbers.label(pair)]);
        } else {
            while (entry < scores_.pair.size() && scores_.pair[entry] < pair) ++entry;
            if (entry < scores_.pair.size() && scores_.pair[entry] == pair) {
                sums[k] = times(sums[k], weight_[entry]);
            } else if (classes_ != nullptr) {
                sums[k] = times(sums[k], plain_weight(numbers.previous(pair), numbers.label(pair)));
            }
        }
    }
}

// out(i) = base(i) + sum_k m(i, k) x(k) for the lines in bundles; `again` recomputes a cell that lost precision.
template <class Base, class Again>
void Transition::sparse_product(const Bundles& bundles, const double* x, Base base, double* out, Again again) {
    const std::uint16_t* cell = bundles.cell.data();
    const double* m = bundles.m.data();
    const std::uint16_t* line = bundles.line.data();
    for (std::size_t b = 0; b + 1 < bundles.ptr.size(); ++b, line += 4) {
        const double b0 = base(line[0]), b1 = base(line[1]), b2 = base(line[2]), b3 = base(line[3]);
        double s0 = b0, s1 = b1, s2 = b2, s3 = b3;
        for (std::uint32_t k = bundles.ptr[b]; k < bundles.ptr[b + 1]; ++k, cell += 4, m += 4) {
            s0 += m[0] * x[cell[0]];
            s1 += m[1] * x[cell[1]];
            s2 += m[2] * x[cell[2]];
            s3 += m[3] * x[cell[3]];
        }
        out[line[0]] = s0;
        out[line[1]] = s1;
        out[line[2]] = s2;
        out[line[3]] = s3;
        if (s0 >= kCancelled * b0 && s1 >= kCancelled * b1 && s2 >= kCancelled * b2 && s3 >= kCancelled * b3) continue;
        for (int l = 0; l < 4; ++l) {
            if (!(out[line[l]] >= kCancelled * base(line[l]))) out[line[l]] = again(line[l]);
        }
    }
}

// The same over label classes: base(i) is sum_d weight(d, c) X(d) over the classes d, where c is the class of i and
// X(d) the sum of x over the labels of d.
template <class Weight, class Again>
void Transition::class_product(const Bundles& bundles, const double* x, Weight weight, double* out, Again again) const {
    const auto C = static_cast<std::size_t>(classes_->n_classes());
    thread_local std::vector<double> of_class;
    of_class.assign(2 * C, 0.0);
    double* base = of_class.data() + C;
    classes_->sum_classes(x, of_class.data());
    for (std::size_t d = 0; d < C; ++d) {
        for (std::size_t c = 0; c < C; ++c) base[c] += of_class[d] * weight(d, c);
    }
    const auto base_of = [&](int i) { return base[classes_->class_of(static_cast<std::size_t>(i))]; };
    for (int i = 0; i < n_labels_; ++i) out[i] = base_of(i);
    std::fill(out + n_labels_, out + stride_, 0.0);
    sparse_product(bundles, x, base_of, out, again);
}

// alpha_{t+1}(y) / e_{t+1}(y) = 1 + sum_{y' in A(y)} alpha_t(y') M(y', y); with classes, sum_{c'} A(c') D(c', c)
// replaces 1
void Transition::forward(const double* alpha, double* u) const {
    if (dense_) return kernels().matvec(alpha, e_.data(), n_labels_, stride_, u);
    const auto again = [&](int y) { return column_sum(alpha, y); };
    if (classes_ != nullptr) {
        const auto C = static_cast<std::size_t>(classes_->n_classes());
        const auto weight = [&](std::size_t before, std::size_t c) { return class_weight_[before * C + c]; };
        return class_product(columns_, alpha, weight, u, again);
    }
    std::fill_n(u, stride_, 1.0);
    sparse_product(columns_, alpha, [](int) { return 1.0; }, u, again);
}

// beta_{t-1}(y') = sum_y v_t(y) + sum_{y: lambda != 0} M(y', y) v_t(y); with classes, sum_c D(c', c) V(c) replaces the
// first sum
void Transition::backward(const double* v, double total, double* beta) const {
    if (dense_ && et_.empty()) {
        for (int i = 0; i < n_labels_; ++i) {
            beta[i] = kernels().dot(e_.data() + static_cast<std::size_t>(i) * stride_, v, stride_);
        }
        std::fill(beta + n_labels_, beta + stride_, 0.0);
        return;
    }
    if (dense_) return kernels().matvec(v, et_.data(), n_labels_, stride_, beta);
    const auto again = [&](int previous) { return row_sum(v, previous); };
    if (classes_ != nullptr) {
        const auto C = static_cast<std::size_t>(classes_->n_classes());
        const auto weight = [&](std::size_t after, std::size_t c) { return class_weight_[c * C + after]; };
        return class_product(rows_, v, weight, beta, again);
    }
    std::fill_n(beta, stride_, total);
    sparse_product(rows_, v, [total](int) { return total; }, beta, again);
}

// sum over the labels of c' and c of alpha E v = A(c') D(c', c) V(c) + sum over entries of alpha M v
bool Transition::class_sums(const double* alpha, const double* v, double* out) const {
    constexpr double kLarge = 0x1p10;
    bool exact = true;
    const LabelParts& parts = *classes_;
    const auto C = static_cast<std::size_t>(parts.n_classes());
    thread_local std::vector<double> of_class;
    of_class.resize(2 * C);
    double* of_v = of_class.data() + C;
    parts.sum_classes(alpha, of_class.data());
    parts.sum_classes(v, of_v);
    for (std::size_t i = 0; i < C; ++i) {
        for (std::size_t c = 0; c < C; ++c) {
            out[i * C + c] = of_class[i] * class_weight_[i * C + c] * of_v[c];
            exact = exact && out[i * C + c] <= kLarge;
        }
    }
    // Skips rows whose terms are all below rounding error; most rows are.
    constexpr double kNegligible = 0x1p-75;
    const LabelPairs numbers(n_labels_);
    const double largest = *std::max_element(v, v + n_labels_);
    for (const Row& row : rows_with_entries_) {
        const double a = alpha[row.label];
        if (a * row.largest * largest < kNegligible) continue;
        const std::uint32_t first = numbers.pair(row.label, 0);
        double* sums = out + parts.class_of(row.label) * C;
        for (std::uint32_t k = row.begin; k < row.end; ++k) {
            const std::uint32_t y = scores_.pair[k] - first;
            sums[parts.class_of(y)] += a * difference_[k] * v[y];
        }
    }
    return exact;
}

double Transition::weight(int previous, int y) const {
    if (dense_) return e_[static_cast<std::size_t>(previous) * stride_ + y];
    const auto begin = column_row_.begin() + column_ptr_[y], end = column_row_.begin() + column_ptr_[y + 1];
    const auto found = std::lower_bound(begin, end, static_cast<std::uint16_t>(previous));
    if (found == end || *found != previous) {
        return plain_weight(static_cast<std::size_t>(previous), static_cast<std::size_t>(y));
    }
    return weight_[column_entry_[static_cast<std::size_t>(found - column_row_.begin())]];
}

double Transition::score(int previous, int y) const {
    const std::uint32_t pair =
        LabelPairs(n_labels_).pair(static_cast<std::uint32_t>(previous), static_cast<std::uint32_t>(y));
    const auto found = std::lower_bound(scores_.pair.begin(), scores_.pair.end(), pair);
    if (found == scores_.pair.end() || *found != pair) {
        return plain_score(static_cast<std::size_t>(previous), static_cast<std::size_t>(y));
    }
    return scores_.score[static_cast<std::size_t>(found - scores_.pair.begin())];
}

void Transition::column_weights(int y, double* out) const {
    if (dense_) {
        for (int i = 0; i < n_labels_; ++i) out[i] = e_[static_cast<std::size_t>(i) * stride_ + y];
        return;
    }
    for (int i = 0; i < n_labels_; ++i) out[i] = plain_weight(static_cast<std::size_t>(i), static_cast<std::size_t>(y));
    for (std::uint32_t k = column_ptr_[y]; k < column_ptr_[y + 1]; ++k) out[column_row_[k]] = weight_[column_entry_[k]];
}

void Transition::column_scores(int y, double* out) const {
    need(State::assigned, "column_scores");
    if (dense_) {
        for (int i = 0; i < n_labels_; ++i) out[i] = lambda_[static_cast<std::size_t>(i) * stride_ + y];
        return;
    }
    for (int i = 0; i < n_labels_; ++i) out[i] = plain_score(static_cast<std::size_t>(i), static_cast<std::size_t>(y));
    for (std::uint32_t k = column_ptr_[y]; k < column_ptr_[y + 1]; ++k)
        out[column_row_[k]] = scores_.score[column_entry_[k]];
}

double Transition::column_sum(const double* alpha, int y) const {
    double sum = 0.0;
    if (dense_) {
        for (int i = 0; i < n_labels_; ++i) sum += alpha[i] * e_[static_cast<std::size_t>(i) * stride_ + y];
        return sum;
    }
    std::uint32_t k = column_ptr_[y];
    for (int i = 0; i < n_labels_; ++i) {
        const bool entry = k < column_ptr_[y + 1] && column_row_[k] == i;
        sum += alpha[i] * (entry ? weight_[column_entry_[k++]]
                                 : plain_weight(static_cast<std::size_t>(i), static_cast<std::size_t>(y)));
    }
    return sum;
}

double Transition::row_sum(const double* v, int previous) const {
    double sum = 0.0;
    if (dense_) {
        for (int j = 0; j < n_labels_; ++j) sum += v[j] * e_[static_cast<std::size_t>(previous) * stride_ + j];
        return sum;
    }
    const std::uint32_t first = LabelPairs(n_labels_).pair(static_cast<std::uint32_t>(previous), 0);
    std::size_t k = row_ptr_[previous];
    for (int j = 0; j < n_labels_; ++j) {
        const bool entry = k < scores_.pair.size() && scores_.pair[k] == first + static_cast<std::uint32_t>(j);
        sum += v[j] *
               (entry ? weight_[k++] : plain_weight(static_cast<std::size_t>(previous), static_cast<std::size_t>(j)));
    }
    return sum;
}

// The paper's sparse Viterbi step. Outside A(y), the score of y' is epsilon(y') or, with label classes,
// epsilon(y') + kappa(c(y'), c(y)), which is the same for all labels y of a class.
void Transition::best(const double* epsilon, double* best, std::vector<int>& order) const {
    need(State::assigned, "best");
    if (dense_) return max_plus(epsilon, {lambda_.data(), row_high_.data(), n_labels_, stride_, finite_}, best, order);
    std::fill(best + n_labels_, best + stride_, -kInfinity);
    if (classes_ == nullptr) return best_without_classes(epsilon, best, order);
    const auto C = static_cast<std::size_t>(classes_->n_classes());
    thread_local std::vector<std::uint32_t> best_of;  // the best predecessor for the labels of a class
    best_of.resize(C);
    for (std::uint32_t c = 0; c < C; ++c) {
        const auto labels = classes_->members(c);
        best_of[c] = *std::max_element(labels.begin(), labels.end(),
                                       [&](std::uint32_t a, std::uint32_t b) { return epsilon[a] < epsilon[b]; });
    }
    for (std::uint32_t c = 0; c < C; ++c) {
        const auto plain = [&](std::size_t i) { return epsilon[i] + class_score_[classes_->class_of(i) * C + c]; };
        const auto all = [&] {
            thread_local AlignedVector<double> scores;
            scores.assign(static_cast<std::size_t>(stride_), -kInfinity);
            for (int i = 0; i < n_labels_; ++i)
                scores[static_cast<std::size_t>(i)] = plain(static_cast<std::size_t>(i));
            return scores.data();
        };
        const std::uint32_t top = *std::max_element(
            best_of.begin(), best_of.end(), [&](std::uint32_t a, std::uint32_t b) { return plain(a) < plain(b); });
        best_columns(epsilon, all, plain(top), top, classes_->members(c), best, order);
    }
}

// Let `top` be the label with the largest epsilon (padding is -infinity). If `top` is outside A(y), best(y) is
// max(epsilon(top), best of A(y)), and only rows y' with an entry above epsilon(top) - epsilon(y') can be better: with
// many labels, few rows. The same holds if lambda(top, y) >= 0, or if some entry is better than epsilon(top). The
// other columns y are computed individually.
void Transition::best_without_classes(const double* epsilon, double* best, std::vector<int>& order) const {
    const int top = kernels().largest(epsilon, stride_);
    const double highest = epsilon[top];
    const LabelPairs numbers(n_labels_);
    std::fill_n(best, n_labels_, highest);
    order.resize(static_cast<std::size_t>(stride_));
    const int n = kernels().above(epsilon, row_high_.data(), highest, stride_, order.data());
    for (int r = 0; r < n; ++r) {
        const auto i = static_cast<std::uint32_t>(order[static_cast<std::size_t>(r)]);
        const std::uint32_t first = numbers.pair(i, 0);
        for (std::uint32_t k = row_ptr_[i]; k < row_ptr_[i + 1]; ++k) {
            double& of = best[scores_.pair[k] - first];
            of = std::max(of, epsilon[i] + scores_.score[k]);
        }
    }
    thread_local std::vector<std::uint32_t> columns;
    columns.clear();
    for (std::uint32_t k = row_ptr_[top]; k < row_ptr_[top + 1]; ++k) {
        const std::uint32_t y = scores_.pair[k] - numbers.pair(static_cast<std::uint32_t>(top), 0);
        if (scores_.score[k] < 0.0 && best[y] == highest) columns.push_back(y);
    }
    best_columns(
        epsilon, [epsilon] { return epsilon; }, highest, static_cast<std::uint32_t>(top), columns, best, order);
}

// Computes best(y) of some columns. plain() returns the scores of labels outside A(y), [Yp], padded with -infinity; the
// largest, `highest`, belongs to `top`. If `top` is in A(y) and `highest` exceeds the best of A(y), the best label
// outside A(y) is the first label outside A(y) in descending order of these scores, down to the best of A(y).
template <class Plain>
void Transition::best_columns(const double* epsilon, Plain plain, double highest, std::uint32_t top,
                              std::span<const std::uint32_t> columns, double* best, std::vector<int>& order) const {
    thread_local std::vector<std::uint32_t> ranked;  // columns that need the labels in order
    ranked.clear();
    const auto listed = [&](std::uint32_t column, int y) {
        return std::binary_search(column_row_.data() + column_ptr_[column],
                                  column_row_.data() + column_ptr_[column + 1], static_cast<std::uint16_t>(y));
    };
    double lowest = highest;  // the smallest best of A(y) of these columns
    for (const std::uint32_t column : columns) {
        double found = -kInfinity;  // the best of A(y)
        for (std::uint32_t k = column_ptr_[column]; k < column_ptr_[column + 1]; ++k) {
            found = std::max(found, epsilon[column_row_[k]] + scores_.score[column_entry_[k]]);
        }
        best[column] = found;
        if (found >= highest) continue;
        if (listed(column, static_cast<int>(top))) {
            ranked.push_back(column);
            lowest = std::min(lowest, found);
        } else {
            best[column] = highest;
        }
    }
    if (ranked.empty()) return;
    thread_local AlignedVector<double> zeros;
    zeros.resize(static_cast<std::size_t>(stride_), 0.0);
    const double* const scores = plain();
    order.resize(static_cast<std::size_t>(stride_));
    order.resize(static_cast<std::size_t>(kernels().above(scores, zeros.data(), lowest, stride_, order.data())));
    std::sort(order.begin(), order.end(), [scores](int a, int b) { return scores[a] > scores[b]; });
    for (const std::uint32_t column : ranked) {
        const auto outside = std::find_if(order.begin(), order.end(),
                                          [&](int y) { return !(scores[y] > best[column]) || !listed(column, y); });
        if (outside != order.end()) best[column] = std::max(best[column], scores[*outside]);
    }
}

}  // namespace sparsecrf
