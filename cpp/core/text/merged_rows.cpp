#include "core/text/merged_rows.hpp"

#include <algorithm>
#include <utility>

#include "core/base/prefetch.hpp"

namespace sparsecrf {

MergedRows::MergedRows(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> names,
                       const Chain& chain)
    : lines_(std::move(lines)),
      names_(std::move(names)),
      features_(chain.features()),
      rows_(chain.rows()),
      values_(lines_->values()),
      filter_(*names_),
      composed_(lines_, names_, filter_),
      columns_(lines_->columns().size()),
      sums_(static_cast<std::size_t>(rows_.n_cells_padded())) {
    const std::vector<std::uint32_t>& composed = composed_.lines();
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(lines_->size()); ++k) {
        if (std::binary_search(composed.begin(), composed.end(), k)) continue;
        const auto cell = lines_->only_cell(k);
        if (!cell) {
            (lines_->varies(k) ? others_ : constant_).push_back(k);
            continue;
        }
        const auto same = [&](const Group& group) { return group.cell == *cell; };
        auto group = std::find_if(groups_.begin(), groups_.end(), same);
        if (group == groups_.end()) group = groups_.insert(group, {*cell, columns_[cell->column].n_groups++, {}});
        group->lines.push_back(k);
    }
}

void MergedRows::forget() {
    for (Column& column : columns_) column.merged.clear();
    of_constant_ = {};
    dense_.clear();
    cells_.clear();
    weights_.clear();
    pairs_.clear();
    composed_.forget();
}

inline MergedRows::Merged* MergedRows::kept(const Group& group, std::int64_t t) {
    const std::int64_t place = Template::place(group.cell, values_, t, sequence_->length);
    if (place < 0) return nullptr;
    Column& column = columns_[group.cell.column];
    return column.merged.data() + static_cast<std::size_t>(place) * column.n_groups + group.place;
}

bool MergedRows::read(const Rows& rows) {
    if (!rows.is_text) return false;
    sequence_ = &rows;
    const bool full = dense_.size() + weights_.size() + pairs_.size() > kMostNumbers;
    if (values_.read(rows, full || renumbered_)) forget();
    renumbered_ = false;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        Column& column = columns_[c];
        column.merged.resize((2 * kNear + values_.n_words(c)) * column.n_groups);
        for (std::int64_t t = 0; t < rows.length && column.n_groups > 0; ++t) {
            prefetch(&column.merged[(2 * kNear + values_.word(t, c)) * column.n_groups]);
        }
    }
    merge_new(rows.length);
    return composed_.read(rows, values_);
}

// Also records where they are stored and prefetches the rows to be added.
void MergedRows::merge_new(std::int64_t length) {
    if (of_constant_.n == kNotAsked) of_constant_ = merge(constant_, 0);
    here_.clear();
    for (std::int64_t t = 0; t < length; ++t) {
        for (const Group& group : groups_) {
            Merged* const merged = kept(group, t);
            here_.push_back(merged);
            if (merged == nullptr) continue;
            if (merged->n == kNotAsked) *merged = merge(group.lines, t);
            if (merged->n == kDense) prefetch(dense_.data() + merged->begin);
        }
    }
}

std::uint32_t MergedRows::look_up(std::uint32_t line, std::int64_t t) {
    const auto hash = lines_->hash(line, *sequence_, values_, t);
    if (hash && !filter_.may_have(*hash)) return kAbsent;
    const auto found = lines_->find(line, *sequence_, values_, t, *names_, scratch_);
    return found ? *found : kAbsent;
}

void MergedRows::add(std::uint32_t line, std::uint32_t id, RowSum& sum, std::vector<std::uint32_t>& pairs) const {
    if (id == kAbsent) return;
    const Template::Kind kind = lines_->kind(line);
    if (kind == Template::Kind::unigram || kind == Template::Kind::both) rows_.add(id, 1.0, sum);
    if (kind != Template::Kind::unigram && features_.conditions_pairs(id)) pairs.push_back(id);
}

MergedRows::Merged MergedRows::merge(const std::vector<std::uint32_t>& lines, std::int64_t t) {
    const int stride = rows_.n_cells_padded();
    Merged made;
    made.pairs = static_cast<std::uint32_t>(pairs_.size());
    std::fill(sums_.begin(), sums_.end(), 0.0);
    RowSum sum(sums_.data(), stride);
    for (const std::uint32_t line : lines) add(line, look_up(line, t), sum, pairs_);
    sum.finish();
    made.n_pairs = static_cast<std::uint32_t>(pairs_.size()) - made.pairs;
    const auto n = std::count_if(sums_.begin(), sums_.end(), [](double x) { return x != 0.0; });
    if (n > 0 && worth_a_dense_row(n, stride)) {
        made.begin = static_cast<std::uint32_t>(dense_.size());
        made.n = kDense;
        dense_.insert(dense_.end(), sums_.begin(), sums_.end());
        return made;
    }
    made.begin = static_cast<std::uint32_t>(cells_.size());
    made.n = static_cast<std::uint32_t>(n);
    for (std::size_t cell = 0; cell < sums_.size(); ++cell) {
        if (sums_[cell] == 0.0) continue;
        cells_.push_back(static_cast<std::uint16_t>(cell));
        weights_.push_back(sums_[cell]);
    }
    return made;
}

inline void MergedRows::add(const Merged& merged, RowSum& sum, std::vector<std::uint32_t>& pairs) const {
    if (merged.n == kDense) {
        sum.add(dense_.data() + merged.begin);
    } else if (merged.n > 0) {
        sum.add(cells_.data() + merged.begin, weights_.data() + merged.begin, merged.n);
    }
    for (std::uint32_t k = 0; k < merged.n_pairs; ++k) pairs.push_back(pairs_[merged.pairs + k]);
}

std::size_t MergedRows::score(std::int64_t t, double* s, std::vector<std::uint32_t>& pairs) {
    const bool parts = features_.parts != nullptr;
    double* const cells = parts ? sums_.data() : s;
    std::fill_n(cells, rows_.n_cells_padded(), 0.0);
    RowSum sum(cells, rows_.n_cells_padded());
    pairs.clear();
    add(of_constant_, sum, pairs);
    const Merged* const* const here = here_.data() + static_cast<std::size_t>(t) * groups_.size();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (here[g] != nullptr) {
            add(*here[g], sum, pairs);
        } else {
            for (const std::uint32_t line : groups_[g].lines) add(line, look_up(line, t), sum, pairs);
        }
    }
    const std::size_t n_common = pairs.size();
    composed_.each(t, [&](std::uint32_t line, std::uint32_t id) { add(line, id, sum, pairs); });
    for (const std::uint32_t line : others_) add(line, look_up(line, t), sum, pairs);
    sum.finish();
    rows_.fold(cells, s);
    return n_common;
}

}  // namespace sparsecrf
