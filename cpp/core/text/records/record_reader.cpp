#include "core/text/records/record_reader.hpp"

#include "core/base/error.hpp"
#include "core/base/utf8.hpp"

namespace sparsecrf {

std::unique_ptr<RecordReader> record_reader(std::string_view format, std::string_view field, std::string_view piece,
                                            std::int64_t line) {
    if (utf8_error(piece) != piece.npos || piece.find('\0') != piece.npos) return nullptr;
    if (line == 1) piece = without_mark(piece);
    if (format == "documents") {
        // A second byte order mark is part of a word, but ColumnReader would drop it.
        if (without_mark(piece).size() < piece.size()) return nullptr;
        return document_reader(piece);
    }
    if (format == "jsonl") return json_reader(piece, field);
    if (format == "conllu") return conllu_reader(piece, field);
    throw InputError("format: expected documents, jsonl or conllu, found ", format);
}

}  // namespace sparsecrf
