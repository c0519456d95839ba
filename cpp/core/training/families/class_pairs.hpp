// Features of an attribute and a class pair. Features of base lists are summed by list, then distributed over its
// attributes; those of rest lists are summed by attribute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/training/families/family.hpp"

namespace sparsecrf {

class ClassPairFamily final : public Family {
   public:
    explicit ClassPairFamily(SetTables& tables);
    static bool present(const Corpus&, const FeatureSet& features) { return features.n_class() > 0; }
    static void count(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                      std::span<double> counts);

    void begin(const GradientPass& pass) override;
    void open(BlockRows& rows) override;
    void keep(Recursion& recursion, const Lattice& lattice, std::size_t first_row, BlockRows& rows) override;
    void add(int thread, std::size_t block, BlockRows& rows, Turn& turn) override;
    void finish() override;
    void release() override { sum_ = square_ = {}; }

   private:
    // sum_r w p_r(c', c), and the same with p^2, over the rows of a list; `start`: with p_r(start, c).
    void add_list(std::size_t slot, std::span<const std::uint32_t> all, const BlockRows& rows, bool start);
    void add_rest(const Block& block, const BlockRows& rows) const;

    const LabelPairs pairs_;             // class pairs
    const std::size_t row_;              // length of a row of BlockRows::classes
    std::vector<std::int32_t> slot_of_;  // [base lists] slot of their sums; -1: no class features
    std::vector<std::uint32_t> lists_;   // list of each slot
    std::vector<double> sum_, square_;   // [slots, (C + 1) C]
};

}  // namespace sparsecrf
