// Label strings, each stored once, and the table of label n-grams: features of an attribute and a string.
//
// Features (x, y_1 .. y_k) with k >= 3 labels have no closed-form number because k is unbounded. They are numbered in
// order of first use, after all unigram and bigram features (numbering.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace sparsecrf {

inline constexpr std::size_t kLongestNgram = 1000;  // labels; a string of n labels has n^2 / 2 substrings

// If a string is stored, so are all its prefixes and suffixes. Ids: 0 is the empty string, 1 + y is label y, and 1 + Y
// is the start label, which can only be the first label of a string.
class LabelStrings {
   public:
    explicit LabelStrings(int n_labels = 0);

    std::uint32_t intern(std::span<const std::int32_t> labels);
    // The string `first` followed by `suffix`, or kNone if it is not stored.
    std::uint32_t find(std::uint32_t suffix, std::uint32_t first) const;
    static constexpr std::uint32_t kNone = 0xffffffffu;

    std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
    std::uint32_t single(std::uint32_t label) const { return 1 + label; }
    std::uint32_t length(std::uint32_t id) const { return nodes_[id].length; }
    std::uint32_t first(std::uint32_t id) const { return nodes_[id].first; }
    std::uint32_t last(std::uint32_t id) const { return nodes_[id].last; }
    std::uint32_t suffix(std::uint32_t id) const { return nodes_[id].suffix; }  // without its first label
    std::uint32_t prefix(std::uint32_t id) const { return nodes_[id].prefix; }  // without its last label
    bool after_start(std::uint32_t id) const { return nodes_[id].first == n_labels_; }
    // Whether the string can end at position t; a string with the start label must begin at the start.
    bool fits(std::uint32_t id, std::int64_t t) const {
        return after_start(id) ? nodes_[id].length == t + 2 : nodes_[id].length <= t + 1;
    }
    std::vector<std::int32_t> labels(std::uint32_t id) const;

    // Calls visit(string) for the stored suffixes of `path` up to position t that have at least two labels, shortest
    // first. path: labels from position 0; a missing label (negative) ends the walk.
    template <class Visit>
    void for_each_suffix(const std::int32_t* path, std::int64_t t, Visit visit) const {
        if (path[t] < 0) return;
        std::uint32_t id = single(static_cast<std::uint32_t>(path[t]));
        for (std::int64_t s = t - 1; s >= -1; --s) {
            if (s >= 0 && path[s] < 0) return;
            id = find(id, s < 0 ? n_labels_ : static_cast<std::uint32_t>(path[s]));
            if (id == kNone) return;
            visit(id);
        }
    }

   private:
    struct Node {
        std::uint32_t length, first, last, suffix, prefix;
    };
    std::uint32_t extend(std::uint32_t suffix, std::uint32_t first);

    std::uint32_t n_labels_;
    std::vector<Node> nodes_;
    std::unordered_map<std::uint64_t, std::uint32_t> found_;  // (suffix, first label) to id
};

// N-grams in order of first use.
class NgramTable {
   public:
    explicit NgramTable(std::int64_t n_labels);

    struct Entry {
        std::uint32_t attribute, string;
    };
    // The index of (x, labels), which is added if missing. `labels` has at least three labels, of which only the first
    // may be the start label (Y).
    std::int64_t add(std::int64_t attribute, std::span<const std::int32_t> labels);
    // The indices of several n-grams, whose labels are concatenated in `labels`. attribute, length: [n].
    std::vector<std::int64_t> add_all(std::span<const std::int32_t> attribute, std::span<const std::int32_t> length,
                                      std::span<const std::int32_t> labels);

    int n_labels() const { return n_labels_; }
    std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
    const Entry& entry(std::int64_t k) const { return entries_[static_cast<std::size_t>(k)]; }
    const LabelStrings& strings() const { return strings_; }

   private:
    int n_labels_;
    LabelStrings strings_;
    std::vector<Entry> entries_;
    std::unordered_map<std::uint64_t, std::int64_t> places_;  // (attribute, string) to index
};

}  // namespace sparsecrf
