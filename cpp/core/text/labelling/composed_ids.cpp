#include "core/text/labelling/composed_ids.hpp"

#include <algorithm>
#include <utility>

#include "core/base/prefetch.hpp"

namespace sparsecrf {
namespace {

constexpr std::uint32_t kBoundaries = 2 * Template::kNear;

}  // namespace

ComposedIds::ComposedIds(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> table,
                         const AttributeFilter& filter)
    : lines_(std::move(lines)), table_(std::move(table)), filter_(filter) {
    const ComposedLines composed(*lines_);
    const std::vector<std::int64_t>& columns = lines_->columns();
    for (const Template::Item& item : composed.sources()) {
        const auto column = std::lower_bound(columns.begin(), columns.end(), item.column) - columns.begin();
        sources_.push_back(
            {item, static_cast<std::size_t>(column), item.macro != 'e' && !lines_->is_lexicon(item), {}, {}, {}});
        std::array<Part, 2 * Template::kNear>& cells = sources_.back().beyond;
        for (std::size_t k = 0; k < cells.size(); ++k) cells[k] = beyond(item, k);
    }
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(lines_->size()); ++k) {
        if (!composed.has(k) || composed.steps(k).size() > kMostParts) continue;
        known_.push_back(k);
        const auto begin = static_cast<std::uint32_t>(steps_.size());
        for (const ComposedLines::Step& step : composed.steps(k)) steps_.push_back({step.part, step.literal.hash});
        made_.push_back({k, begin, static_cast<std::uint32_t>(steps_.size()), composed.first(k).hash.value});
        for (const Template::Item& item : lines_->items(k)) {
            before_ = std::max<std::ptrdiff_t>(before_, -item.row.offset);
            after_ = std::max<std::ptrdiff_t>(after_, item.row.offset);
        }
    }
    if (known_.empty()) return;
    std::stable_sort(made_.begin(), made_.end(),
                     [](const Line& a, const Line& b) { return a.end - a.begin < b.end - b.begin; });
    group_lines();
    forget();
}

void ComposedIds::group_lines() {
    for (auto k = static_cast<std::uint32_t>(made_.size()); k-- > 0;) {
        std::vector<std::ptrdiff_t> parts;
        for (std::uint32_t i = made_[k].begin; i < made_[k].end; ++i) parts.push_back(steps_[i].part);
        std::sort(parts.begin(), parts.end());
        const auto fits = [&](const Group& group) {
            return lines_->kind(group.number) == lines_->kind(made_[k].number) && group.lines.size() < kMostLines &&
                   std::includes(group.parts.begin(), group.parts.end(), parts.begin(), parts.end());
        };
        const auto group = std::find_if(groups_.begin(), groups_.end(), fits);
        if (group == groups_.end()) {
            groups_.push_back({made_[k].number, {k}, std::move(parts)});
        } else {
            group->lines.push_back(k);
        }
    }
    drop_groups();
}

void ComposedIds::drop_groups() {
    const auto drop = [&](const Group& group) {
        if (group.lines.size() > 1 && !group.rare) return false;
        single_.insert(single_.end(), group.lines.begin(), group.lines.end());
        return true;
    };
    std::erase_if(groups_, drop);
    std::sort(single_.begin(), single_.end());
}

void ComposedIds::forget() {
    for (Source& source : sources_) {
        source.texts = {};
        source.of_word.clear();
    }
    looked_up_.assign(known_.empty() ? 0 : std::size_t{1} << kSlotBits, {});
    of_groups_.assign(groups_.empty() ? 0 : std::size_t{1} << kGroupBits, {});
}

// Boundary cells have the lowest numbers. Functions do not change them.
ComposedIds::Part ComposedIds::beyond(const Template::Item& item, std::size_t k) const {
    constexpr std::int64_t kNear = Template::kNear;
    const auto number = static_cast<std::int64_t>(k);
    const Rows none;  // an empty sequence, with boundary cells on both sides
    const HashedText value =
        *lines_->known(item, none, lines_->values(), number < kNear ? -number - 1 : number - kNear);
    return {value.hash, item.macro == 'e' ? 0 : static_cast<std::uint32_t>(k)};
}

ComposedIds::Part ComposedIds::inside(Source& source, std::int64_t row) {
    const HashedText value = *lines_->known(source.item, *rows_, *values_, row);
    if (source.item.macro == 'e') {
        return {value.hash, static_cast<std::uint32_t>(1 + (row == 0) + 2 * (row == rows_->length - 1))};
    }
    if (source.item.macro != 'f') return {value.hash, values_->word(row, source.column) + kBoundaries};
    return {value.hash, source.texts.intern({&value.text, 1}, value.hash) + kBoundaries};
}

void ComposedIds::read_parts(std::size_t s) {
    Source& source = sources_[s];
    const std::size_t stride = sources_.size();
    const std::int64_t length = rows_->length;
    Part* out = parts_.data() + s;
    for (std::ptrdiff_t k = before_; k-- > 0; out += stride) *out = source.beyond[static_cast<std::size_t>(k)];
    for (std::int64_t row = 0; row < length; ++row, out += stride) {
        if (!source.by_word) {
            const bool same = source.item.macro == 'e' && row > 1 && row < length - 1;
            *out = same ? *(out - stride) : inside(source, row);
            continue;
        }
        const std::uint32_t word = values_->word(row, source.column);
        // Words are numbered in row order.
        if (word == source.of_word.size()) source.of_word.push_back(inside(source, row));
        *out = source.of_word[word];
    }
    for (std::ptrdiff_t k = 0; k < after_; ++k, out += stride) {
        *out = source.beyond[static_cast<std::size_t>(Template::kNear + k)];
    }
}

bool ComposedIds::read(const Rows& rows, const WordValues& values) {
    ends_.assign(static_cast<std::size_t>(rows.length) + 1, 0);
    if (known_.empty()) return true;
    const auto is_many = [](std::uint32_t n) { return n + kBoundaries >= std::uint32_t{1} << kBits; };
    for (std::size_t c = 0; c < lines_->columns().size(); ++c) {
        if (is_many(values.n_words(c))) return false;
    }
    rows_ = &rows;
    values_ = &values;
    parts_.resize(static_cast<std::size_t>(before_ + rows.length + after_) * sources_.size());
    for (std::size_t s = 0; s < sources_.size(); ++s) read_parts(s);
    drop_groups();
    for (const Source& source : sources_) {
        if (is_many(source.texts.size())) return false;
    }
    hash_lines();
    return true;
}

//   H(a b) = H(a) B^|b| + H(b)
void ComposedIds::hash_lines() {
    const auto length = static_cast<std::size_t>(rows_->length);
    likely_.resize(length * single_.size() + 1);
    keys_.resize(length * groups_.size());
    Likely* out = likely_.data();
    Key* key = keys_.data();
    for (std::int64_t t = 0; t < rows_->length; ++t) {
        const Part* const here = at(t);
        for (const std::uint32_t k : single_) {
            const std::uint64_t h = hash(made_[k], here);
            *out = {h, k};  // overwritten by the next entry unless kept, which avoids a branch
            out += filter_.may_have(h);
        }
        ends_[static_cast<std::size_t>(t) + 1] = static_cast<std::size_t>(out - likely_.data());
        for (const Group& group : groups_) {
            *key = Key::of(group.number);
            for (std::size_t k = 0; k < group.parts.size(); ++k) key->add(here[group.parts[k]].number, k);
            prefetch(&slot(*key++));
        }
    }
    for (const Likely* likely = likely_.data(); likely != out; ++likely) prefetch(&slot(likely->hash));
}

std::uint32_t ComposedIds::id_of(const Line& line, std::uint64_t hash, std::int64_t t) {
    Key key = Key::of(line.number);
    const Part* const here = at(t);
    for (std::uint32_t i = line.begin; i < line.end; ++i) key.add(here[steps_[i].part].number, i - line.begin);
    LookedUp& kept = slot(hash);
    if (kept.key == key) return kept.id;
    const auto same = [&](std::string_view text) { return *lines_->is(line.number, *rows_, *values_, t, text); };
    kept = {key, table_->find_if(hash, same).value_or(kAbsent)};
    return kept.id;
}

const ComposedIds::GroupIds& ComposedIds::ids_of(Group& group, const Key& key, std::int64_t t) {
    if (++group.n_asked > kWindow) {
        group.rare = group.filled && 2 * group.n_found < kWindow;
        group.filled = true;
        group.n_asked = group.n_found = 0;
    }
    GroupIds& kept = slot(key);
    if (kept.key == key) {
        ++group.n_found;
        return kept;
    }
    kept.key = key;
    kept.n = 0;
    for (const std::uint32_t k : group.lines) {
        const std::uint64_t h = hash(made_[k], at(t));
        const std::uint32_t id = filter_.may_have(h) ? id_of(made_[k], h, t) : kAbsent;
        if (id != kAbsent) kept.ids[kept.n++] = id;
    }
    return kept;
}

}  // namespace sparsecrf
