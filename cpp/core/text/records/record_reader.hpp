// Formats of labelled data other than columns and CRFsuite's, for labelling: sequences are read from the bytes of a
// file and written back with their labels. These readers handle only plain input. Everything else that a format allows,
// and all errors, are left to the Python package, which reads the same formats.
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

// format: documents, jsonl or conllu. field: where the labels are: a key of the JSON objects, or upos, xpos, feats or
// upos+feats. The piece, whose first line is number `line`, must outlive the reader. Null if it is not plain text.
std::unique_ptr<RecordReader> record_reader(std::string_view format, std::string_view field, std::string_view piece,
                                            std::int64_t line);

}  // namespace sparsecrf
