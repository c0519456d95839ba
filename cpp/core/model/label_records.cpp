#include "core/model/model.hpp"
#include "core/text/records/record_reader.hpp"

namespace sparsecrf {
namespace {

// Whether rows match the model; in documents their last column may be a label. A model without a fixed number of
// columns ignores columns that its template does not need.
bool fits(const ModelParts& model, bool in_documents, const Rows& rows) {
    const std::int64_t found = rows.n_columns, expected = model.n_columns;
    if (expected == 0) return found >= model.lines->n_columns();
    return found == expected || (in_documents && found == expected + 1);
}

}  // namespace

std::optional<std::string> Model::label_records(std::string_view piece, std::string_view format, std::string_view field,
                                                std::int64_t line) const {
    const std::unique_ptr<RecordReader> reader = record_reader(format, field, piece, line);
    if (!reader) return std::nullopt;
    std::vector<std::string> names;
    for (std::uint32_t y = 0; y < parts_.labels->size(); ++y) names.push_back(reader->written((*parts_.labels)[y]));
    std::unique_ptr<RowLabeller> labeller = row_labellers_.take([&] { return row_labeller(); });
    if (!labeller) return std::nullopt;
    Rows rows;
    std::vector<std::int32_t> path;
    std::string out;
    out.reserve(piece.size() + piece.size() / 2);
    using Found = RecordReader::Found;
    Found found = reader->next(rows);
    for (; found == Found::sequence; found = reader->next(rows)) {
        path.clear();
        if (rows.length > 0) {
            if (!fits(parts_, format == "documents", rows)) break;
            labeller->label(rows, path);
        }
        reader->write(names, path, out);
    }
    if (piece.size() <= kLargePiece) row_labellers_.give_back(std::move(labeller));
    if (found != Found::end) return std::nullopt;
    return out;
}

}  // namespace sparsecrf
