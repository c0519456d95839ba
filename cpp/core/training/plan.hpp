// What a pass over a labelled corpus visits: items, cut into blocks, with the inverse indices of each block.
//
// One thread has a block: it runs its sequences, then adds to the sums in steps, each after the same step of the block
// before. So terms are added in the order of the positions, no sum depends on the number of threads, and there is one
// gradient, not one per thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/corpus/corpus.hpp"

namespace sparsecrf {

// One forward-backward: a whole sequence, or a sequence with some labels fixed.
struct Item {
    std::int64_t sequence;
    double weight;       // of log Z in the loss: negative for the numerator of a partly labelled sequence
    std::int64_t fixed;  // offset into Plan::fixed, or -1
};

// Occurrences by key (an attribute or a list): keys[k] has rows [ptr[k], ptr[k + 1]).
struct Occurrences {
    std::vector<std::uint32_t> keys;
    std::vector<std::uint32_t> ptr{0};
    std::vector<std::uint32_t> rows;  // rows of the block, ascending within a key
    std::vector<double> values;       // parallel to rows, or empty: all 1
    double value(std::size_t k) const { return values.empty() ? 1.0 : values[k]; }
};

// Of a block: offsets into them have 32 bits.
inline constexpr std::int64_t kMaxOccurrences = 0xffffffff;

struct Block {
    std::int64_t first_item = 0, last_item = 0;  // [first, last)
    std::int64_t n_rows = 0;
    Occurrences rest;   // by rest attribute
    Occurrences inner;  // by base list: rows after the first of their item
    Occurrences start;  // by base list: first rows
};

class Plan {
   public:
    // How blocks are cut: not at all (the items alone), for a cache, or larger, where sequences are done side by side
    // (NgramBatch) and it pays to have many.
    enum class Blocks { none, cached, large };
    explicit Plan(const Corpus& corpus, Blocks blocks = Blocks::cached);

    // The labels that an item fixes, [T]; null: none.
    const std::int32_t* fixed_labels(const Item& item) const {
        return item.fixed < 0 ? nullptr : fixed.data() + item.fixed;
    }

    std::vector<Item> items;
    std::vector<std::int32_t> fixed;  // labels or label sets of the items that have them, kMissing = free
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
