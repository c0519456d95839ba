// Scores of the positions of rows of columns in few additions.
//
// Most lines of a template read one cell alone. Of all lines that read the same cell, the sum of the weights depends on
// the word that stands there:
//
//   s_t(y) = sum over cells c of M_c[word at c](y)  +  sum over the other lines k of mu[attribute of k at t, y]
//
// M is computed when a word is first seen and kept. Sums are in another order than those of UnigramRows, so that scores
// differ in the last bits: RowLabeller says when that cannot matter.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/inference/chain.hpp"
#include "core/text/composed_ids.hpp"
#include "core/text/template.hpp"

namespace sparsecrf {

// Not to be shared between threads.
class MergedRows {
   public:
    // Of a model: the attributes of the chain are those of the table, to which nobody adds. The chain must outlive it.
    MergedRows(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> names, const Chain& chain);

    // Begins a sequence, whose rows must outlive it. False: it is not for this class.
    bool read(const Rows& rows);
    // s: [Yp], padding -infinity. `pairs`: gets the attributes of t that condition label pairs.
    void score(std::int64_t t, double* s, std::vector<Attribute>& pairs);

   private:
    static constexpr std::int64_t kNear = Template::kNear;
    static constexpr std::size_t kMostNumbers = std::size_t{1} << 20;  // of the rows that are kept: 8 MB
    static constexpr std::uint32_t kNotAsked = 0xfffffffe, kDense = 0xffffffff;
    static constexpr std::uint32_t kAbsent = 0xffffffff;  // an attribute that the table lacks

    // A sum of rows, and the attributes among them that condition pairs.
    struct Merged {
        std::uint32_t begin = 0;               // of its numbers
        std::uint32_t n = kNotAsked;           // cells; kDense: all
        std::uint32_t pairs = 0, n_pairs = 0;  // in pairs_
    };
    // Lines that read the same cell.
    struct Group {
        Template::Cell cell;
        std::size_t place;  // among the groups of its column
        std::vector<std::uint32_t> lines;
    };
    struct Column {
        std::size_t n_groups = 0;
        std::vector<Merged> merged;  // [2 kNear + words, groups], boundary cells first
    };

    void forget();
    // The sums of words that have none yet.
    void merge_new(std::int64_t length);
    // Where the sum of a group at t is kept; null: nowhere.
    Merged* kept(const Group& group, std::int64_t t);
    Merged merge(const std::vector<std::uint32_t>& lines, std::int64_t t);
    void add(const Merged& merged, RowSum& sum, std::vector<Attribute>& pairs) const;
    void add(std::uint32_t line, std::uint32_t id, RowSum& sum, std::vector<Attribute>& pairs) const;
    std::uint32_t look_up(std::uint32_t line, std::int64_t t);

    std::shared_ptr<const Template> lines_;
    std::shared_ptr<const StringTable> names_;
    const FeatureSet& features_;
    const UnigramRows& rows_;
    WordValues values_;
    ComposedIds composed_;
    std::vector<Group> groups_;
    std::vector<Column> columns_;                   // as those of the template
    std::vector<std::uint32_t> constant_, others_;  // lines: without macros; neither that nor in composed_
    const Rows* sequence_ = nullptr;
    std::vector<const Merged*> here_;  // [T, groups] where sums are kept; null: nowhere

    Merged of_constant_;
    AlignedVector<double> dense_;       // [rows, Cp]
    std::vector<std::uint16_t> cells_;  // of sparse rows
    std::vector<double> weights_;       // [cells_]
    std::vector<Attribute> pairs_;
    AlignedVector<double> sums_;  // [Cp] scratch
    Expansion scratch_;
};

}  // namespace sparsecrf
