// Features of an attribute and a label or label part (corpus/label_parts.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/training/families/family.hpp"

namespace sparsecrf {

class LabelFamily final : public Family {
   public:
    explicit LabelFamily(SetTables& tables) : Family(tables), cell_stride_(padded(tables.features->n_cells())) {}
    static bool present(const Corpus&, const FeatureSet&) { return true; }
    static void count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                      std::span<double> counts);

    void begin(const GradientPass& pass) override;
    void add(int thread, std::size_t block, BlockRows& rows, Turn& turn) override;
    void release() override { blocks_ = {}; }

   private:
    void prefetch_row(const Occurrences& all, std::size_t key) const;
    void add_attribute(const Occurrences& all, std::size_t key, const BlockRows& rows) const;

    const int cell_stride_;            // Cp
    std::vector<Occurrences> blocks_;  // [blocks of the plan] by row of the index
};

}  // namespace sparsecrf
