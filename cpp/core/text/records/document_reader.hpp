// Reads columns grouped into documents, and inserts after each word the columns of its other mentions in the document.
// A sequence that begins with -DOCSTART- starts a document.
#pragma once

#include <string_view>
#include <vector>

#include "core/text/mentions.hpp"
#include "core/text/records/record_reader.hpp"

namespace sparsecrf {

class DocumentReader : public RecordReader {
   public:
    explicit DocumentReader(std::string_view piece);

    Found next(Rows& rows) override;
    void write(std::span<const std::string> names, std::span<const std::int32_t> labels, std::string& out) override;

   private:
    static constexpr std::size_t kMost = 500;  // sequences per document; further ones belong to no document
    // Reads the next document, or one sequence outside documents; returns false at the end.
    bool read_document();
    static bool is_mark(const Rows& rows) { return rows.cell(0, 0) == "-DOCSTART-"; }

    ColumnReader reader_;
    std::vector<HashedText> constants_;  // Mentions::kTexts
    std::vector<Rows> document_;         // the first n_ are the sequences of the document
    std::size_t n_ = 0, at_ = 0;         // at_: the next one to return
    bool in_document_ = false;           // whether these sequences form a document
    Mentions mentions_;
    Rows ahead_;  // the sequence after the document, if has_ahead_
    bool has_ahead_ = false;
    std::vector<std::string_view> words_;  // scratch
};

}  // namespace sparsecrf
