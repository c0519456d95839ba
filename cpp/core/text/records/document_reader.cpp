#include "core/text/records/document_reader.hpp"

#include <utility>

#include "core/base/error.hpp"

namespace sparsecrf {

DocumentReader::DocumentReader(std::string_view piece) : reader_("") {
    reader_.open(piece);
    for (const std::string_view text : Mentions::kTexts) constants_.push_back({text, TextHash(text)});
}

bool DocumentReader::read_document() {
    n_ = at_ = 0;
    mentions_.clear();
    for (; has_ahead_ || reader_.next(ahead_); has_ahead_ = false) {
        has_ahead_ = true;
        if (n_ == kMost || (n_ > 0 && (is_mark(ahead_) || !is_mark(document_[0])))) break;
        if (n_ == document_.size()) document_.emplace_back();
        std::swap(document_[n_++], ahead_);
    }
    if (n_ == 0) return false;
    in_document_ = is_mark(document_[0]);
    for (std::size_t i = 0; i < n_ && in_document_; ++i) {
        words_.clear();
        for (std::int64_t t = 0; t < document_[i].length; ++t) words_.push_back(document_[i].cell(t, 0));
        mentions_.add(words_);
    }
    return true;
}

RecordReader::Found DocumentReader::next(Rows& rows) {
    try {
        if (at_ == n_ && !read_document()) return Found::end;
    } catch (const InputError&) {
        return Found::not_plain;
    }
    const std::size_t i = at_++;
    const Rows& read = document_[i];
    rows.clear();
    rows.length = read.length;
    rows.n_columns = read.n_columns + static_cast<std::int64_t>(Mentions::kColumns);
    rows.lines = read.lines;
    const auto add = [&](const HashedText& cell) { rows.cells.push_back(cell); };
    const auto add_from = [&](const Rows& from, std::size_t k) { add(from.cells[k]); };
    const auto width = static_cast<std::size_t>(read.n_columns);
    for (std::size_t t = 0; t < static_cast<std::size_t>(read.length); ++t) {
        add_from(read, t * width);
        const auto cells = in_document_ ? mentions_.of({i, t}) : std::array<Mentions::Cell, Mentions::kColumns>();
        for (const auto& [text, place] : cells) {
            if (text == constants_.size()) {
                add_from(document_[place.sequence], place.position * width);
            } else {
                add(constants_[text]);
            }
        }
        for (std::size_t k = 1; k < width; ++k) add_from(read, t * width + k);
    }
    return Found::sequence;
}

void DocumentReader::write(std::span<const std::string> names, std::span<const std::int32_t> labels, std::string& out) {
    const std::vector<std::string_view>& lines = document_[at_ - 1].lines;
    for (std::size_t t = 0; t < lines.size(); ++t) {
        out += lines[t];
        out += lines[t].find('\t') == std::string_view::npos ? ' ' : '\t';
        out += names[static_cast<std::size_t>(labels[t])];
        out += '\n';
    }
    out += '\n';
}

}  // namespace sparsecrf
