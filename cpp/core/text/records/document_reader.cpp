// Reads columns grouped into documents, and inserts after each word the columns of its other mentions in the document.
// A sequence that begins with -DOCSTART- starts a document.
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/mentions.hpp"
#include "core/text/records/record_reader.hpp"

namespace sparsecrf {
namespace {

class DocumentReader final : public RecordReader {
   public:
    explicit DocumentReader(std::string_view piece) : reader_("") {
        reader_.open(piece);
        for (const std::string_view text : Mentions::kTexts) constants_.push_back({text, TextHash(text)});
    }

    Found next(Rows& rows) override {
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

    void write(std::span<const std::string> names, std::span<const std::int32_t> labels, std::string& out) override {
        const std::vector<std::string_view>& lines = document_[at_ - 1].lines;
        for (std::size_t t = 0; t < lines.size(); ++t) {
            out += lines[t];
            out += lines[t].find('\t') == std::string_view::npos ? ' ' : '\t';
            out += names[static_cast<std::size_t>(labels[t])];
            out += '\n';
        }
        out += '\n';
    }

   private:
    static constexpr std::size_t kMost = 500;  // maximum per document; further sequences belong to none
    // Reads the next document, or one sequence outside documents; returns false at the end.
    bool read_document() {
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

}  // namespace

std::unique_ptr<RecordReader> document_reader(std::string_view piece) {
    return std::make_unique<DocumentReader>(piece);
}

}  // namespace sparsecrf
