#include "core/training/unigram_index.hpp"

#include <bit>

#include "core/base/parallel.hpp"
#include "core/inference/unigram_rows.hpp"
#include "core/simd/kernels.hpp"

namespace sparsecrf {

Occurrences RowSorter::sort(const Corpus& corpus, const Plan& plan, const Block& block, const ListPool& lists,
                            const std::uint32_t* row_of, std::size_t n_rows) {
    found_.clear();
    values_.clear();
    next_.resize(n_rows, 0);
    seen_.assign((n_rows + 63) / 64, 0);
    std::size_t n_keys = 0;
    std::uint32_t position = 0;
    for (std::int64_t k = block.first_item; k < block.last_item; ++k) {
        const std::int64_t i = plan.items[static_cast<std::size_t>(k)].sequence;
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t, ++position) {
            const std::uint32_t list = corpus.unigram[t];
            for (std::int64_t e = lists.begin(list); e < lists.end(list); ++e) {
                const std::uint32_t row = row_of == nullptr ? lists.id(e) : row_of[lists.id(e)];
                if (row == ListPool::kDropped) continue;
                if (next_[row]++ == 0) {
                    ++n_keys;
                    seen_[row / 64] |= std::uint64_t{1} << row % 64;
                }
                found_.push_back({row, position});
                if (lists.has_values()) values_.push_back(lists.value(e));
            }
        }
    }
    Occurrences made;
    made.keys.reserve(n_keys);
    made.ptr.reserve(n_keys + 1);
    std::uint32_t sum = 0;
    for (std::size_t word = 0; word < seen_.size(); ++word) {
        for (std::uint64_t left = seen_[word]; left != 0; left &= left - 1) {
            const auto row = static_cast<std::uint32_t>(64 * word + static_cast<unsigned>(std::countr_zero(left)));
            made.keys.push_back(row);
            sum += next_[row];
            made.ptr.push_back(sum);
            next_[row] = sum - next_[row];
        }
    }
    made.rows.resize(found_.size());
    made.values.resize(values_.size());
    for (std::size_t k = 0; k < found_.size(); ++k) {
        const std::uint32_t place = next_[found_[k].row]++;
        made.rows[place] = found_[k].position;
        if (!values_.empty()) made.values[place] = values_[k];
    }
    for (const std::uint32_t row : made.keys) next_[row] = 0;
    return made;
}

UnigramIndex::UnigramIndex(const Corpus& corpus, const FeatureSet& set, int threads) {
    std::uint32_t n_dense = 0;
    for (const bool dense : {true, false}) {
        for (std::uint32_t x = 0; x < set.n_attributes; ++x) {
            const Range range{set.unigram_ptr[x], set.unigram_ptr[x + 1]};
            const std::int64_t n = range.end - range.begin;
            if (n == 0 || worth_a_dense_row(n, padded(set.n_cells())) != dense) continue;
            attributes.push_back(x);
            features.push_back(range);
            n_dense += dense;
        }
    }
    std::vector<std::uint32_t> row_of(corpus.n_attributes, ListPool::kDropped);
    for (std::uint32_t row = 0; row < attributes.size(); ++row) row_of[attributes[row]] = row;
    lists = corpus.unigram_lists.renamed(row_of, n_dense, threads);
}

std::vector<Occurrences> UnigramIndex::turned(const Corpus& corpus, const Plan& plan, int threads) const {
    std::vector<Occurrences> blocks(plan.blocks.size());
    std::vector<RowSorter> sorters(static_cast<std::size_t>(threads));
    parallel_for(static_cast<std::int64_t>(blocks.size()), threads, 1, [&](int thread, std::int64_t k) {
        const auto b = static_cast<std::size_t>(k);
        blocks[b] = sorters[static_cast<std::size_t>(thread)].sort(corpus, plan, plan.blocks[b], lists, nullptr,
                                                                   attributes.size());
    });
    return blocks;
}

}  // namespace sparsecrf
