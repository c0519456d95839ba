#include "core/training/value_sizes.hpp"

#include <cmath>

namespace sparsecrf {

ValueLogs::ValueLogs(const Corpus& corpus, const Plan& plan)
    : unigram(corpus.n_attributes, 0.0), of_unigram(unigram), bigram(unigram), of_bigram(unigram) {
    std::vector<double> weight(static_cast<std::size_t>(corpus.n_sequences()), 0.0);
    for (const Item& item : plan.items) weight[static_cast<std::size_t>(item.sequence)] += std::fabs(item.weight);
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        const double w = weight[static_cast<std::size_t>(i)];
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
            const auto to = [w](std::vector<double>& logs, std::vector<double>& weights) {
                return [&, w](std::uint32_t x, double value) {
                    if (value == 0.0) return;
                    logs[x] += w * std::log(std::fabs(value));
                    weights[x] += w;
                };
            };
            corpus.for_each_unigram(t, to(unigram, of_unigram));
            corpus.for_each_dense(t, to(unigram, of_unigram));
            corpus.for_each_bigram(t, to(bigram, of_bigram));
        }
    }
}

ValueSizes::ValueSizes(const Corpus& corpus, const Plan& plan)
    : unigram(corpus.n_attributes, 1.0), bigram(corpus.n_attributes, 1.0) {
    if (!corpus.has_values()) return;
    const ValueLogs of(corpus, plan);
    for (std::size_t x = 0; x < unigram.size(); ++x) {
        if (of.of_unigram[x] > 0.0) unigram[x] = std::exp(of.unigram[x] / of.of_unigram[x]);
        if (of.of_bigram[x] > 0.0) bigram[x] = std::exp(of.bigram[x] / of.of_bigram[x]);
    }
}

}  // namespace sparsecrf
