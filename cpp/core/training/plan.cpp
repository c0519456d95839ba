#include "core/training/plan.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {
namespace {

struct Occurrence {
    std::uint32_t key, row;
    double value;
};

Occurrences collect(std::vector<Occurrence>& found) {
    std::stable_sort(found.begin(), found.end(),
                     [](const Occurrence& a, const Occurrence& b) { return a.key < b.key; });
    Occurrences made;
    const bool valued = std::any_of(found.begin(), found.end(), [](const Occurrence& o) { return o.value != 1.0; });
    made.rows.reserve(found.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
        if (k > 0 && found[k].key != found[k - 1].key) made.ptr.push_back(static_cast<std::uint32_t>(k));
        if (k == 0 || found[k].key != found[k - 1].key) made.keys.push_back(found[k].key);
        made.rows.push_back(found[k].row);
        if (valued) made.values.push_back(found[k].value);
    }
    if (!found.empty()) made.ptr.push_back(static_cast<std::uint32_t>(found.size()));
    found.clear();
    return made;
}

std::int64_t length_of(const ListPool& lists, std::uint32_t list) { return lists.end(list) - lists.begin(list); }

std::int64_t longest(const ListPool& lists) {
    std::int64_t most = 0;
    for (std::uint32_t list = 0; list < lists.size(); ++list) most = std::max(most, length_of(lists, list));
    return most;
}

}  // namespace

Plan::Plan(const Corpus& corpus, Blocks blocks_wanted)
    : count_weight(static_cast<std::size_t>(corpus.n_sequences()), 0.0) {
    items.reserve(static_cast<std::size_t>(corpus.n_sequences()));
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        if (corpus.weight(i) > 0.0) add_items(corpus, i);
    }
    if (blocks_wanted != Blocks::none) cut(corpus, blocks_wanted == Blocks::large);
}

// The loss of a sequence is sum_j (s_j - s_{j-1}) { log Z(labels fixed where w_t < s_j) - numerator }, where s_j are
// the distinct positive token weights. Without token weights there is one layer and nothing is fixed. A label that is
// only known to be in a set is restricted to that set.
void Plan::add_items(const Corpus& corpus, std::int64_t i) {
    const std::int64_t first = corpus.offsets[i], last = corpus.offsets[i + 1];
    std::vector<double> levels{1.0};
    if (!corpus.token_weight.empty()) {
        levels.assign(corpus.token_weight.begin() + first, corpus.token_weight.begin() + last);
        std::sort(levels.begin(), levels.end());
        levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
        if (levels.front() == 0.0) levels.erase(levels.begin());
    }
    double below = 0.0;
    for (const double level : levels) {
        Item item{i, corpus.weight(i) * (level - below), -1};
        below = level;
        const bool whole = corpus.token_weight.empty() ||
                           std::all_of(corpus.token_weight.begin() + first, corpus.token_weight.begin() + last,
                                       [&](double w) { return w >= level; });
        if (!whole) {
            item.fixed = static_cast<std::int64_t>(fixed.size());
            for (std::int64_t t = first; t < last; ++t) {
                fixed.push_back(corpus.token_weight[t] < level ? corpus.labels[t] : kMissing);
            }
        }
        items.push_back(item);
    }
    if (below > 0.0) add_numerator(corpus, i, corpus.weight(i) * below);
}

// numerator = log Z(labels fixed). If all labels are known, this is theta . F(x, y), which follows from counts that are
// computed once; otherwise it needs a second forward-backward with negative weight.
void Plan::add_numerator(const Corpus& corpus, std::int64_t i, double weight) {
    if (corpus.is_labelled(i)) {
        count_weight[static_cast<std::size_t>(i)] = weight;
        return;
    }
    items.push_back({i, -weight, static_cast<std::int64_t>(fixed.size())});
    fixed.insert(fixed.end(), corpus.labels.begin() + corpus.offsets[i], corpus.labels.begin() + corpus.offsets[i + 1]);
}

// Blocks contain about kBlockBytes of rows, three per position, and fit in a cache. They are smaller if there would
// otherwise be too few blocks for all threads.
void Plan::cut(const Corpus& corpus, bool large) {
    const std::int64_t kBlockBytes = large ? 1 << 21 : 1 << 20, kFewest = large ? 16 : 32;
    std::int64_t n_rows = 0;
    for (const Item& item : items) n_rows += corpus.length(item.sequence);
    const auto fitting = std::clamp<std::int64_t>(kBlockBytes / (24 * padded(corpus.n_labels)), 256, 16384);
    const std::int64_t target = std::min(fitting, std::max<std::int64_t>(64, n_rows / kFewest));
    for (std::size_t k = 0; k < items.size(); ++k) {
        if (blocks.empty() || blocks.back().n_rows >= target) {
            blocks.emplace_back();
            blocks.back().first_item = static_cast<std::int64_t>(k);
        }
        blocks.back().last_item = static_cast<std::int64_t>(k) + 1;
        blocks.back().n_rows += corpus.length(items[k].sequence);
    }
    const std::int64_t most = std::max({std::int64_t{1}, longest(corpus.unigram_lists), longest(corpus.rest_lists)});
    for (Block& block : blocks) {
        if (block.n_rows > kMaxOccurrences / most) check_size(corpus, block);
        index(corpus, block);
        max_rows = std::max(max_rows, block.n_rows);
        max_items = std::max(max_items, block.last_item - block.first_item);
    }
}

// The offsets of Occurrences have 32 bits. Only a single very long sequence can exceed this limit.
void Plan::check_size(const Corpus& corpus, const Block& block) const {
    std::int64_t unigrams = 0, rest = 0;
    for (std::int64_t k = block.first_item; k < block.last_item; ++k) {
        const std::int64_t i = items[static_cast<std::size_t>(k)].sequence;
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
            unigrams += length_of(corpus.unigram_lists, corpus.unigram[t]);
            rest += length_of(corpus.rest_lists, corpus.rest[t]);
        }
    }
    const std::int64_t found = std::max({block.n_rows, unigrams, rest});
    if (found <= kMaxOccurrences) return;
    throw InputError("sequence ", items[static_cast<std::size_t>(block.last_item) - 1].sequence, ": expected at most ",
                     kMaxOccurrences, " occurrences of attributes in a sequence, found ", found,
                     "; cut it into shorter sequences");
}

void Plan::index(const Corpus& corpus, Block& block) const {
    std::vector<Occurrence> rest, inner, start;
    const auto add = [](std::vector<Occurrence>& out, const ListPool& lists, std::uint32_t list, std::uint32_t row) {
        for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k)
            out.push_back({lists.id(k), row, lists.value(k)});
    };
    std::uint32_t row = 0;
    for (std::int64_t k = block.first_item; k < block.last_item; ++k) {
        const std::int64_t i = items[static_cast<std::size_t>(k)].sequence;
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t, ++row) {
            add(rest, corpus.rest_lists, corpus.rest[t], row);
            if (corpus.base[t] != 0) (t == corpus.offsets[i] ? start : inner).push_back({corpus.base[t], row, 1.0});
        }
    }
    block.rest = collect(rest);
    block.inner = collect(inner);
    block.start = collect(start);
}

}  // namespace sparsecrf
