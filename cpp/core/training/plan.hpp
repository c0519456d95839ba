// The plan of a pass over a labelled corpus: items, divided into blocks, with the inverted indices of each block.
//
// Each block is processed by one thread, which runs the sequences and then adds to the sums in steps. Each step follows
// the same step of the previous block. Terms are therefore added in the order of the positions, so sums do not depend
// on the number of threads, and one gradient suffices instead of one per thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/corpus/corpus.hpp"

namespace sparsecrf {

// One forward-backward run: over a whole sequence, or over a sequence with some labels fixed.
struct Item {
    std::int64_t sequence;
    double weight;       // weight of log Z in the loss; negative for the numerator of a partly labelled sequence
    std::int64_t fixed;  // offset into Plan::fixed, or -1
};

// Occurrences by key (an attribute or a list). The rows of keys[k] are [ptr[k], ptr[k + 1]).
struct Occurrences {
    std::vector<std::uint32_t> keys;
    std::vector<std::uint32_t> ptr{0};
    std::vector<std::uint32_t> rows;  // rows of the block, ascending within a key
    std::vector<double> values;       // parallel to rows; empty if all are 1
    double value(std::size_t k) const { return values.empty() ? 1.0 : values[k]; }
};

// The maximum size of the indices of a block, whose offsets have 32 bits.
inline constexpr std::int64_t kMaxOccurrences = 0xffffffff;

struct Block {
    std::int64_t first_item = 0, last_item = 0;  // [first, last)
    std::int64_t n_rows = 0;
    Occurrences rest;   // by rest attribute
    Occurrences inner;  // by base list: all rows except the first of each item
    Occurrences start;  // by base list: the first rows of items
};

class Plan {
   public:
    // The size of blocks: none (items only), small enough for a cache, or larger, for processing sequences side by side
    // (NgramBatch).
    enum class Blocks { none, cached, large };
    explicit Plan(const Corpus& corpus, Blocks blocks = Blocks::cached);

    // The labels that an item fixes, [T], or null.
    const std::int32_t* fixed_labels(const Item& item) const {
        return item.fixed < 0 ? nullptr : fixed.data() + item.fixed;
    }

    std::vector<Item> items;
    std::vector<std::int32_t> fixed;  // labels or label sets of items that fix them; kMissing means free
    std::vector<Block> blocks;
    std::vector<double> count_weight;  // [N] weight of a sequence's own features in the empirical counts
    std::int64_t max_rows = 0, max_items = 0;

   private:
    void add_items(const Corpus& corpus, std::int64_t sequence);
    void add_numerator(const Corpus& corpus, std::int64_t sequence, double weight);
    void cut(const Corpus& corpus, bool large);
    void check_size(const Corpus& corpus, const Block& block) const;
    void index(const Corpus& corpus, Block& block) const;
};

}  // namespace sparsecrf
