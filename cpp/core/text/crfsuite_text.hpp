// CRFsuite's data files: label TAB attribute[:value] TAB ..., with a blank line between sequences. A backslash escapes
// the next character, so names can contain \: and \\. A line @weight:NUMBER sets the weight of its sequence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sparsecrf {

// One sequence.
struct Items {
    struct Attribute {
        std::string name;
        double value;
    };
    std::vector<std::string> labels;   // [T]
    std::vector<std::int64_t> ptr{0};  // [T + 1] range of attributes per item
    std::vector<Attribute> attributes;
    std::int64_t first_line = 0;
    double weight = 1.0;  // given by a line @weight:NUMBER

    std::int64_t length() const { return static_cast<std::int64_t>(labels.size()); }
    void clear() {
        labels.clear();
        ptr.assign(1, 0);
        attributes.clear();
        weight = 1.0;
    }
};

// Reads one file in pieces, which may be split between any two sequences.
class CrfsuiteReader {
   public:
    explicit CrfsuiteReader(std::string source, std::int64_t first_line = 1)
        : source_(std::move(source)), line_(first_line) {}

    // Sets the piece to read from, which must stay valid while it is read. Throws unless it is UTF-8 text.
    void open(std::string_view piece);
    // Reads the next sequence of the piece; returns false at the end.
    bool next(Items& items);

   private:
    void add_item(Items& items, std::string_view line) const;
    void add_attribute(Items& items, std::string_view field, std::size_t column) const;
    double number(std::string_view text, std::size_t column) const;

    std::string source_;
    std::int64_t line_;
    std::string_view rest_;
};

}  // namespace sparsecrf
