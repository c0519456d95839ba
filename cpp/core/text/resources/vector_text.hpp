// Word vectors in the text format of word2vec and GloVe: one word and its values per line, separated by spaces or tabs,
// with an optional first line that gives the numbers of words and dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/string_table.hpp"

namespace sparsecrf {

class VectorText {
   public:
    // source: names the file in errors. n_bytes: size of the file, 0 if unknown. wanted: keep only vectors of these
    // words and of their lowercase forms; null means keep all.
    VectorText(std::string source, std::int64_t n_bytes, const StringTable* wanted);

    // Parses complete lines, which continue those added before. Throws at the first error, with its line.
    void add(std::string_view piece);

    std::int64_t width() const { return width_; }      // d; 0 until a vector has been read
    std::int64_t n_lines() const { return n_lines_; }  // lines with a vector, kept or not
    // The kept words, without duplicates (the first one counts), and their vectors [n, d]. Call each once.
    StringTable take_words() { return std::move(words_); }
    std::vector<float> take_values() { return std::move(values_); }

   private:
    // Splits a line into views of a word and its values. Returns false for the header line.
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
    std::string_view word_;                  // word of the current line
    std::vector<std::string_view> numbers_;  // [d] in reverse order
};

}  // namespace sparsecrf
