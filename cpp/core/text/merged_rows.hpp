// Computes the scores of positions with few additions.
//
// Most template lines read a single cell. The sum of the weights of all lines that read the same cell depends only on
// the word in it:
//
//   s_t(y) = sum over cells c of M_c[word at c](y)  +  sum over the other lines k of mu[attribute of k at t, y]
//
// M is computed when a word is first seen, and cached. The order of summation differs from UnigramRows, so scores
// differ in the last bits; RowLabeller determines when this cannot affect the result.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/inference/chain.hpp"
#include "core/text/attribute_filter.hpp"
#include "core/text/composed_ids.hpp"
#include "core/text/template.hpp"

namespace sparsecrf {

// Not thread-safe.
class MergedRows {
   public:
    // The chain must have the attributes of the table, which must not change. The chain must outlive this object.
    MergedRows(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> names, const Chain& chain);

    // Starts a sequence; `rows` must outlive it. Returns false if this class cannot handle it.
    bool read(const Rows& rows);
    // s: [Yp], padded with -infinity. Sets `pairs` to the attributes of t that condition label pairs. Attributes of
    // lines that read at most one cell come first; returns their number.
    std::size_t score(std::int64_t t, double* s, std::vector<std::uint32_t>& pairs);
    // Call this when rows are renumbered.
    void renumber() { renumbered_ = true; }

   private:
    static constexpr std::int64_t kNear = Template::kNear;
    static constexpr std::size_t kMostNumbers = std::size_t{1} << 20;  // limit for the cached rows: 8 MB
    static constexpr std::uint32_t kNotAsked = 0xfffffffe, kDense = 0xffffffff;
    static constexpr std::uint32_t kAbsent = 0xffffffff;  // an attribute that is not in the table

    // A sum of rows, and the attributes in it that condition pairs.
    struct Merged {
        std::uint32_t begin = 0;               // index of its first number
        std::uint32_t n = kNotAsked;           // number of cells; kDense: all
        std::uint32_t pairs = 0, n_pairs = 0;  // range in pairs_
    };
    // Lines that read the same cell.
    struct Group {
        Template::Cell cell;
        std::size_t place;  // index among the groups of its column
        std::vector<std::uint32_t> lines;
    };
    struct Column {
        std::size_t n_groups = 0;
        std::vector<Merged> merged;  // [2 kNear + words, groups], boundary cells first
    };

    void forget();
    // Computes the sums of new words.
    void merge_new(std::int64_t length);
    // The cached sum of a group at t, or null.
    Merged* kept(const Group& group, std::int64_t t);
    Merged merge(const std::vector<std::uint32_t>& lines, std::int64_t t);
    void add(const Merged& merged, RowSum& sum, std::vector<std::uint32_t>& pairs) const;
    void add(std::uint32_t line, std::uint32_t id, RowSum& sum, std::vector<std::uint32_t>& pairs) const;
    std::uint32_t look_up(std::uint32_t line, std::int64_t t);

    std::shared_ptr<const Template> lines_;
    std::shared_ptr<const StringTable> names_;
    const FeatureSet& features_;
    const UnigramRows& rows_;
    WordValues values_;
    AttributeFilter filter_;
    ComposedIds composed_;
    std::vector<Group> groups_;
    std::vector<Column> columns_;                   // the template's columns
    std::vector<std::uint32_t> constant_, others_;  // lines without macros; lines not in constant_, groups_, composed_
    const Rows* sequence_ = nullptr;
    bool renumbered_ = false;
    std::vector<const Merged*> here_;  // [T, groups] cached sums, or null

    Merged of_constant_;
    AlignedVector<double> dense_;       // [rows, Cp]
    std::vector<std::uint16_t> cells_;  // cells of sparse rows
    std::vector<double> weights_;       // [cells_]
    std::vector<std::uint32_t> pairs_;
    AlignedVector<double> sums_;  // [Cp] scratch
    Expansion scratch_;
};

}  // namespace sparsecrf
