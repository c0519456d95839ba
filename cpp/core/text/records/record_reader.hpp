// Formats of labelled data beside columns and CRFsuite's, for labelling: sequences are read from the bytes of a file and
// written back with their labels. Only plain input is read here. Whatever else a format allows, and every error, is left
// to the package, which reads the same formats in Python.
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
    // The next sequence, which may have no rows.
    virtual Found next(Rows& rows) = 0;
    // How a label is written.
    virtual std::string written(std::string_view label) const { return std::string(label); }
    // Appends the last sequence with labels; names: as written, by label.
    virtual void write(std::span<const std::string> names, std::span<const std::int32_t> labels, std::string& out) = 0;
};

// format: documents, jsonl or conllu; `field` is the one of the labels: a key of JSON objects, or upos, xpos, feats,
// upos+feats. The piece, whose first line has the number `line`, must outlive the reader. Null if it is not plain text.
std::unique_ptr<RecordReader> record_reader(std::string_view format, std::string_view field, std::string_view piece,
                                            std::int64_t line);

}  // namespace sparsecrf
