// Reads CoNLL-U: tokens are FORMs, and labels fill one or two columns. Comments, multiword tokens and empty nodes are
// copied.
#include <algorithm>
#include <string_view>
#include <vector>

#include "core/text/records/record_reader.hpp"

namespace sparsecrf {
namespace {

// 3-4 or 3.1
bool is_no_word(std::string_view number) {
    const std::size_t at = number.find_first_of("-.");
    return at != number.npos && is_number(number.substr(0, at)) && is_number(number.substr(at + 1));
}

class ConlluReader final : public RecordReader {
   public:
    // field: upos, xpos, feats or upos+feats
    ConlluReader(std::string_view piece, std::string_view field)
        : rest_(piece),
          column_(field == "xpos"    ? kXpos
                  : field == "feats" ? kFeats
                                     : kUpos),
          both_(field == "upos+feats") {}

    Found next(Rows& rows) override {
        rows.clear();
        lines_.clear();
        while (!rest_.empty()) {
            const std::string_view line = take_line(rest_);
            if (!std::all_of(line.begin(), line.end(), is_blank)) {
                if (!add_line(line, rows)) return Found::not_plain;
            } else if (!lines_.empty()) {
                return Found::sequence;
            }
        }
        return lines_.empty() ? Found::end : Found::sequence;
    }

    // For upos+feats, a label without features is written as UPOS and "_".
    void write(std::span<const std::string> names, std::span<const std::int32_t> labels, std::string& out) override {
        std::size_t t = 0;
        for (const Line& line : lines_) {
            if (!line.is_word) {
                out += line.text;
            } else {
                const std::string_view label = names[static_cast<std::size_t>(labels[t++])];
                out += line.before;
                if (both_) {
                    const std::size_t at = std::min(label.find('|'), label.size());
                    const std::string_view feats = label.substr(std::min(at + 1, label.size()));
                    out += label.substr(0, at);
                    out += line.between;
                    out += feats.empty() ? "_" : feats;
                } else {
                    out += label;
                }
                out += line.after;
            }
            out += '\n';
        }
        out += '\n';
    }

   private:
    static constexpr std::size_t kColumns = 10, kForm = 1, kUpos = 3, kXpos = 4, kFeats = 5;

    // Returns false if the line is not plain.
    bool add_line(std::string_view line, Rows& rows) {
        if (line.starts_with('#')) {
            lines_.push_back({line, false, {}, {}, {}});
            return true;
        }
        cells_.clear();
        each_field(line, [&](std::string_view cell) { cells_.push_back(cell); });
        if (cells_.size() != kColumns) return false;
        if (is_no_word(cells_[0])) {
            lines_.push_back({line, false, {}, {}, {}});
            return true;
        }
        if (cells_[0] != std::to_string(rows.length + 1) || cells_[kForm].empty()) return false;
        rows.n_columns = 1;
        rows.add_cell(cells_[kForm]);
        ++rows.length;
        const auto from = [&](const char* p) { return std::string_view(p, line.data() + line.size()); };
        const auto until = [&](const char* p) { return std::string_view(line.data(), p); };
        const auto end_of = [&](std::size_t column) { return cells_[column].data() + cells_[column].size(); };
        const std::size_t last = both_ ? kFeats : column_;
        lines_.push_back({line, true, until(cells_[column_].data()), from(end_of(last)),
                          both_ ? std::string_view(end_of(kUpos), cells_[kFeats].data()) : std::string_view()});
        return true;
    }

    std::string_view rest_;
    std::size_t column_;  // column of the labels
    bool both_;           // whether labels are upos+feats
    // A line of the last sentence.
    struct Line {
        std::string_view text;
        bool is_word;
        std::string_view before, after;  // of a word: the columns before and after the label's columns
        std::string_view between;        // both_: the column between the two, with its tabs
    };
    std::vector<Line> lines_;
    std::vector<std::string_view> cells_;  // scratch
};

}  // namespace

std::unique_ptr<RecordReader> conllu_reader(std::string_view piece, std::string_view field) {
    return std::make_unique<ConlluReader>(piece, field);
}

}  // namespace sparsecrf
