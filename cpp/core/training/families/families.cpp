#include <algorithm>
#include <array>

#include "core/training/families/family.hpp"

namespace sparsecrf {
namespace {

std::array<FamilyKind, 5> all_families() {
    return {label_family(), pair_family(), class_pair_family(), ngram_family(), dense_family()};
}

}  // namespace

SetTables::SetTables(const Corpus& data, const FeatureSet& set, Kernel wanted, int n_threads)
    : corpus(data),
      features(&set),
      kernel(wanted),
      threads(n_threads),
      unigrams(data, set, n_threads),
      pairs(data, set),
      ngrams(NgramTables::of(data, set)) {}

std::vector<std::unique_ptr<Family>> make_families(SetTables& tables) {
    std::vector<std::unique_ptr<Family>> made;
    for (const FamilyKind& kind : all_families()) {
        if (kind.present(tables.corpus, *tables.features)) made.push_back(kind.make(tables));
    }
    return made;
}

void count_features(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                    std::span<double> counts) {
    std::fill(counts.begin(), counts.end(), 0.0);
    for (const FamilyKind& kind : all_families()) {
        if (kind.present(corpus, features)) kind.count(corpus, features, weights, threads, counts);
    }
}

}  // namespace sparsecrf
