#include "core/training/class_expectations.hpp"

#include <algorithm>

#include "core/base/lanes.hpp"

namespace sparsecrf {

std::size_t class_row_size(const LabelParts& parts) {
    return static_cast<std::size_t>(padded(static_cast<int>(parts.class_pairs().n_inner())));
}

ClassExpectations::ClassExpectations(const Corpus& corpus, const FeatureSet& features)
    : corpus_(corpus),
      pairs_(features.parts->class_pairs()),
      row_(class_row_size(*features.parts)),
      slot_of_(corpus.base_lists.size(), -1) {
    const ListPool& pool = corpus.base_lists;
    for (std::uint32_t list = 0; list < pool.size(); ++list) {
        for (std::int64_t e = pool.begin(list); e < pool.end(list) && slot_of_[list] < 0; ++e) {
            if (features.class_pairs_of(pool.id(e)).empty()) continue;
            slot_of_[list] = static_cast<std::int32_t>(lists_.size());
            lists_.push_back(list);
        }
    }
}

void ClassExpectations::begin(bool curvature) {
    curvature_ = curvature;
    sum_.assign(lists_.size() * pairs_.size(), 0.0);
    if (curvature) square_.assign(sum_.size(), 0.0);
}

void ClassExpectations::add(const Block& block, const BlockRows& rows, const FeatureSet& features, std::span<double> g,
                            std::span<double> h, Turn& turn) {
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
        add_rest(block, rows, features, g, h);
    });
}

void ClassExpectations::add_list(std::size_t slot, std::span<const std::uint32_t> all, const BlockRows& rows,
                                 bool start) {
    const std::size_t at = slot * pairs_.size() + (start ? pairs_.n_inner() : 0);
    const std::size_t n = start ? pairs_.n_labels : pairs_.n_inner();
    for (const std::uint32_t r : all) {
        const double* p = rows.classes.data() + r * row_;
        const double weight = rows.weight[r];
        double* sum = sum_.data() + at;
        for (std::size_t c = 0; c < n; ++c) sum[c] += weight * p[c];
        if (!curvature_) continue;
        double* square = square_.data() + at;
        for (std::size_t c = 0; c < n; ++c) square[c] += weight * p[c] * p[c];
    }
}

// E[x, c', c] += sum_t w v p_t(c', c) for the attributes of rest lists.
void ClassExpectations::add_rest(const Block& block, const BlockRows& rows, const FeatureSet& features,
                                 std::span<double> g, std::span<double> h) const {
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
                if (curvature_) h[place + j] += weight * value * value * q * (1.0 - q);
            }
        }
    }
}

// E[x, c', c] += v sum over the rows of the base lists that hold x
void ClassExpectations::finish(const FeatureSet& features, std::span<double> g, std::span<double> h) const {
    const ListPool& pool = corpus_.base_lists;
    for (std::size_t slot = 0; slot < lists_.size(); ++slot) {
        const double* sum = sum_.data() + slot * pairs_.size();
        const double* square = curvature_ ? square_.data() + slot * pairs_.size() : nullptr;
        for (std::int64_t e = pool.begin(lists_[slot]); e < pool.end(lists_[slot]); ++e) {
            const std::span<const std::uint32_t> row = features.class_pairs_of(pool.id(e));
            if (row.empty()) continue;
            const auto place = static_cast<std::size_t>(features.first_class() + features.class_ptr[pool.id(e)]);
            const double value = pool.value(e);
            for (std::size_t j = 0; j < row.size(); ++j) {
                g[place + j] += value * sum[row[j]];
                if (curvature_) h[place + j] += value * value * (sum[row[j]] - square[row[j]]);
            }
        }
    }
}

}  // namespace sparsecrf
