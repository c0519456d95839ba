#include "unigram_index.hpp"

#include "parallel.hpp"
#include "simd/kernels.hpp"
#include "unigram_rows.hpp"

namespace sparsecrf {
namespace {

// The occurrences of a block by row, sorted by counting. `next`: [R] scratch, all zero before and after.
Occurrences by_row(const Corpus& corpus, const Plan& plan, const Block& block, const ListPool& lists,
                   std::vector<std::uint32_t>& next) {
    const auto each = [&](auto visit) {
        std::uint32_t position = 0;
        for (std::int64_t k = block.first_item; k < block.last_item; ++k) {
            const std::int64_t i = plan.items[static_cast<std::size_t>(k)].sequence;
            for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t, ++position) {
                const std::uint32_t list = corpus.unigram[t];
                for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) visit(position, e);
            }
        }
    };
    std::size_t total = 0;
    each([&](std::uint32_t, std::int64_t e) {
        ++next[lists.id(e)];
        ++total;
    });
    Occurrences made;
    std::uint32_t sum = 0;
    for (std::uint32_t row = 0; row < next.size(); ++row) {
        if (next[row] == 0) continue;
        made.keys.push_back(row);
        sum += next[row];
        made.ptr.push_back(sum);
        next[row] = sum - next[row];
    }
    made.rows.resize(total);
    if (lists.has_values()) made.values.resize(total);
    each([&](std::uint32_t position, std::int64_t e) {
        const std::uint32_t place = next[lists.id(e)]++;
        made.rows[place] = position;
        if (lists.has_values()) made.values[place] = lists.value(e);
    });
    for (const std::uint32_t row : made.keys) next[row] = 0;
    return made;
}

}  // namespace

UnigramIndex::UnigramIndex(const Corpus& corpus, const Plan& plan, const std::vector<bool>& keep, int threads) {
    for (std::uint32_t x = 0; x < keep.size(); ++x) {
        if (keep[x]) attributes.push_back(x);
    }
    make(corpus, plan, threads);
    lists = ListPool();
}

UnigramIndex::UnigramIndex(const Corpus& corpus, const Plan& plan, const FeatureSet& set, int threads) {
    for (const bool dense : {true, false}) {
        for (std::uint32_t x = 0; x < set.n_attributes; ++x) {
            const Range range{set.unigram_ptr[x], set.unigram_ptr[x + 1]};
            const std::int64_t n = range.end - range.begin;
            if (n == 0 || worth_a_dense_row(n, padded(set.n_labels)) != dense) continue;
            attributes.push_back(x);
            features.push_back(range);
        }
    }
    make(corpus, plan, threads);
}

void UnigramIndex::make(const Corpus& corpus, const Plan& plan, int threads) {
    std::vector<std::uint32_t> row_of(corpus.n_attributes, ListPool::kDropped);
    for (std::uint32_t row = 0; row < attributes.size(); ++row) row_of[attributes[row]] = row;
    lists = corpus.unigram_lists.renamed(row_of);
    blocks.resize(plan.blocks.size());
    std::vector<std::vector<std::uint32_t>> scratch(static_cast<std::size_t>(threads));
    parallel_for(static_cast<std::int64_t>(blocks.size()), threads, 1, [&](int thread, std::int64_t k) {
        std::vector<std::uint32_t>& next = scratch[static_cast<std::size_t>(thread)];
        next.resize(attributes.size(), 0);
        const auto b = static_cast<std::size_t>(k);
        blocks[b] = by_row(corpus, plan, plan.blocks[b], lists, next);
    });
}

}  // namespace sparsecrf
