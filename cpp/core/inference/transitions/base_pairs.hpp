// The label pairs of the features of each base list of a corpus. They do not depend on the weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/corpus/features.hpp"

namespace sparsecrf {

// Keeps a reference to the corpus. Pass the same feature set to its methods as to the constructor.
class BasePairs {
   public:
    BasePairs(const Corpus& corpus, const FeatureSet& features);

    // The pairs of all features of a list's attributes, in ascending order, including the start row.
    std::span<const std::uint32_t> of(std::uint32_t list) const {
        return std::span(pair_).subspan(ptr_[list], ptr_[list + 1] - ptr_[list]);
    }
    // scores[k] = sum_{x in list} v lambda[x, pair k of the list], in the order of the list.  w: [K]
    void sum(std::uint32_t list, const FeatureSet& features, std::span<const double> w, double* scores) const;

   private:
    const ListPool& lists_;
    std::vector<std::size_t> ptr_;     // [base lists + 1]
    std::vector<std::uint32_t> pair_;  // [pairs of all lists]
};

}  // namespace sparsecrf
