#include "core/inference/constraints.hpp"

#include "core/base/error.hpp"
#include "core/corpus/numbering.hpp"

namespace sparsecrf {

void Constraints::check(const Corpus& corpus) const {
    const auto expect = [](std::size_t found, std::int64_t expected, const char* what) {
        if (found != 0 && static_cast<std::int64_t>(found) != expected) {
            throw InputError("constraints: expected ", expected, " entries of '", what, "' for this corpus, found ",
                             found);
        }
    };
    const std::int64_t Y = corpus.n_labels, P = corpus.n_tokens();
    if (n_labels != 0 && n_labels != Y) {
        throw InputError("constraints: expected ", Y, " labels for this corpus, found ", n_labels);
    }
    expect(allowed.size(), P * Y, "allowed");
    expect(forbidden.size(), LabelPairs(Y).size(), "forbidden");
    expect(fixed.size(), P, "fixed");
    for (std::size_t t = 0; t < fixed.size(); ++t) {
        if (fixed[t] < kMissing || fixed[t] >= Y) {
            throw InputError("constraints: ", corpus.where(static_cast<std::int64_t>(t)),
                             ": expected a label from 0 to ", Y - 1, ", or -1 (free), found ", fixed[t]);
        }
    }
}

void Constraints::apply(const Corpus& corpus, std::int64_t i, Lattice& lattice) const {
    lattice.allowed = allowed.empty() ? nullptr : allowed.data() + corpus.offsets[i] * corpus.n_labels;
    lattice.fixed = fixed.empty() ? nullptr : fixed.data() + corpus.offsets[i];
}

bool Constraints::permits(const Corpus& corpus, std::int64_t position, std::int32_t previous, std::int32_t y) const {
    if (!allowed.empty() && allowed[static_cast<std::size_t>(position * corpus.n_labels + y)] == 0) return false;
    if (!fixed.empty() && !corpus.permits(fixed[position], y)) return false;
    const LabelPairs pairs(corpus.n_labels);
    return forbidden.empty() ||
           forbidden[pairs.pair(static_cast<std::uint32_t>(previous), static_cast<std::uint32_t>(y))] == 0;
}

}  // namespace sparsecrf
