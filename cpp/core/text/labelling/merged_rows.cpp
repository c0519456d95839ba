#include "core/text/labelling/merged_rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/base/prefetch.hpp"
#include "core/text/same_text.hpp"

namespace sparsecrf {

MergedRows::MergedRows(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> names,
                       const Chain& chain)
    : lines_(std::move(lines)),
      names_(std::move(names)),
      features_(chain.features()),
      rows_(chain.rows()),
      stride_(rows_.n_cells_padded()),
      values_(lines_->values()),
      filter_(*names_),
      composed_(lines_, names_, filter_),
      columns_(lines_->columns().size()),
      labels_(static_cast<std::size_t>(padded(features_.n_labels))) {
    const std::vector<std::uint32_t>& composed = composed_.lines();
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(lines_->size()); ++k) {
        kinds_.push_back(lines_->kind(k));
        if (!std::binary_search(composed.begin(), composed.end(), k)) add_line(k);
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        Column& column = columns_[c];
        if (column.has_pairs) with_pairs_.push_back(c);
        std::stable_sort(column.lines.begin(), column.lines.end(),
                         [](const Line& a, const Line& b) { return a.offset > b.offset; });
        margin_ = std::max(margin_, column.window() - 1);
    }
    sums_.resize(static_cast<std::size_t>((margin_ + 1) * stride_));
    nonzero_.resize(sums_.size());
    dense_.reserve(kMostNumbers);  // growing would copy it, and unused memory is not committed
}

void MergedRows::add_line(std::uint32_t line) {
    const auto cell = lines_->only_cell(line);
    if (!cell || cell->row.absolute || std::abs(cell->row.offset) > kNear) {
        (lines_->varies(line) ? others_ : constant_).push_back(line);
        return;
    }
    Column& column = columns_[cell->column];
    const std::int64_t offset = cell->row.offset;
    column.first = column.lines.empty() ? offset : std::min(column.first, offset);
    column.last = column.lines.empty() ? offset : std::max(column.last, offset);
    column.has_pairs = column.has_pairs || lines_->kind(line) != Template::Kind::unigram;
    Line& made = column.lines.emplace_back(Line{line, offset, {}, {}});
    const auto& items = lines_->items(line);
    if (std::all_of(items.begin(), items.end(), Template::is_known)) lay_out(column, made);
}

void MergedRows::lay_out(Column& column, Line& line) const {
    for (const Template::Item& item : lines_->items(line.number)) {
        if (item.macro == 0) {
            (line.steps.empty() ? line.first : line.steps.back().literal) = {item.literal, item.hash};
            continue;
        }
        const auto same = [&](const Template::Item& other) {
            return other.macro == item.macro && other.index == item.index;
        };
        const auto value = std::find_if(column.values.begin(), column.values.end(), same);
        line.steps.push_back({static_cast<std::size_t>(value - column.values.begin()), {}});
        if (value == column.values.end()) column.values.push_back(item);
    }
}

void MergedRows::forget() {
    for (Column& column : columns_) {
        column.merged.clear();
        column.pairs.clear();
    }
    dense_.clear();
    cells_.clear();
    weights_.clear();
    pairs_.clear();
    composed_.forget();
}

bool MergedRows::read(const Rows& rows) {
    if (!rows.is_text) return false;
    sequence_ = &rows;
    const bool full = dense_.size() + weights_.size() + pairs_.size() > kMostNumbers;
    if (values_.read(rows, full || renumbered_)) forget();
    renumbered_ = false;
    if (of_constant_.empty()) {
        of_constant_.resize(static_cast<std::size_t>(stride_));
        RowSum sum(of_constant_.data(), static_cast<int>(stride_));
        for (const std::uint32_t line : constant_) add(line, look_up(line, 0), sum, constant_pairs_);
        sum.finish();
        if (features_.parts == nullptr) rows_.fold(of_constant_.data(), of_constant_.data());  // pads all sums
    }
    const auto size = static_cast<std::size_t>((rows.length + 2 * margin_) * stride_);
    if (cell_scores_.size() < size) cell_scores_.resize(2 * size);
    double* s = cell_scores_.data();
    for (std::int64_t t = 0; t < rows.length + 2 * margin_; ++t) s = std::copy_n(of_constant_.data(), stride_, s);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (columns_[c].lines.empty()) continue;
        merge_new(c);
        add_cells(c);
    }
    return composed_.read(rows, values_);
}

// Words are numbered in row order.
void MergedRows::merge_new(std::size_t c) {
    Column& column = columns_[c];
    const std::int64_t T = sequence_->length;
    if (column.merged.empty()) {
        for (std::int64_t k = 0; k < 2 * kNear; ++k) {
            column.merged.push_back(merge(column, k < kNear ? -1 - k : T + k - kNear));
        }
    }
    for (std::int64_t t = 0; t < T; ++t) {
        const std::size_t at = place(t, c);
        if (at == column.merged.size()) column.merged.push_back(merge(column, t));
        prefetch(&column.merged[at]);
    }
}

inline std::size_t MergedRows::place(std::int64_t row, std::size_t c) const {
    const std::int64_t length = sequence_->length;
    const bool inside = row >= 0 && row < length;
    return static_cast<std::size_t>(inside ? 2 * kNear + values_.word(row, c) : Template::near_index(row, length));
}

// A cell at row r contributes to position t = r - offset, so the window of positions begins at r - last.
void MergedRows::add_cells(std::size_t c) {
    constexpr std::int64_t kAhead = 8;  // rows
    const Column& column = columns_[c];
    const auto prefetch_row = [&](std::int64_t row) {
        const Merged& merged = column.merged[place(row, c)];
        if (merged.dense) prefetch(dense_.data() + merged.begin);
    };
    const std::int64_t end = sequence_->length + column.last;
    double* s = cell_scores_.data() + (margin_ + column.first - column.last) * stride_;
    for (std::int64_t row = column.first; row < end; ++row, s += stride_) {
        if (row + kAhead < end) prefetch_row(row + kAhead);
        const Merged& merged = column.merged[place(row, c)];
        if (merged.n == 0) continue;
        if (merged.dense) {
            add_dense(dense_.data() + merged.begin, static_cast<int>(merged.n), s + merged.first);
            continue;
        }
        for (std::uint32_t k = merged.begin; k < merged.begin + merged.n; ++k) s[cells_[k]] += weights_[k];
    }
}

std::uint32_t MergedRows::look_up(std::uint32_t line, std::int64_t t) {
    const auto hash = lines_->hash(line, *sequence_, values_, t);
    if (!hash) return lines_->find(line, *sequence_, values_, t, *names_, scratch_).value_or(kAbsent);
    if (!filter_.may_have(*hash)) return kAbsent;
    const auto same = [&](std::string_view text) { return *lines_->is(line, *sequence_, values_, t, text); };
    return names_->find_if(*hash, same).value_or(kAbsent);
}

void MergedRows::read_cell(const Column& column, std::int64_t row) {
    of_cell_.clear();
    if (column.values.empty()) return;
    if (row < 0 || row >= sequence_->length) {  // functions do not change boundary cells
        of_cell_.assign(column.values.size(), *lines_->known(column.values[0], *sequence_, values_, row));
        return;
    }
    for (const Template::Item& item : column.values) {
        of_cell_.push_back(item.macro == 'f' ? values_.at(row, item.index) : sequence_->at(row, item.column));
    }
}

bool MergedRows::is(const Line& line, std::string_view text) const {
    const auto take = [&](std::string_view part) {
        if (text.size() < part.size() || !same_text(part, text.substr(0, part.size()))) return false;
        text.remove_prefix(part.size());
        return true;
    };
    if (!take(line.first.text)) return false;
    for (const Step& step : line.steps) {
        if (!take(of_cell_[step.value].text) || !take(step.literal.text)) return false;
    }
    return text.empty();
}

// H(a b) = H(a) B^|b| + H(b)
std::uint32_t MergedRows::look_up(const Line& line, std::int64_t row) {
    if (line.steps.empty()) return look_up(line.number, row - line.offset);
    std::uint64_t h = line.first.hash.value;
    for (const Step& step : line.steps) {
        const TextHash &part = of_cell_[step.value].hash, &literal = step.literal.hash;
        h = (h * part.power + part.value) * literal.power + literal.value;
    }
    if (!filter_.may_have(h)) return kAbsent;
    return names_->find_if(h, [&](std::string_view text) { return is(line, text); }).value_or(kAbsent);
}

inline void MergedRows::add(std::uint32_t line, std::uint32_t id, RowSum& sum,
                            std::vector<std::uint32_t>& pairs) const {
    if (id == kAbsent) return;
    const Template::Kind kind = kinds_[line];
    if (kind == Template::Kind::unigram || kind == Template::Kind::both) rows_.add(id, 1.0, sum);
    if (kind != Template::Kind::unigram && features_.conditions_pairs(id)) pairs.push_back(id);
}

// The lines may refer to positions outside the sequence: their attributes depend only on the cell.
MergedRows::Merged MergedRows::merge(Column& column, std::int64_t row) {
    read_cell(column, row);
    auto line = column.lines.begin();
    Merged made;
    const std::size_t n_pairs = pairs_.size();
    int n = 0;  // nonzero sums
    for (std::int64_t offset = column.last; offset >= column.first; --offset) {
        if (column.has_pairs) column.pairs.push_back(pairs_.size());
        const auto begin = static_cast<int>((column.last - offset) * stride_);
        bool found = false;
        RowSum sum(sums_.data() + begin, static_cast<int>(stride_));
        for (; line != column.lines.end() && line->offset == offset; ++line) {
            const std::uint32_t id = look_up(*line, row);
            found = found || id != kAbsent;
            add(line->number, id, sum, pairs_);
        }
        if (!found) continue;
        sum.finish();
        int* const cells = nonzero_.data() + n;
        const int more = nonzero_cells(sums_.data() + begin, static_cast<int>(stride_), cells);
        for (int k = 0; k < more; ++k) cells[k] += begin;
        n += more;
    }
    if (column.has_pairs) column.pairs.push_back(pairs_.size());
    made.has_pairs = pairs_.size() > n_pairs;
    if (n == 0) return made;
    const int first = nonzero_[0] / kLanes * kLanes,
              width = padded(nonzero_[static_cast<std::size_t>(n) - 1] + 1 - first);
    made.dense = worth_a_dense_row(n, width);
    if (made.dense) {
        made.begin = static_cast<std::uint32_t>(dense_.size());
        made.n = static_cast<std::uint32_t>(width);
        made.first = static_cast<std::uint32_t>(first);
        dense_.insert(dense_.end(), sums_.begin() + first, sums_.begin() + first + width);
        std::fill_n(sums_.begin() + first, width, 0.0);
        return made;
    }
    made.begin = static_cast<std::uint32_t>(cells_.size());
    made.n = static_cast<std::uint32_t>(n);
    for (int k = 0; k < n; ++k) {
        const int cell = nonzero_[static_cast<std::size_t>(k)];
        cells_.push_back(static_cast<std::uint32_t>(cell));
        weights_.push_back(std::exchange(sums_[static_cast<std::size_t>(cell)], 0.0));
    }
    return made;
}

const double* MergedRows::score(std::int64_t t, std::vector<std::uint32_t>& pairs, std::size_t& n_common) {
    double* const cells = cell_scores_.data() + (margin_ + t) * stride_;
    pairs = constant_pairs_;
    for (const std::size_t c : with_pairs_) {
        const Column& column = columns_[c];
        for (std::int64_t offset = column.last; offset >= column.first; --offset) {
            const std::size_t at = place(t + offset, c);
            if (!column.merged[at].has_pairs) continue;
            const std::size_t* const range =
                &column.pairs[at * static_cast<std::size_t>(column.window() + 1)] + (column.last - offset);
            for (std::size_t k = range[0]; k < range[1]; ++k) pairs.push_back(pairs_[k]);
        }
    }
    n_common = pairs.size();
    RowSum sum(cells, static_cast<int>(stride_));
    composed_.each(t, [&](std::uint32_t line, std::uint32_t id) { add(line, id, sum, pairs); });
    for (const std::uint32_t line : others_) add(line, look_up(line, t), sum, pairs);
    sum.finish();
    if (features_.parts == nullptr) return cells;
    rows_.fold(cells, labels_.data());
    return labels_.data();
}

}  // namespace sparsecrf
