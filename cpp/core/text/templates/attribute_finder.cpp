#include "core/text/templates/attribute_finder.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace sparsecrf {
namespace {

constexpr std::uint32_t kSmallTable = 1 << 15;  // strings

bool of_pairs_alone(Template::Kind kind) { return kind == Template::Kind::bigram || kind == Template::Kind::ngram; }

}  // namespace

AttributeFinder::AttributeFinder(std::shared_ptr<const Template> lines)
    : lines_(std::move(lines)), values_(lines_->values()), composed_(*lines_), columns_(lines_->columns().size()) {
    // Groups exclude lines that are skipped at the first position: a group is evaluated as a whole or not at all.
    std::vector<std::optional<Template::Cell>> cells;
    for (std::int64_t k = 0; k < lines_->size(); ++k) {
        cells.push_back(of_pairs_alone(lines_->kind(k)) ? std::nullopt : lines_->only_cell(k));
    }
    const auto add_line = [&](std::size_t k) {
        order_.push_back(k);
        kinds_.push_back(lines_->kind(static_cast<std::int64_t>(k)));
    };
    for (std::size_t k = 0; k < cells.size(); ++k) {
        const auto same = [&](const Group& group) { return group.cell == *cells[k]; };
        if (!cells[k] || std::any_of(groups_.begin(), groups_.end(), same)) continue;
        Column& column = columns_[cells[k]->column];
        groups_.push_back({*cells[k], order_.size(), 0, column.n_lines});
        for (std::size_t j = k; j < cells.size(); ++j) {
            if (cells[j] == cells[k]) add_line(j);
        }
        groups_.back().n = order_.size() - groups_.back().begin;
        column.n_lines += groups_.back().n;
    }
    for (std::size_t k = 0; k < cells.size(); ++k) {
        if (!cells[k]) add_line(k);
    }
    constant_.assign(order_.size(), kNotAsked);
}

void AttributeFinder::forget() {
    for (Column& column : columns_) column.ids.clear();
    constant_.assign(order_.size(), kNotAsked);
}

inline std::uint32_t* AttributeFinder::kept(const Group& group, std::int64_t t, std::int64_t length) {
    const std::int64_t place = Template::place(group.cell, values_, t, length);
    if (place < 0) return nullptr;
    Column& column = columns_[group.cell.column];
    return column.ids.data() + static_cast<std::size_t>(place) * column.n_lines + group.place;
}

void AttributeFinder::ask(std::size_t k, std::int64_t t, const Rows& rows, std::uint32_t* kept) {
    const std::size_t line = order_[k];
    std::uint64_t hash;
    if (rows.is_text && composed_.has(line)) {
        hash = composed_.hash(line, t);
    } else if (const auto found = lines_->hash(static_cast<std::int64_t>(line), rows, values_, t)) {
        hash = *found;
    } else {
        lines_->expand(static_cast<std::int64_t>(line), rows, values_, t, made_);
        hash = made_.hash.value;
    }
    const std::size_t at = static_cast<std::size_t>(t) * order_.size() + k;
    asked_.push_back({at, static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(line), hash, kept});
}

void AttributeFinder::find_at(std::int64_t t, const Rows& rows, bool pairs, std::uint32_t* here) {
    const std::size_t first = asked_.size();
    std::size_t k = 0;
    bool sorted = true;
    for (const Group& group : groups_) {
        std::uint32_t* const from = kept(group, t, rows.length);
        bool known = from != nullptr;
        for (std::size_t j = 0; from != nullptr && j < group.n; ++j) {
            here[group.begin + j] = from[j];
            known &= from[j] != kNotAsked;
        }
        k = group.begin + group.n;
        if (known) continue;
        sorted = false;
        for (std::size_t j = 0; j < group.n; ++j) {
            std::uint32_t* const one = from == nullptr ? nullptr : from + j;
            if (one != nullptr && *one != kNotAsked) {
                here[group.begin + j] = *one;
            } else {
                ask(group.begin + j, t, rows, one);
            }
        }
    }
    for (; k < order_.size(); ++k) {
        if (!pairs && of_pairs_alone(kinds_[k])) {
            here[k] = kAbsent;
        } else if (constant_[k] != kNotAsked) {
            here[k] = constant_[k];
        } else {
            ask(k, t, rows, lines_->varies(static_cast<std::int64_t>(order_[k])) ? nullptr : &constant_[k]);
        }
    }
    // New attributes get their ids in line order.
    if (sorted) return;
    std::sort(asked_.begin() + static_cast<std::ptrdiff_t>(first), asked_.end(),
              [](const Lookup& a, const Lookup& b) { return a.line < b.line; });
}

void AttributeFinder::find(const Rows& rows, const StringTable& table, const Absent& absent, bool start,
                           std::vector<std::uint32_t>& ids) {
    // A cached absence is valid only until something is added to the table.
    const bool outdated = absent.left_out() && table.size() != n_known_;
    const bool full =
        std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return c.ids.size() > kMostIds; });
    if (values_.read(rows, full) || outdated) forget();
    n_known_ = table.size();
    if (rows.is_text) composed_.read(*lines_, rows, values_);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        columns_[c].ids.resize((2 * kNear + values_.n_words(c)) * columns_[c].n_lines, kNotAsked);
    }
    const std::size_t first = ids.size();
    ids.resize(first + static_cast<std::size_t>(rows.length) * order_.size());
    asked_.clear();
    std::size_t fetched = 0;
    for (std::int64_t t = 0; t < rows.length; ++t) {
        find_at(t, rows, t > 0 || start, ids.data() + first + static_cast<std::size_t>(t) * order_.size());
        for (; fetched < asked_.size(); ++fetched) table.prefetch(asked_[fetched].hash);
    }
    // Lookups are prefetched in stages: slots were prefetched above; if the table is larger than a cache, offsets and
    // then texts are prefetched here.
    const std::size_t ahead = table.size() > kSmallTable ? 6 : 0;
    for (std::size_t k = 0; k < asked_.size() + 2 * ahead; ++k) {
        if (ahead > 0 && k < asked_.size()) table.prefetch_offset(asked_[k].hash);
        if (ahead > 0 && k >= ahead && k - ahead < asked_.size()) table.prefetch_text(asked_[k - ahead].hash);
        if (k < 2 * ahead) continue;
        const Lookup& asked = asked_[k - 2 * ahead];
        const std::uint32_t id = look_up(asked, rows, table, absent, first);
        ids[first + asked.at] = id;
        if (asked.kept != nullptr && id != kNoted) *asked.kept = id;
    }
}

std::uint32_t AttributeFinder::look_up(const Lookup& asked, const Rows& rows, const StringTable& table,
                                       const Absent& absent, std::size_t first) {
    const bool composed = rows.is_text && composed_.has(asked.line);
    bool expanded = false;
    const auto expand = [&] {
        if (!expanded) lines_->expand(asked.line, rows, values_, asked.t, made_);
        expanded = true;
    };
    const auto found = table.find_if(asked.hash, [&](std::string_view text) {
        if (composed) return composed_.is(asked.line, asked.t, text);
        if (const auto same = lines_->is(asked.line, rows, values_, asked.t, text)) return *same;
        expand();
        return equals(text, made_.parts);
    });
    if (found) return *found;
    if (absent.left_out()) return kAbsent;
    expand();
    if (absent.add_to != nullptr) return absent.add_to->intern(made_.parts, made_.hash);
    Notes& notes = *absent.notes;
    for (const std::string_view part : made_.parts) notes.text += part;
    notes.all.push_back({first + asked.at, made_.hash, notes.text.size()});
    return kNoted;
}

}  // namespace sparsecrf
