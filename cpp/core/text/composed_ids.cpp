#include "core/text/composed_ids.hpp"

#include <algorithm>
#include <utility>

#include "core/base/prefetch.hpp"

namespace sparsecrf {
namespace {

constexpr std::uint32_t kBoundaries = 2 * Template::kNear;

}  // namespace

ComposedIds::ComposedIds(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> table)
    : lines_(std::move(lines)), table_(std::move(table)) {
    const ComposedLines composed(*lines_);
    const std::vector<std::int64_t>& columns = lines_->columns();
    for (const Template::Item& item : composed.sources()) {
        const auto column = std::lower_bound(columns.begin(), columns.end(), item.column) - columns.begin();
        sources_.push_back(
            {item, static_cast<std::size_t>(column), item.macro != 'e' && !lines_->is_lexicon(item), {}, {}});
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
    constexpr std::uint64_t kBitsAString = 32;  // at most 1 in 32 missing strings passes the filter
    for (std::uint64_t n = 1; n < kBitsAString * table_->size() || n < 64; n *= 2) --shift_;
    bits_.resize((std::size_t{1} << (64 - shift_)) / 64);
    for (std::uint32_t x = 0; x < table_->size(); ++x) {
        const std::uint64_t at = bit(TextHash((*table_)[x]).value);
        bits_[at / 64] |= std::uint64_t{1} << at % 64;
    }
    forget();
}

void ComposedIds::forget() {
    for (Source& source : sources_) {
        source.texts = {};
        source.of_word.clear();
    }
    looked_up_.assign(known_.empty() ? 0 : std::size_t{1} << kSlotBits, {});
}

// Boundary cells come first. Functions do not change them.
ComposedIds::Part ComposedIds::part(Source& source, std::int64_t row) {
    const std::int64_t length = rows_->length;
    const bool inside = row >= 0 && row < length;
    const HashedText value = *lines_->known(source.item, *rows_, *values_, row);
    if (source.item.macro == 'e') {
        return {value.hash, static_cast<std::uint32_t>(!inside ? 0 : 1 + (row == 0) + 2 * (row == length - 1))};
    }
    if (!inside) return {value.hash, static_cast<std::uint32_t>(row < 0 ? -row - 1 : row - length + Template::kNear)};
    if (source.item.macro != 'f') return {value.hash, values_->word(row, source.column) + kBoundaries};
    return {value.hash, source.texts.intern({&value.text, 1}, value.hash) + kBoundaries};
}

void ComposedIds::read_parts(std::size_t s) {
    Source& source = sources_[s];
    Part* out = parts_.data() + s;
    const std::size_t stride = sources_.size();
    for (std::int64_t row = -before_; row < rows_->length + after_; ++row, out += stride) {
        if (!source.by_word || row < 0 || row >= rows_->length) {
            *out = part(source, row);
            continue;
        }
        const std::uint32_t word = values_->word(row, source.column);
        // Words are numbered in row order.
        if (word == source.of_word.size()) source.of_word.push_back(part(source, row));
        *out = source.of_word[word];
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
    for (const Source& source : sources_) {
        if (is_many(source.texts.size())) return false;
    }
    hash_lines();
    return true;
}

//   H(a b) = H(a) B^|b| + H(b)
void ComposedIds::hash_lines() {
    likely_.resize(static_cast<std::size_t>(rows_->length) * known_.size() + 1);
    Likely* out = likely_.data();
    for (std::int64_t t = 0; t < rows_->length; ++t) {
        const Part* const here = at(t);
        for (std::uint32_t k = 0; k < made_.size(); ++k) {
            std::uint64_t h = made_[k].first;
            for (std::uint32_t i = made_[k].begin; i < made_[k].end; ++i) {
                const TextHash &hash = here[steps_[i].part].hash, &literal = steps_[i].literal;
                h = (h * hash.power + hash.value) * literal.power + literal.value;
            }
            *out = {h, k};  // overwritten unless it is kept: avoids an unpredictable branch
            out += bits_[bit(h) / 64] >> bit(h) % 64 & 1;
        }
        ends_[static_cast<std::size_t>(t) + 1] = static_cast<std::size_t>(out - likely_.data());
    }
    for (const Likely* likely = likely_.data(); likely != out; ++likely) prefetch(&slot(likely->hash));
}

std::uint32_t ComposedIds::id_of(const Line& line, std::uint64_t hash, std::int64_t t) {
    std::uint64_t key[2] = {0, std::uint64_t{line.number} << 2 * kBits};
    const Part* const here = at(t);
    for (std::uint32_t i = line.begin; i < line.end; ++i) {
        const std::uint32_t k = i - line.begin;
        key[k / 3] |= std::uint64_t{here[steps_[i].part].number} << kBits * (k % 3);
    }
    LookedUp& kept = slot(hash);
    if (kept.key[0] == key[0] && kept.key[1] == key[1]) return kept.id;
    const auto same = [&](std::string_view text) { return *lines_->is(line.number, *rows_, *values_, t, text); };
    kept = {{key[0], key[1]}, table_->find_if(hash, same).value_or(kAbsent)};
    return kept.id;
}

}  // namespace sparsecrf
