// The numbers of features and label pairs: the only definition in C++ (in Python: encoding/numbering.py).
//
// X attributes, Y labels 0 to Y - 1; as y', Y denotes the start label, which precedes the first label.
//     pair (y', y):        y' Y + y                          below (Y + 1) Y; pairs of the start label come last
//     unigram (x, y):      x Y + y                           from 0
//     bigram (x, y', y):   X Y + x (Y + 1) Y + (y' Y + y)    from X Y
//     n-gram (x, y_1 .. y_k), k >= 3: X Y + X (Y + 1) Y + its index in the table of n-grams (label_strings.hpp)
// Unigrams and bigrams are ranges with a fixed number of cells per attribute. If labels have P parts (label_parts.hpp),
// a unigram row has Y + P cells: unigram (x, y) is x (Y + P) + y, part j is cell y = Y + j, and the other ranges shift
// accordingly. If labels have C classes, their pair features (x, c', c) come between bigrams and n-grams:
//     x (C + 1) C + (c' C + c)                               after the last bigram
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sparsecrf {

// Numbers of label pairs, including pairs with the start label.
struct LabelPairs {
    explicit constexpr LabelPairs(std::int64_t labels) : n_labels(static_cast<std::uint32_t>(labels)) {}

    constexpr std::uint32_t pair(std::uint32_t previous, std::uint32_t y) const { return previous * n_labels + y; }
    constexpr std::uint32_t previous(std::uint32_t pair) const { return pair / n_labels; }
    constexpr std::uint32_t label(std::uint32_t pair) const { return pair % n_labels; }

    constexpr std::uint32_t start() const { return n_labels; }                  // y' of the start label
    constexpr std::uint32_t n_inner() const { return n_labels * n_labels; }     // pairs y' < Y: 0 to n_inner() - 1
    constexpr std::uint32_t size() const { return (n_labels + 1) * n_labels; }  // all pairs
    constexpr bool is_start(std::uint32_t pair) const { return pair >= n_inner(); }
    // y of a pair (start, y), without a division.
    constexpr std::uint32_t start_label(std::uint32_t pair) const { return pair - n_inner(); }

    // The number of these ascending pairs with y' < Y; the pairs of the start label follow them.
    std::size_t count_inner(std::span<const std::uint32_t> pairs) const {
        return static_cast<std::size_t>(std::lower_bound(pairs.begin(), pairs.end(), n_inner()) - pairs.begin());
    }

    // The subrange of these ascending pairs that can occur at the first position, or at a later one.
    std::span<const std::uint32_t> at(std::span<const std::uint32_t> pairs, bool first) const {
        return first ? pairs.subspan(count_inner(pairs)) : pairs.first(count_inner(pairs));
    }

    std::uint32_t n_labels;  // Y
};

// Calls visit(k, y', y) for ascending pairs, with one division per row instead of one per pair.
template <class Visit>
void for_each_pair(std::span<const std::uint32_t> pairs, int n_labels, Visit visit) {
    const auto Y = static_cast<std::uint32_t>(n_labels);
    std::uint32_t i = 0, first = 0;  // y' and the first pair of its row
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        if (pairs[k] - first >= Y) {
            i = pairs[k] / Y;
            first = i * Y;
        }
        visit(k, std::size_t{i}, std::size_t{pairs[k] - first});
    }
}

// The numbers of one kind of feature: `cells` per attribute, ordered by attribute.
struct FeatureRange {
    constexpr std::int64_t number(std::int64_t x, std::int64_t cell) const { return first + x * cells + cell; }
    constexpr std::int64_t attribute(std::int64_t number) const { return (number - first) / cells; }
    constexpr std::int64_t cell(std::int64_t number) const { return (number - first) % cells; }
    constexpr std::int64_t end() const { return first + n_attributes * cells; }
    constexpr bool holds(std::int64_t number) const { return first <= number && number < end(); }

    std::int64_t first, n_attributes, cells;
};

// Numbers of all features that X attributes and Y labels can form. Ascending numbers are the canonical order.
struct Numbering {
    constexpr Numbering(std::int64_t n_labels, std::int64_t n_attributes, std::int64_t n_parts = 0,
                        std::int64_t n_classes = 0)
        : pairs(n_labels),
          unigram{0, n_attributes, n_labels + n_parts},
          bigram{unigram.end(), n_attributes, pairs.size()},
          classes{bigram.end(), n_attributes, LabelPairs(n_classes).size()} {}

    constexpr std::int64_t size() const { return classes.end(); }  // the number of the first n-gram

    LabelPairs pairs;
    FeatureRange unigram;  // a cell is a label y, or Y + j for a part
    FeatureRange bigram;   // a cell is a pair
    FeatureRange classes;  // a cell is a class pair; no cells without classes
};

}  // namespace sparsecrf
