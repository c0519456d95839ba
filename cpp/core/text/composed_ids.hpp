// The ids of attributes that are put together from several cells, for a table that does not grow.
//
// What a hash needs of a value of a cell, or of a function of it, is kept by word, so that the hash of an attribute is a
// few products. A bit for each hash tells of nearly all attributes that the table lacks. That it has one takes a
// comparison of texts, but most come again: values have numbers, and that a text is the one of these numbers is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/corpus/string_table.hpp"
#include "core/text/composed_lines.hpp"
#include "core/text/template.hpp"

namespace sparsecrf {

// Not to be shared between threads.
class ComposedIds {
   public:
    ComposedIds(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> table);

    // The lines that it knows, J.
    const std::vector<std::uint32_t>& lines() const { return known_; }
    // All words have new numbers.
    void forget();
    // Begins a sequence, whose rows and values must outlive it. False: there are too many words for this class.
    bool read(const Rows& rows, const WordValues& values);
    // Calls use(line, id) for the lines whose attribute at position t the table has.
    template <class Use>
    void each(std::int64_t t, Use use) {
        for (std::size_t k = ends_[static_cast<std::size_t>(t)]; k < ends_[static_cast<std::size_t>(t) + 1]; ++k) {
            const Likely& likely = likely_[k];
            const auto found =
                table_->find_if(likely.hash, [&](std::string_view text) { return is(likely.line, t, text); });
            if (found) use(likely.line, *found);
        }
    }

   private:
    static constexpr std::int64_t kNear = Template::kNear;
    static constexpr int kBits = 21;              // of the number of a value
    static constexpr std::size_t kMostParts = 5;  // of a line; the number of the line takes the place of the sixth
    static constexpr int kSlotBits = 12;

    // A value.
    struct Part {
        TextHash hash;
        std::uint32_t number;
    };
    // The values of a macro.
    struct Source {
        Template::Item item;
        std::size_t column;         // in the template's columns
        StringTable texts;          // macro f: that have been seen
        std::vector<Part> of_word;  // macro f: [words]
    };
    // An attribute that the table probably has.
    struct Likely {
        std::uint64_t hash;
        std::uint32_t line;
    };
    // A text of the table that was compared with the attribute of a line and of the numbers in the key.
    struct Compared {
        std::uint64_t key[2];
        const char* text = nullptr;
    };
    Part part(Source& source, std::int64_t row);
    const Part* at(std::int64_t t) const {
        return parts_.data() + (t + kNear) * static_cast<std::ptrdiff_t>(sources_.size());
    }
    void hash_lines();
    std::uint64_t bit(std::uint64_t hash) const { return (hash * 0x9e3779b97f4a7c15ull) >> shift_; }
    bool is(std::uint32_t line, std::int64_t t, std::string_view text);

    std::shared_ptr<const Template> lines_;
    std::shared_ptr<const StringTable> table_;
    ComposedLines composed_;
    std::vector<std::uint32_t> known_;    // [J] lines
    std::vector<Source> sources_;         // S
    const Rows* rows_ = nullptr;          // of the sequence
    const WordValues* values_ = nullptr;  // of it
    std::vector<Part> parts_;             // [kNear + T + kNear, S]
    std::vector<Likely> likely_;          // of all positions
    std::vector<std::size_t> ends_;       // [1 + T] position t has those from ends_[t] to ends_[t + 1]
    int shift_ = 64;
    std::vector<std::uint64_t> bits_;  // 2^(64 - shift_), one where a string of the table has this hash
    std::vector<Compared> compared_;   // 2^kSlotBits, by the place of the text
};

}  // namespace sparsecrf
