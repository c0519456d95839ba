#include "core/training/families/families.hpp"

#include <algorithm>

#include "core/training/families/class_pairs.hpp"
#include "core/training/families/dense_columns.hpp"
#include "core/training/families/labels.hpp"
#include "core/training/families/ngrams.hpp"
#include "core/training/families/pairs.hpp"

namespace sparsecrf {
namespace {

struct Kind {
    bool (*present)(const Corpus&, const FeatureSet&);
    void (*count)(const Corpus&, const FeatureSet&, std::span<const double> weights, int threads,
                  std::span<double> counts);
    std::unique_ptr<Family> (*make)(SetTables&);
};

template <class Made>
constexpr Kind kind() {
    return {Made::present, Made::count,
            [](SetTables& tables) -> std::unique_ptr<Family> { return std::make_unique<Made>(tables); }};
}

constexpr Kind kKinds[] = {
    kind<LabelFamily>(), kind<PairFamily>(), kind<ClassPairFamily>(), kind<NgramFamily>(), kind<DenseFamily>(),
};

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
    for (const Kind& kind : kKinds) {
        if (kind.present(tables.corpus, *tables.features)) made.push_back(kind.make(tables));
    }
    return made;
}

void count_features(const Corpus& corpus, const FeatureSet& features, std::span<const double> weights, int threads,
                    std::span<double> counts) {
    std::fill(counts.begin(), counts.end(), 0.0);
    for (const Kind& kind : kKinds) {
        if (kind.present(corpus, features)) kind.count(corpus, features, weights, threads, counts);
    }
}

}  // namespace sparsecrf
