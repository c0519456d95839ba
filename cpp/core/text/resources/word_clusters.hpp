// Clusters words from raw text: maximizes Brown's objective by the exchange algorithm instead of Brown's greedy first
// stage, and computes the paths by Brown's merges.
//
// N(a, b) counts how often a word of class a precedes a word of class b; R and L are the row and column sums of N.
// Under the class bigram model the log-likelihood of the text is, up to a constant (Brown et al. 1992; Martin et al.
// 1998),
//
//   F = sum_ab phi(N(a, b)) - sum_a phi(R(a)) - sum_b phi(L(b)),     phi(n) = n log n
//
// Exchange: each word, in order of frequency, moves to the class that maximizes F; this is repeated until no word
// moves. Then the cheapest pair of classes is merged repeatedly until one class is left. The tree of merges gives every
// class a path of 0 and 1 whose prefixes are larger clusters. Sentence ends and rare words have their own classes,
// which serve only as context. The reference implementation is tests/reference/clusters.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/corpus/string_table.hpp"

namespace sparsecrf {

class WordClusters {
   public:
    // Counts the words of a sentence and, after `begin` has fixed the vocabulary, its pairs. The text is therefore read
    // twice.
    void add(const std::vector<std::string_view>& sentence);
    // Fixes the vocabulary (words with at least min_count occurrences) and at most n_classes classes. From then on,
    // `add` also counts pairs.
    void begin(std::int64_t n_classes, std::int64_t min_count);
    // Sums the pairs; the k-th most frequent word starts in class k mod C.
    void finish();

    // One pass over all words; returns the number of moves. A word that is alone in its class stays.
    std::int64_t exchange(int threads);
    // The path of each class by Brown's merges.
    std::vector<std::string> merge(int threads) const;

    std::int64_t n_words() const { return static_cast<std::int64_t>(words_.size()); }
    std::int64_t n_classes() const { return n_classes_; }
    std::int64_t n_tokens() const { return n_tokens_; }
    void check_finished() const;  // throws if `finish` has not been called
    // Sorted by frequency.
    std::string_view word(std::int64_t w) const { return table_[words_[w]]; }
    std::int64_t count(std::int64_t w) const { return counts_[words_[w]]; }
    std::int64_t class_of(std::int64_t w) const { return class_[w]; }
    double objective() const;

   private:
    using Count = std::int64_t;
    struct Neighbour {
        std::int32_t word;  // a word, or n_words + 0 for the end of a sentence, + 1 for a rare word
        Count n;
    };
    // The neighbours of a word, counted by class.
    struct Around {
        std::vector<Count> n;               // [classes] count; reset to zero between words
        std::vector<std::int64_t> classes;  // those with n > 0
        void add(std::int64_t c, Count more);
        void clear();
    };

    std::int64_t size() const { return n_classes_ + 2; }  // classes including those of sentence ends and rare words
    std::int64_t class_at(std::int32_t word) const;
    void look_around(std::int64_t w, Around& before, Around& after, Count& itself) const;
    void move(const Around& before, const Around& after, Count itself, std::int64_t c, int sign);
    void gains(const Around& before, const Around& after, Count itself, std::int64_t first, std::int64_t last,
               std::vector<double>& out) const;
    Count& at(std::int64_t a, std::int64_t b) { return n_[a * size() + b]; }
    Count at(std::int64_t a, std::int64_t b) const { return n_[a * size() + b]; }

    StringTable table_;
    std::vector<Count> counts_;         // [strings]
    std::vector<std::int32_t> number_;  // [strings] rank of the word by frequency; n_words + 1: rare
    std::vector<std::uint32_t> words_;  // [n_words] strings by decreasing count
    std::int64_t n_tokens_ = 0, n_classes_ = 0;
    bool begun_ = false, finished_ = false;
    std::unordered_map<std::uint64_t, Count> pairs_;    // (before << 32 | after), until `finish`
    std::vector<std::vector<Neighbour>> left_, right_;  // [n_words]
    std::vector<std::int64_t> class_, members_;         // [n_words], [n_classes]
    std::vector<Count> n_, transposed_, row_, column_;  // N [size, size], its transpose, R and L
};

}  // namespace sparsecrf
