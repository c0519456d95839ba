#include "core/training/value_sizes.hpp"

#include <cmath>

namespace sparsecrf {
namespace {

void add(double value, double weight, std::size_t x, std::vector<double>& logs, std::vector<double>& weights) {
    if (value == 0.0) return;
    logs[x] += weight * std::log(std::fabs(value));
    weights[x] += weight;
}

void add_list(const ListPool& lists, std::uint32_t list, double weight, std::vector<double>& logs,
              std::vector<double>& weights) {
    for (std::int64_t k = lists.begin(list); k < lists.end(list); ++k) {
        add(lists.value(k), weight, lists.id(k), logs, weights);
    }
}

}  // namespace

ValueLogs::ValueLogs(const Corpus& corpus, const Plan& plan)
    : unigram(corpus.n_attributes, 0.0), of_unigram(unigram), bigram(unigram), of_bigram(unigram) {
    std::vector<double> weight(static_cast<std::size_t>(corpus.n_sequences()), 0.0);
    for (const Item& item : plan.items) weight[static_cast<std::size_t>(item.sequence)] += std::fabs(item.weight);
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        const double w = weight[static_cast<std::size_t>(i)];
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
            add_list(corpus.unigram_lists, corpus.unigram[t], w, unigram, of_unigram);
            for (std::int64_t j = 0; j < corpus.n_dense; ++j) {
                const std::uint32_t column = corpus.dense_attributes[j];
                if (column != kNoAttribute) add(corpus.dense[t * corpus.n_dense + j], w, column, unigram, of_unigram);
            }
            add_list(corpus.base_lists, corpus.base[t], w, bigram, of_bigram);
            add_list(corpus.rest_lists, corpus.rest[t], w, bigram, of_bigram);
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
