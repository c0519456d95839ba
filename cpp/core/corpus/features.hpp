// A set of features in canonical order: unigrams (x, y), bigrams (x, y', y), pairs of label classes (x, c', c), each in
// lexicographic order, then label n-grams (x, y_1 .. y_k), k >= 3, in the order of their table. Weight vectors are
// arrays parallel to it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/corpus/corpus.hpp"
#include "core/corpus/label_parts.hpp"
#include "core/corpus/label_strings.hpp"
#include "core/corpus/numbering.hpp"

namespace sparsecrf {

struct FeatureSet {
    int n_labels = 0;                          // Y
    std::uint32_t n_attributes = 0;            // X
    std::vector<std::int64_t> unigram_ptr;     // [X + 1] row of each attribute
    std::vector<std::uint16_t> unigram_label;  // [unigram features] y, or Y + j for label part j
    std::vector<std::int64_t> bigram_ptr;      // [X + 1]
    std::vector<std::uint32_t> bigram_pair;    // [bigram features] pair number as in LabelPairs
    std::shared_ptr<const LabelParts> parts;   // null if labels have no parts
    // Pairs of label classes, if labels have classes.
    std::vector<std::int64_t> class_ptr;    // [X + 1]; empty without classes
    std::vector<std::uint32_t> class_pair;  // [class features] pair number as in LabelParts::class_pairs
    // Label n-grams, if there are any.
    LabelStrings strings;
    std::vector<std::int64_t> ngram_number;      // [n-grams] ascending, see Numbering
    std::vector<std::uint32_t> ngram_attribute;  // [n-grams]
    std::vector<std::uint32_t> ngram_string;     // [n-grams] id in strings
    std::vector<std::uint32_t> ngram_ptr;        // [X + 1] range of ngram_of with the n-grams of attribute x;
                                                 // empty without n-grams
    std::vector<std::uint32_t> ngram_of;         // [n-grams] index
    std::uint64_t serial;                        // unique within this process

    // Features in any order, without repetitions. The arrays of each kind are parallel.
    FeatureSet(std::int64_t n_labels, std::int64_t n_attributes, std::span<const std::int32_t> unigram_attribute,
               std::span<const std::int32_t> unigram_label, std::span<const std::int32_t> bigram_attribute,
               std::span<const std::int32_t> bigram_previous, std::span<const std::int32_t> bigram_label);

    // The set with these feature numbers, in ascending order (see Numbering). `table` defines the n-grams among them;
    // `parts` is null if labels have no parts.
    static FeatureSet from_numbers(std::int64_t n_labels, std::int64_t n_attributes,
                                   std::span<const std::int64_t> numbers, const NgramTable* table = nullptr,
                                   std::shared_ptr<const LabelParts> parts = nullptr);
    std::vector<std::int64_t> numbers() const;
    Numbering numbering() const { return {n_labels, n_attributes, n_cells() - n_labels, n_classes()}; }
    LabelCells cells() const { return {n_labels, parts.get()}; }                 // cells of unigram rows
    int n_cells() const { return cells().size(); }                               // Y + P
    int n_classes() const { return parts == nullptr ? 0 : parts->n_classes(); }  // C

    // The features with a nonzero empirical count in some sequence; missing labels do not count. zeros: also include
    // features that occur only with value 0.
    static FeatureSet observed(const Corpus& corpus, std::shared_ptr<const LabelParts> parts = nullptr,
                               bool zeros = false, int threads = 1);
    // Every label and part for every unigram attribute that occurs, and every pair of labels and of classes, including
    // pairs with the start label, for every bigram attribute.
    static FeatureSet all_virtual(const Corpus& corpus, std::shared_ptr<const LabelParts> parts = nullptr);

    std::int64_t n_unigram() const { return static_cast<std::int64_t>(unigram_label.size()); }
    std::int64_t n_bigram() const { return static_cast<std::int64_t>(bigram_pair.size()); }
    std::int64_t n_class() const { return static_cast<std::int64_t>(class_pair.size()); }
    std::int64_t n_ngram() const { return static_cast<std::int64_t>(ngram_string.size()); }
    // The indices of the first class feature and of the first n-gram.
    std::int64_t first_class() const { return n_unigram() + n_bigram(); }
    std::int64_t first_ngram() const { return first_class() + n_class(); }
    std::int64_t size() const { return first_ngram() + n_ngram(); }
    bool has_ngrams(std::uint32_t x) const { return !ngram_ptr.empty() && ngram_ptr[x] < ngram_ptr[x + 1]; }
    // The indices of the n-grams of attribute x.
    std::span<const std::uint32_t> ngrams_of(std::uint32_t x) const {
        if (ngram_ptr.empty()) return {};
        return std::span(ngram_of).subspan(ngram_ptr[x], ngram_ptr[x + 1] - ngram_ptr[x]);
    }

    // The label pairs for which attribute x has bigram features, in ascending order.
    std::span<const std::uint32_t> bigram_pairs_of(std::uint32_t x) const {
        return std::span(bigram_pair)
            .subspan(static_cast<std::size_t>(bigram_ptr[x]),
                     static_cast<std::size_t>(bigram_ptr[x + 1] - bigram_ptr[x]));
    }

    // The class pairs for which attribute x has features, in ascending order.
    std::span<const std::uint32_t> class_pairs_of(std::uint32_t x) const {
        if (class_ptr.empty()) return {};
        return std::span(class_pair)
            .subspan(static_cast<std::size_t>(class_ptr[x]), static_cast<std::size_t>(class_ptr[x + 1] - class_ptr[x]));
    }

    // Whether attribute x has features of label pairs, class pairs or longer n-grams.
    bool conditions_pairs(std::uint32_t x) const {
        return !bigram_pairs_of(x).empty() || !class_pairs_of(x).empty() || has_ngrams(x);
    }

    // Throws unless w has one finite weight per feature.
    void check_weights(std::span<const double> w) const;
    void check_fits(const Corpus& corpus) const;
    // Throw if the set has features that `who` does not support: label n-grams, or label parts.
    void check_pairs_at_most(const char* who) const;
    void check_whole_labels(const char* who) const;

   private:
    FeatureSet(std::int64_t n_labels, std::int64_t n_attributes, std::shared_ptr<const LabelParts> parts = nullptr);
    void add_ngram(std::int64_t number, const NgramTable& table);
    void index_ngrams();
    static std::uint64_t next_serial();
};

}  // namespace sparsecrf
