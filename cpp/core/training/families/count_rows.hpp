// Feature counts for families that lay out their cells in rows by attribute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/base/shares.hpp"
#include "core/corpus/corpus.hpp"
#include "core/corpus/numbering.hpp"

namespace sparsecrf {

// counts[k] += sum of weight v over the positions where cell k of an attribute occurs. The cells of attribute x are
// [ptr[x], ptr[x + 1]); cells_at(t, y', y, add) calls add(lists, list, cell) for each cell that occurs at position t.
template <class Cell, class CellsAt>
void count_rows(const Corpus& corpus, std::span<const double> weights, int threads,
                const std::vector<std::int64_t>& ptr, const std::vector<Cell>& cells, double* counts,
                CellsAt cells_at) {
    const auto n_shares = static_cast<std::size_t>(threads);
    parallel_for(threads, threads, 1, [&](int, std::int64_t share) {  // one share of the attributes per thread
        for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
            const double weight = weights[static_cast<std::size_t>(i)];
            if (weight == 0.0) continue;
            std::uint32_t previous = LabelPairs(corpus.n_labels).start();
            for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
                const auto y = static_cast<std::uint32_t>(corpus.labels[t]);
                cells_at(t, previous, y, [&](const ListPool& lists, std::uint32_t list, std::uint32_t cell) {
                    for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
                        const std::uint32_t x = lists.id(k);
                        if (share_of_attribute(x, n_shares) != static_cast<std::size_t>(share)) continue;
                        const auto begin = cells.begin() + ptr[x], end = cells.begin() + ptr[x + 1];
                        const auto found = std::lower_bound(begin, end, cell);
                        if (found != end && *found == cell) counts[found - cells.begin()] += weight * lists.value(k);
                    }
                });
                previous = y;
            }
        }
    });
}

}  // namespace sparsecrf
