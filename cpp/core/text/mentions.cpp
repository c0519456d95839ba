#include "core/text/mentions.hpp"

#include "core/base/unicode.hpp"
#include "core/base/utf8.hpp"
#include "core/text/templates/word_functions.hpp"

namespace sparsecrf {
namespace {

Mentions::Way way_of(std::string_view word, std::size_t position) {
    std::size_t n = 0;
    bool begins_upper = false, any_upper = false, upper_later = false, any_lower = false;
    for (std::size_t at = 0; at < word.size(); ++n) {
        const Utf8Character next = utf8_first(word.substr(at));
        const CharClass found = next.code == Utf8Character::kNone ? CharClass::rest : class_of(next.code);
        const bool is_upper = found == CharClass::upper;
        if (n == 0) begins_upper = is_upper;
        any_upper = any_upper || is_upper;
        upper_later = upper_later || (is_upper && n > 0);
        any_lower = any_lower || found == CharClass::lower;
        at += next.length;
    }
    if (any_lower && !any_upper) return Mentions::kLower;
    if (position > 0 && begins_upper && !upper_later && any_lower) return Mentions::kCapital;
    return n > 1 && any_upper && !any_lower ? Mentions::kUpper : Mentions::kOther;
}

}  // namespace

void Mentions::add(std::span<const std::string_view> words) {
    const std::size_t sequence = begin_.size();
    begin_.push_back(tokens_.size());
    for (std::size_t t = 0; t < words.size(); ++t) {
        lower_.clear();
        append_lower(words[t], lower_);
        const std::uint32_t word = words_.intern(lower_);
        if (word == all_.size()) all_.emplace_back();
        Word& all = all_[word];
        const Way way = way_of(words[t], t);
        if (all.n < all.first.size()) all.first[all.n++] = {sequence, t};
        ++all.written[way];
        tokens_.push_back({word, way});
    }
}

std::array<Mentions::Cell, Mentions::kColumns> Mentions::of(const Place& place) const {
    const Token& token = tokens_[begin_[place.sequence] + place.position];
    const Word& all = all_[token.word];
    std::array<Cell, kColumns> cells;
    std::size_t n = 0;  // other mentions written to the cells so far
    for (std::size_t k = 0; k < all.n && n < 2; ++k) {
        const Place other = all.first[k];
        if (other == place) continue;
        const auto [i, t] = other;
        Cell* const three = &cells[1 + 3 * n++];
        three[0] = t == 0 ? Cell{kBefore} : Cell{kTexts.size(), {i, t - 1}};
        three[1] = {kTexts.size(), other};
        three[2] = t + 1 == length(i) ? Cell{kAfter} : Cell{kTexts.size(), {i, t + 1}};
    }
    if (n == 0) return cells;
    std::size_t ways = 0;
    for (std::size_t way = 0; way < kOther; ++way) {
        if (all.written[way] > (way == token.way ? 1u : 0u)) ways |= std::size_t{1} << way;
    }
    cells[0] = {kWritten + ways};
    return cells;
}

void Mentions::clear() {
    words_ = {};
    all_.clear();
    tokens_.clear();
    begin_.clear();
}

}  // namespace sparsecrf
