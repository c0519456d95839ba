#include "core/text/composed_ids.hpp"

#include <algorithm>
#include <utility>

namespace sparsecrf {
namespace {

constexpr std::uint32_t kBoundaries = 2 * Template::kNear;

}  // namespace

ComposedIds::ComposedIds(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> table)
    : lines_(std::move(lines)), table_(std::move(table)), composed_(*lines_) {
    const std::vector<std::int64_t>& columns = lines_->columns();
    for (const Template::Item& item : composed_.sources()) {
        const auto column = std::lower_bound(columns.begin(), columns.end(), item.column) - columns.begin();
        sources_.push_back({item, static_cast<std::size_t>(column), {}, {}});
    }
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(lines_->size()); ++k) {
        if (composed_.has(k) && composed_.steps(k).size() <= kMostParts) known_.push_back(k);
    }
    if (known_.empty()) return;
    constexpr std::uint64_t kBitsAString = 32;  // so that one in 32 of the others seems to be there
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
    compared_.assign(known_.empty() ? 0 : std::size_t{1} << kSlotBits, {});
}

// Boundary cells have the first numbers. There functions have no values of their own.
ComposedIds::Part ComposedIds::part(Source& source, std::int64_t row) {
    const std::int64_t length = rows_->length;
    const bool inside = row >= 0 && row < length;
    if (inside && source.item.macro == 'f' && values_->word(row, source.column) < source.of_word.size()) {
        return source.of_word[values_->word(row, source.column)];
    }
    const HashedText value = *lines_->known(source.item, *rows_, *values_, row);
    if (source.item.macro == 'e') {
        return {value.hash, static_cast<std::uint32_t>(!inside ? 0 : 1 + (row == 0) + 2 * (row == length - 1))};
    }
    if (!inside) return {value.hash, static_cast<std::uint32_t>(row < 0 ? -row - 1 : row - length + kNear)};
    const std::uint32_t word = values_->word(row, source.column);
    if (source.item.macro != 'f') return {value.hash, word + kBoundaries};
    const std::uint32_t text = source.texts.intern({&value.text, 1}, value.hash);
    source.of_word.push_back({value.hash, text + kBoundaries});  // words are numbered in the order of the rows
    return source.of_word.back();
}

bool ComposedIds::read(const Rows& rows, const WordValues& values) {
    ends_.assign(static_cast<std::size_t>(rows.length) + 1, 0);
    if (known_.empty()) return true;
    for (std::size_t c = 0; c < lines_->columns().size(); ++c) {
        if (values.n_words(c) + 2 * kNear >= std::int64_t{1} << kBits) return false;
    }
    rows_ = &rows;
    values_ = &values;
    parts_.clear();
    for (std::int64_t row = -kNear; row < rows.length + kNear; ++row) {
        for (Source& source : sources_) parts_.push_back(part(source, row));
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
        for (const std::uint32_t line : known_) {
            std::uint64_t h = composed_.first(line).hash.value;
            for (const ComposedLines::Step& step : composed_.steps(line)) {
                const TextHash& hash = here[step.part].hash;
                h = h * hash.power + hash.value;
                h = h * step.literal.hash.power + step.literal.hash.value;
            }
            *out = {h, line};  // kept if the next does not take its place: no branch to be guessed
            out += bits_[bit(h) / 64] >> bit(h) % 64 & 1;
        }
        ends_[static_cast<std::size_t>(t) + 1] = static_cast<std::size_t>(out - likely_.data());
    }
    for (const Likely* likely = likely_.data(); likely != out; ++likely) table_->prefetch(likely->hash);
}

bool ComposedIds::is(std::uint32_t line, std::int64_t t, std::string_view text) {
    std::uint64_t key[2] = {0, std::uint64_t{line} << 2 * kBits};
    int k = 0;
    for (const ComposedLines::Step& step : composed_.steps(line)) {
        key[k / 3] |= std::uint64_t{at(t)[step.part].number} << kBits * (k % 3);
        ++k;
    }
    const auto place = static_cast<std::size_t>(text.data() - table_->bytes().data());
    Compared& compared = compared_[(place * 0x9e3779b97f4a7c15ull) >> (64 - kSlotBits)];
    if (compared.text == text.data() && compared.key[0] == key[0] && compared.key[1] == key[1]) return true;
    if (!*lines_->is(line, *rows_, *values_, t, text)) return false;
    compared = {{key[0], key[1]}, text.data()};
    return true;
}

}  // namespace sparsecrf
