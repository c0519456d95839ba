// Word vectors, which become dense columns of a corpus: column j is the attribute dense[j].
//
// A word has the vector v of its exact form or, if that form has none, of its lowercase form. The d values of v are
// standardized, and one additional column marks words without a vector:
//
//   x_j = (v_j - mean_j) scale_j,  x_d = 0      with a vector
//   x_j = 0,                       x_d = scale_d      without
//
// With window n, a position has these d + 1 columns for each word at offsets 0, -1, +1, ..., -n, +n, one block after
// another; beyond the ends of the sequence, all columns are 0.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/text_hash.hpp"
#include "core/corpus/corpus.hpp"
#include "core/corpus/string_table.hpp"

namespace sparsecrf {

class WordVectors {
   public:
    static constexpr std::int32_t kNoRow = -1;

    // values: [n, d], one row per word; not copied, so the caller or `owner` must keep them alive. mean, scale: [d +
    // 1]. column: the word column in rows of columns. Throws if the sizes do not match.
    WordVectors(std::shared_ptr<const StringTable> words, std::span<const float> values, std::vector<double> mean,
                std::vector<double> scale, std::int64_t window, std::int64_t column,
                std::shared_ptr<const void> owner = nullptr);

    const std::shared_ptr<const StringTable>& words() const { return words_; }
    std::span<const float> values() const { return values_; }
    std::int64_t width() const { return static_cast<std::int64_t>(mean_.size()) - 1; }  // d
    std::int64_t window() const { return window_; }
    std::int64_t column() const { return column_; }
    // Number of dense columns: (d + 1) (2 window + 1).
    std::int64_t n_dense() const { return (width() + 1) * (2 * window_ + 1); }
    // The row of a word's vector, or kNoRow.
    std::int32_t row(std::string_view word) const { return row(word, TextHash(word)); }
    std::int32_t row(std::string_view word, const TextHash& hash) const;

    // A copy of the corpus with these columns. rows: [P] row of each position. attributes: attribute names of the
    // corpus; a column whose name is not among them has no weight.
    Corpus added_to(const Corpus& corpus, std::span<const std::int32_t> rows, const StringTable& attributes) const;

   private:
    // Writes the d + 1 columns of a word.
    void write(std::int32_t row, float* out) const;

    std::shared_ptr<const StringTable> words_;  // n
    std::span<const float> values_;             // [n, d]
    std::shared_ptr<const void> owner_;         // owner of the values, or null
    std::vector<double> mean_, scale_;          // [d + 1]
    std::int64_t window_, column_;
};

// The attributes dense[0], dense[1], ... of a corpus's dense columns; kNoAttribute for those that do not exist.
std::vector<std::uint32_t> dense_attributes(std::int64_t n, const StringTable& attributes, std::uint32_t n_attributes);

// Numbers the words of positions for SequenceEncoder: in training in order of appearance, otherwise by the row of their
// vector.
class WordRows {
   public:
    WordRows() = default;  // no lookups
    WordRows(std::shared_ptr<StringTable> seen, std::int64_t column) : seen_(std::move(seen)), column_(column) {}
    WordRows(std::shared_ptr<const WordVectors> vectors)
        : vectors_(std::move(vectors)), column_(vectors_ ? vectors_->column() : 0) {}

    bool asked_for() const { return seen_ || vectors_; }
    std::int64_t column() const { return column_; }
    const WordVectors* vectors() const { return vectors_.get(); }
    std::int32_t of(std::string_view word, const TextHash& hash) const {
        return seen_ ? static_cast<std::int32_t>(seen_->intern({&word, 1}, hash)) : vectors_->row(word, hash);
    }

   private:
    std::shared_ptr<StringTable> seen_;
    std::shared_ptr<const WordVectors> vectors_;
    std::int64_t column_ = 0;
};

}  // namespace sparsecrf
