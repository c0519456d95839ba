// Readers for labelling files in formats other than columns and CRFsuite's. Each reads sequences from the bytes of a
// file and writes them back with their labels. The readers handle only plain input. Everything else that a format
// allows, and all errors, are left to the Python package, which reads the same formats.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/text/columns.hpp"

namespace sparsecrf {

class RecordReader {
   public:
    enum class Found { sequence, end, not_plain };

    virtual ~RecordReader() = default;
    // Reads the next sequence, which may have no rows.
    virtual Found next(Rows& rows) = 0;
    // The output form of a label.
    virtual std::string written(std::string_view label) const { return std::string(label); }
    // Appends the last sequence with its labels. names: output forms, by label.
    virtual void write(std::span<const std::string> names, std::span<const std::int32_t> labels, std::string& out) = 0;
};

// format: documents, jsonl or conllu. field: the location of the labels, a key of the JSON objects, or upos, xpos,
// feats or upos+feats. The piece, whose first line is number `line`, must outlive the reader. Null if it is not plain
// text.
std::unique_ptr<RecordReader> record_reader(std::string_view format, std::string_view field, std::string_view piece,
                                            std::int64_t line);

// The reader of each format.
std::unique_ptr<RecordReader> document_reader(std::string_view piece);
std::unique_ptr<RecordReader> json_reader(std::string_view piece, std::string_view key);
std::unique_ptr<RecordReader> conllu_reader(std::string_view piece, std::string_view field);

}  // namespace sparsecrf
