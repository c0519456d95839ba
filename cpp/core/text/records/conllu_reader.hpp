// Reads CoNLL-U: tokens are FORMs, and labels fill one or two columns. Comments, multiword tokens and empty nodes are
// copied.
#pragma once

#include <string_view>
#include <vector>

#include "core/text/records/record_reader.hpp"

namespace sparsecrf {

class ConlluReader : public RecordReader {
   public:
    // field: upos, xpos, feats or upos+feats
    ConlluReader(std::string_view piece, std::string_view field);

    Found next(Rows& rows) override;
    // For upos+feats, a label without features is written as UPOS and "_".
    void write(std::span<const std::string> names, std::span<const std::int32_t> labels, std::string& out) override;

   private:
    static constexpr std::size_t kColumns = 10, kForm = 1, kUpos = 3, kXpos = 4, kFeats = 5;

    // Returns false if the line is not plain.
    bool add_line(std::string_view line, Rows& rows);

    std::string_view rest_;
    std::size_t column_;  // column of the labels
    bool both_;           // whether labels are upos+feats
    // A line of the last sentence.
    struct Line {
        std::string_view text;
        bool is_word;
        std::string_view before, after;  // for a word: the columns before and after the label's columns
        std::string_view between;        // both_: the column between the two, with its tabs
    };
    std::vector<Line> lines_;
    std::vector<std::string_view> cells_;  // scratch
};

}  // namespace sparsecrf
