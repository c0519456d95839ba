// Computes the scores of sequences with few additions.
//
// Most template lines read a single cell. The sum of the weights of all lines that read cells of one column depends,
// for the cell at row r and the positions around it, only on the word in it:
//
//   s_t(y) = sum over columns c and offsets o of M_c[word at row t + o of c](o, y)
//            +  sum over the other lines k of mu[attribute of k at t, y]
//
// M_c is computed when a word is first seen, and cached for all offsets contiguously, so that each cell requires a
// single row addition to the scores of neighbouring positions. The order of summation differs from UnigramRows, so
// scores differ in the last bits; RowLabeller determines when the difference cannot affect the result.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/inference/chain.hpp"
#include "core/text/labelling/attribute_filter.hpp"
#include "core/text/labelling/composed_ids.hpp"
#include "core/text/templates/template.hpp"

namespace sparsecrf {

// Not thread-safe. After an exception, do not use the object again.
class MergedRows {
   public:
    // The chain must use the attributes of the table, which must not change. The chain must outlive this object.
    MergedRows(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> names, const Chain& chain);

    // Starts a sequence; `rows` must outlive it. Returns false if this class cannot handle it.
    bool read(const Rows& rows);
    // The scores of position t, [Yp], padded with -infinity; valid until the next call. Call it once for each t. Sets
    // `pairs` to the attributes of t that condition label pairs. The first n_common of them come from lines that read
    // at most one cell.
    const double* score(std::int64_t t, std::vector<std::uint32_t>& pairs, std::size_t& n_common);
    // Call this when rows are renumbered.
    void renumber() { renumbered_ = true; }

   private:
    static constexpr std::int64_t kNear = Template::kNear;
    static constexpr std::size_t kMostNumbers = std::size_t{1} << 20;  // limit for the cached rows: 8 MB
    static constexpr std::uint32_t kAbsent = 0xffffffff;               // an attribute that is not in the table

    // The contribution of a word to the scores of the positions around it, [window, Cp] cells, in order of position.
    struct Merged {
        std::uint32_t begin = 0;  // index of its first weight
        std::uint32_t n = 0;      // number of weights
        std::uint32_t first = 0;  // if dense: the first cell
        bool dense = false;
        bool has_pairs = false;  // whether attributes condition label pairs
    };
    // A macro of a line, and the text after it.
    struct Step {
        std::size_t value;  // index in values of the column
        HashedText literal;
    };
    struct Line {
        std::uint32_t number;     // line number in the template
        std::int64_t offset;      // offset of its cell from the position
        HashedText first;         // text before the first step
        std::vector<Step> steps;  // empty if the text of a macro has to be generated
    };
    // Lines that read one cell of a column.
    struct Column {
        std::int64_t first = 0, last = 0;    // smallest and largest offset
        std::vector<Line> lines;             // sorted by offset, the largest first
        std::vector<Template::Item> values;  // the distinct macros of the lines, ignoring their rows
        bool has_pairs = false;              // whether lines condition label pairs
        std::vector<Merged> merged;          // [2 kNear + words], boundary cells first
        std::vector<std::size_t> pairs;      // if has_pairs: [2 kNear + words, window + 1] ranges in pairs_

        std::int64_t window() const { return last - first + 1; }
    };

    void add_line(std::uint32_t line);
    // The steps of a line that reads a single cell.
    void lay_out(Column& column, Line& line) const;
    // Reads the values of the cell in a row.
    void read_cell(const Column& column, std::int64_t row);
    bool is(const Line& line, std::string_view text) const;
    void forget();
    // Computes the contributions of new words.
    void merge_new(std::size_t c);
    Merged merge(Column& column, std::int64_t row);
    // The index in `merged` of the cell in a row.
    std::size_t place(std::int64_t row, std::size_t c) const;
    void add_cells(std::size_t c);
    void add(std::uint32_t line, std::uint32_t id, RowSum& sum, std::vector<std::uint32_t>& pairs) const;
    std::uint32_t look_up(std::uint32_t line, std::int64_t t);
    std::uint32_t look_up(const Line& line, std::int64_t row);

    std::shared_ptr<const Template> lines_;
    std::shared_ptr<const StringTable> names_;
    const FeatureSet& features_;
    const UnigramRows& rows_;
    const std::int64_t stride_;  // Cp
    WordValues values_;
    AttributeFilter filter_;
    ComposedIds composed_;
    std::vector<Column> columns_;                   // the template's columns
    std::vector<Template::Kind> kinds_;             // kind of each line
    std::vector<std::size_t> with_pairs_;           // columns with lines that condition label pairs
    std::vector<std::uint32_t> constant_, others_;  // without macros; not in constant_, columns_ or composed_
    std::int64_t margin_ = 0;                       // the largest window, minus 1
    const Rows* sequence_ = nullptr;
    bool renumbered_ = false;
    AlignedVector<double> cell_scores_;  // [margin_ + T + margin_, Cp]

    AlignedVector<double> of_constant_;  // [Cp], empty if not computed
    std::vector<std::uint32_t> constant_pairs_;
    AlignedVector<double> dense_;       // weights of dense sums
    std::vector<std::uint32_t> cells_;  // cells of the weights of sparse sums
    std::vector<double> weights_;       // [cells_]
    std::vector<std::uint32_t> pairs_;
    AlignedVector<double> sums_;       // scratch of `merge`, zeros otherwise
    std::vector<int> nonzero_;         // scratch
    AlignedVector<double> labels_;     // scratch
    std::vector<HashedText> of_cell_;  // by Step::value
    Expansion scratch_;
};

}  // namespace sparsecrf
