#include "core/training/groups.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/base/error.hpp"

namespace sparsecrf {
namespace {

constexpr std::int64_t kMaxPositions = 0xffffffff;  // stored in 32 bits

// Calls visit(x) for every attribute of a position; an attribute in several of its lists is visited more than once.
template <class Visit>
void each_attribute(const Corpus& corpus, std::int64_t position, Visit visit) {
    const auto without_value = [&](std::uint32_t x, double) { visit(x); };
    corpus.for_each_unigram(position, without_value);
    corpus.for_each_bigram(position, without_value);
}

}  // namespace

std::vector<std::int64_t> sequences_by_attribute(const Corpus& corpus) {
    std::vector<std::int64_t> holders(corpus.n_attributes, 0), last(corpus.n_attributes, -1);
    for (std::int64_t i = 0; i < corpus.n_sequences(); ++i) {
        for (std::int64_t t = corpus.offsets[i]; t < corpus.offsets[i + 1]; ++t) {
            each_attribute(corpus, t, [&](std::uint32_t x) {
                holders[x] += last[x] != i;
                last[x] = i;
            });
        }
    }
    return holders;
}

std::vector<std::uint8_t> disjoint_groups(const Corpus& corpus) {
    const std::uint32_t X = corpus.n_attributes;
    std::vector<std::int64_t> ptr(static_cast<std::size_t>(X) + 1, 0);
    for (std::int64_t t = 0; t < corpus.n_tokens(); ++t)
        each_attribute(corpus, t, [&](std::uint32_t x) { ++ptr[x + 1]; });
    std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
    if (corpus.n_tokens() > kMaxPositions) {
        throw InputError("corpus: expected at most ", kMaxPositions, " tokens for this solver, found ",
                         corpus.n_tokens(), "; use the solver auto");
    }
    std::vector<std::uint32_t> positions(static_cast<std::size_t>(ptr.back()));
    std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
    for (std::int64_t t = 0; t < corpus.n_tokens(); ++t) {
        each_attribute(corpus, t, [&](std::uint32_t x) {
            positions[static_cast<std::size_t>(next[x]++)] = static_cast<std::uint32_t>(t);
        });
    }
    std::vector<std::uint32_t> order(X);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return ptr[a + 1] - ptr[a] > ptr[b + 1] - ptr[b]; });
    std::vector<std::uint8_t> group(X, 0);
    std::vector<std::uint64_t> taken(static_cast<std::size_t>(corpus.n_tokens()), 0);  // one bit per group
    for (const std::uint32_t x : order) {
        std::uint64_t used = 0;
        for (std::int64_t k = ptr[x]; k < ptr[x + 1]; ++k) used |= taken[positions[k]];
        group[x] = static_cast<std::uint8_t>(std::min(std::countr_one(used), kMaxGroups - 1));
        for (std::int64_t k = ptr[x]; k < ptr[x + 1]; ++k) taken[positions[k]] |= std::uint64_t{1} << group[x];
    }
    return group;
}

}  // namespace sparsecrf
