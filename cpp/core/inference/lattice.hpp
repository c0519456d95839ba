// One sequence's forward and backward quantities.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/corpus.hpp"

namespace sparsecrf {

// The corrected label pairs of a sequence: those of the rest lists. Position t has [ptr[t], ptr[t + 1]).
struct RestPairs {
    std::vector<std::int64_t> ptr;
    std::vector<std::uint32_t> pair;  // numbered as in LabelPairs
    std::vector<double> delta;        // sum of lambda over the rest list
    std::vector<double> weight;       // E of the base matrix, and
    std::vector<double> growth;       // exp(delta) - 1: set by forward in the linear domain
    std::vector<double> p;            // probability of the pair
    std::vector<double> extra;        // p minus what the base matrix alone would give; 0 in the log domain
    // visit(pair, p - b, p^2 - b^2) for the pairs of position t where that is not zero, b being what the base matrix
    // alone would give: with extra = p - b the second is extra (2 p - extra).
    template <class Visit>
    void for_each_extra(std::int64_t t, Visit visit) const {
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) {
            if (extra[k] != 0.0) visit(pair[k], extra[k], extra[k] * (2.0 * p[k] - extra[k]));
        }
    }
    void clear() {
        ptr.assign(1, 0);
        pair.clear();
        delta.clear();
        weight.clear();
        growth.clear();
        p.clear();
        extra.clear();
    }
};

struct Lattice {
    // Makes it a lattice of sequence i, all labels free. Constraints and rows are for the caller to set.
    void take(const Corpus& corpus, std::int64_t i) {
        sequence = i;
        first = corpus.offsets[i];
        length = corpus.length(i);
        fixed = nullptr;
        allowed = nullptr;
    }

    // Set by `take` and the caller.
    std::int64_t sequence = 0;              // for messages
    std::int64_t first = 0, length = 0;     // positions [first, first + length) of the corpus
    const std::int32_t* fixed = nullptr;    // [T] a label, or kMissing where free; null: all free
    const std::uint8_t* allowed = nullptr;  // [T, Y] non-zero where the label may occur; null: everywhere
    double* alpha = nullptr;                // [T, Yp] owner: caller
    double* v = nullptr;                    // [T, Yp]
    double* p = nullptr;                    // [T, Yp] node marginals; may be null for forward alone

    // Set by forward: log Z. alpha_t is normalised; v_t holds e_t / c_t until backward makes it beta_t e_t / c_t.
    // With `logarithmic`, alpha and v hold the logarithms of the same.
    double log_z = 0.0;
    bool logarithmic = false;
    RestPairs rest;
};

// A lattice that owns its rows.
struct OwnedLattice : Lattice {
    AlignedVector<double> storage;
    void take(const Corpus& corpus, std::int64_t i, int stride) {
        Lattice::take(corpus, i);
        const auto rows = static_cast<std::size_t>(length * stride);
        if (storage.size() < 3 * rows) storage.resize(3 * rows);
        alpha = storage.data();
        v = alpha + rows;
        p = v + rows;
    }
};

}  // namespace sparsecrf
