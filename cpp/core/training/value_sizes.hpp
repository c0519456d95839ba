// The typical size of an attribute's values: the geometric mean of |v|.
//
// A weight multiplies values, so it is of the order of 1 / size, its gradient of the order of size, and its curvature
// of the order of size^2. Solvers measure steps and curvature in these units. The geometric mean is not dominated by a
// few huge values: once the model is certain where they occur, only the other values matter.
#pragma once

#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/training/plan.hpp"

namespace sparsecrf {

// Sums by attribute, over its nonzero values in unigram lists and dense columns, and in bigram lists. [X] each
struct ValueLogs {
    ValueLogs(const Corpus& corpus, const Plan& plan);
    std::vector<double> unigram, of_unigram;  // sum |w| log |v|, sum |w|
    std::vector<double> bigram, of_bigram;
};

// exp(sum |w| log |v| / sum |w|); 1 for attributes without nonzero values, and for all attributes if every value is 1.
struct ValueSizes {
    ValueSizes(const Corpus& corpus, const Plan& plan);
    std::vector<double> unigram, bigram;  // [X]
};

}  // namespace sparsecrf
