// CoNLL-U: the token is the FORM; labels fill one column or two. Comments, multiword tokens and empty nodes are copied.
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
    // A label of upos+feats that has no features gets a column of them.
    void write(std::span<const std::string> names, std::span<const std::int32_t> labels, std::string& out) override;

   private:
    static constexpr std::size_t kColumns = 10, kForm = 1, kUpos = 3, kXpos = 4, kFeats = 5;

    // False: it is not plain.
    bool add_line(std::string_view line, Rows& rows);

    std::string_view rest_;
    std::size_t column_;  // of the labels
    bool both_;           // upos and feats
    // Of the last sentence.
    struct Line {
        std::string_view text;
        bool is_word;
        std::string_view before, after;  // the columns that labels replace: of a word
        std::string_view between;        // both_: the column between them, and its tabs
    };
    std::vector<Line> lines_;
    std::vector<std::string_view> cells_;  // scratch
};

}  // namespace sparsecrf
