// The feature sets derived from data: all observed features, and all possible features.

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <numeric>

#include "core/base/parallel.hpp"
#include "core/base/shares.hpp"
#include "core/corpus/features.hpp"

namespace sparsecrf {
namespace {

constexpr std::uint32_t kNoPair = 0xffffffffu;

// Whether each attribute occurs in any of these pools.
std::vector<char> occurring(std::uint32_t n_attributes, std::initializer_list<const ListPool*> pools) {
    std::vector<char> seen(n_attributes, 0);
    for (const ListPool* pool : pools) {
        for (std::int64_t k = 0; k < pool->n_entries(); ++k) seen[pool->id(k)] = 1;
    }
    return seen;
}

// Whether each attribute occurs in a unigram list or a dense column, and so has unigram features.
std::vector<char> with_labels(const Corpus& corpus) {
    std::vector<char> seen = occurring(corpus.n_attributes, {&corpus.unigram_lists});
    for (const std::uint32_t x : corpus.dense_attributes) {
        if (x != kNoAttribute) seen[x] = 1;
    }
    return seen;
}

// Collects the (attribute, cell) pairs that each(add) reports through add(x, cell), possibly repeatedly, as rows:
// attribute x has cells[ptr[x]] to cells[ptr[x + 1] - 1], in ascending order. `may` marks the attributes that may
// occur.
//
// Each of these attributes has a bitmap of cells. If all bitmaps together exceed kBytes, rows are processed in several
// ranges. For each range, every thread calls each(add) and sets the bits of its share of the attributes.
template <class Cell, class Each>
void lay_seen(const std::vector<char>& may, std::int64_t n_cells, int threads, Each each,
              std::vector<std::int64_t>& ptr, std::vector<Cell>& cells) {
    constexpr std::size_t kBytes = std::size_t{1} << 26;
    std::vector<std::uint32_t> row_of(may.size());
    std::exclusive_scan(may.begin(), may.end(), row_of.begin(), std::uint32_t{0});
    const auto n_rows = static_cast<std::size_t>(std::count(may.begin(), may.end(), 1));
    const std::size_t words = (static_cast<std::size_t>(n_cells) + 63) / 64;
    const std::size_t size = std::max<std::size_t>(std::min(n_rows, kBytes / (8 * words)), 1);
    std::vector<std::int64_t> n_found(n_rows);  // cells per row
    for (std::size_t first = 0; first < n_rows; first += size) {
        const std::size_t n = std::min(size, n_rows - first);
        std::vector<std::uint64_t> bits(n * words, 0);
        parallel_for(threads, threads, 1, [&](int, std::int64_t share) {
            each([&](std::uint32_t x, std::uint32_t cell) {
                if (share_of_attribute(x, static_cast<std::size_t>(threads)) != static_cast<std::size_t>(share)) return;
                const std::size_t row = row_of[x] - first;  // wraps around for rows before the range
                if (row < n) bits[row * words + cell / 64] |= std::uint64_t{1} << cell % 64;
            });
        });
        for (std::size_t k = 0; k < bits.size(); ++k) {
            n_found[first + k / words] += std::popcount(bits[k]);
            for (std::uint64_t left = bits[k]; left != 0; left &= left - 1) {
                cells.push_back(static_cast<Cell>(k % words * 64 + static_cast<unsigned>(std::countr_zero(left))));
            }
        }
    }
    ptr.assign(1, 0);
    for (std::size_t x = 0; x < may.size(); ++x) ptr.push_back(ptr.back() + (may[x] ? n_found[row_of[x]] : 0));
}

}  // namespace

FeatureSet FeatureSet::observed(const Corpus& corpus, std::shared_ptr<const LabelParts> of_labels, bool zeros,
                                int threads) {
    FeatureSet made(corpus.n_labels, corpus.n_attributes, std::move(of_labels));
    const Numbering numbering = made.numbering();
    const LabelParts* parts = made.parts.get();
    const auto to = [zeros](std::uint32_t cell, auto add) {
        return [=](std::uint32_t x, double value) {
            if (zeros || value != 0.0) add(x, cell);
        };
    };
    // Calls visit(t, y', y) for the positions with a known label; y' is negative if unknown.
    const auto each_position = [&](auto visit) {
        for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
            auto previous = static_cast<std::int32_t>(numbering.pairs.start());
            for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
                if (is_known(corpus.labels[t])) visit(t, previous, static_cast<std::uint32_t>(corpus.labels[t]));
                previous = corpus.labels[t];
            }
        }
    };
    const auto unigrams = [&](auto add) {
        each_position([&](std::int64_t t, std::int32_t, std::uint32_t y) {
            made.cells().for_each(y, [&](std::uint32_t cell) { corpus.for_each_unigram(t, to(cell, add)); });
        });
        for (const std::uint32_t x : corpus.dense_attributes) {  // present at every position, with any label
            for (int y = 0; x != kNoAttribute && y < corpus.n_labels; ++y) add(x, static_cast<std::uint32_t>(y));
        }
    };
    lay_seen(with_labels(corpus), numbering.unigram.cells, threads, unigrams, made.unigram_ptr, made.unigram_label);
    // The pair of labels, or of their classes, at every position where both labels are known.
    const std::vector<char> of_pairs = occurring(corpus.n_attributes, {&corpus.base_lists, &corpus.rest_lists});
    const auto pairs = [&](auto number_of) {
        return [&, number_of](auto add) {
            each_position([&](std::int64_t t, std::int32_t previous, std::uint32_t y) {
                if (!is_known(previous)) return;
                const std::uint32_t pair = number_of(static_cast<std::uint32_t>(previous), y);
                if (pair != kNoPair) corpus.for_each_bigram(t, to(pair, add));
            });
        };
    };
    const auto of_two_labels = [&](std::uint32_t previous, std::uint32_t y) {
        return numbering.pairs.pair(previous, y);
    };
    lay_seen(of_pairs, numbering.bigram.cells, threads, pairs(of_two_labels), made.bigram_ptr, made.bigram_pair);
    if (made.n_classes() == 0) return made;
    const auto of_two_classes = [&](std::uint32_t previous, std::uint32_t y) {
        const std::uint32_t pair = parts->class_pair(previous, y);
        return parts->has_features(pair) ? pair : kNoPair;
    };
    lay_seen(of_pairs, numbering.classes.cells, threads, pairs(of_two_classes), made.class_ptr, made.class_pair);
    return made;
}

FeatureSet FeatureSet::all_virtual(const Corpus& corpus, std::shared_ptr<const LabelParts> parts) {
    FeatureSet made(corpus.n_labels, corpus.n_attributes, std::move(parts));
    const auto any = [](std::int64_t) { return true; };
    const auto lay = [&](const std::vector<char>& seen, std::int64_t cells, auto& ptr, auto& out, auto kept) {
        const auto rows = std::count(seen.begin(), seen.end(), 1);
        ptr.assign(1, 0);
        out.reserve(static_cast<std::size_t>(rows * cells));
        for (const char used : seen) {
            for (std::int64_t c = 0; used && c < cells; ++c) {
                if (kept(c)) out.push_back(static_cast<typename std::decay_t<decltype(out)>::value_type>(c));
            }
            ptr.push_back(static_cast<std::int64_t>(out.size()));
        }
    };
    const Numbering numbering = made.numbering();
    lay(with_labels(corpus), numbering.unigram.cells, made.unigram_ptr, made.unigram_label, any);
    const std::vector<char> of_pairs = occurring(corpus.n_attributes, {&corpus.base_lists, &corpus.rest_lists});
    lay(of_pairs, numbering.bigram.cells, made.bigram_ptr, made.bigram_pair, any);
    if (made.n_classes() > 0) {
        lay(of_pairs, numbering.classes.cells, made.class_ptr, made.class_pair,
            [&](std::int64_t pair) { return made.parts->has_features(static_cast<std::uint32_t>(pair)); });
    }
    return made;
}

}  // namespace sparsecrf
