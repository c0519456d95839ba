// Best paths of one sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "core/inference/recursion.hpp"

namespace sparsecrf {

struct Labelling {
    std::vector<std::int32_t> labels;  // [T]
    double score;                      // sum_t score_t(y_{t-1}, y_t)
};

// Score of the corpus's own labels of sequence i.
double path_score(const Potentials& potentials, std::int64_t i);

// score_t(y_{t-1}, y_t) at each position of sequence i, given the labels. labels, out: [P] of the whole corpus.
void token_scores(const Potentials& potentials, std::int64_t i, const std::int32_t* labels, double* out);

// Viterbi; the lattice's alpha rows hold epsilon_t. Ties go to the smallest label. Returns the score.
double best_path(const Potentials& potentials, Recursion& recursion, Lattice& lattice, std::int32_t* labels);

// The same for potentials with label n-grams; does not use the alpha rows.
double best_ngram_path(const Potentials& potentials, Recursion& recursion, Lattice& lattice, std::int32_t* labels);
// The sum of the scores of all n-grams of the labels `path` that end at t; `path` starts at position 0 of the sequence.
double ngram_score(const NgramTables& tables, std::int64_t position, const std::int32_t* path, std::int64_t t);

// The exact k best paths. Every (position, label) keeps its k best prefixes.
std::vector<Labelling> best_paths(const Potentials& potentials, Recursion& recursion, Lattice& lattice, std::int64_t k);
// The same for potentials with label n-grams.
std::vector<Labelling> best_ngram_paths(const Potentials& potentials, Recursion& recursion, Lattice& lattice,
                                        std::int64_t k);

}  // namespace sparsecrf
