// Vectors of words as text, in the format of word2vec and GloVe: a word and its numbers a line, separated by blanks or
// tabs, with or without a first line that says how many words there are and how many numbers each has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/string_table.hpp"

namespace sparsecrf {

class VectorText {
   public:
    // source: names the file in errors. n_bytes: of the file, 0: not known. wanted: vectors of other words than these
    // and their lower case are not kept; null: all are.
    VectorText(std::string source, std::int64_t n_bytes, const StringTable* wanted);

    // Reads whole lines, which follow those read before. Throws at the first mistake, with its line.
    void add(std::string_view piece);

    std::int64_t width() const { return width_; }      // d; 0: no vector has been read
    std::int64_t n_lines() const { return n_lines_; }  // with a vector, kept or not
    // The words that are kept, of equal ones the first, and their vectors [n, d]. They can be taken once.
    StringTable take_words() { return std::move(words_); }
    std::vector<float> take_values() { return std::move(values_); }

   private:
    // A word and its numbers, as views into the line. Returns false for the line that says how many there are.
    bool split(std::string_view line);
    void keep();
    std::string where() const;
    [[noreturn]] void wrong_width(std::string_view line, std::size_t found) const;

    std::string source_;
    std::int64_t n_bytes_;
    bool all_;
    StringTable wanted_;
    std::int64_t line_ = 0, n_lines_ = 0, width_ = 0;
    StringTable words_;
    std::vector<float> values_;
    std::string_view word_;                  // of the current line
    std::vector<std::string_view> numbers_;  // [d] in reverse order
};

}  // namespace sparsecrf
