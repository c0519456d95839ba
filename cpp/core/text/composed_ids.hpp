// The ids of attributes that are put together from several cells, for a table that does not grow.
//
// What a hash needs of a value of a cell, or of a function of it, is kept by word, so that the hash of an attribute is a
// few products. A bit for each hash tells of nearly all attributes that the table lacks. To look up one of the others
// takes a comparison of texts, but most come again: values have numbers, and the id of a line with these numbers is kept.
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

    // The lines that it knows, J, ascending.
    const std::vector<std::uint32_t>& lines() const { return known_; }
    // All words have new numbers.
    void forget();
    // Begins a sequence, whose rows and values must outlive it. False: there are too many words for this class.
    bool read(const Rows& rows, const WordValues& values);
    // Calls use(line, id) for the lines whose attribute at position t the table has.
    template <class Use>
    void each(std::int64_t t, Use use) {
        for (std::size_t k = ends_[static_cast<std::size_t>(t)]; k < ends_[static_cast<std::size_t>(t) + 1]; ++k) {
            const Line& line = made_[likely_[k].line];
            if (const std::uint32_t id = id_of(line, likely_[k].hash, t); id != kAbsent) use(line.number, id);
        }
    }

   private:
    static constexpr int kBits = 21;              // of the number of a value
    static constexpr std::size_t kMostParts = 5;  // of a line; the number of the line takes the place of the sixth
    static constexpr int kSlotBits = 13;
    static constexpr std::uint32_t kAbsent = 0xffffffff;

    // A value.
    struct Part {
        TextHash hash;
        std::uint32_t number;
    };
    // The values of a macro.
    struct Source {
        Template::Item item;
        std::size_t column;         // in the template's columns
        bool by_word;               // macro f: whether the word alone decides
        StringTable texts;          // macro f: that have been seen
        std::vector<Part> of_word;  // by_word: [words]
    };
    struct Step {
        std::ptrdiff_t part;  // of the position's own parts: row * S + source
        TextHash literal;     // after it
    };
    struct Line {
        std::uint32_t number;      // in the template
        std::uint32_t begin, end;  // in steps_
        std::uint64_t first;       // hash of the text before the first step
    };
    // An attribute that the table probably has.
    struct Likely {
        std::uint64_t hash;
        std::uint32_t line;  // in made_
    };
    // The id of the attribute of a line and of the numbers in the key.
    struct LookedUp {
        std::uint64_t key[2] = {~std::uint64_t{0}, 0};
        std::uint32_t id = kAbsent;
    };
    void read_parts(std::size_t source);
    Part part(Source& source, std::int64_t row);
    const Part* at(std::int64_t t) const {
        return parts_.data() + (t + before_) * static_cast<std::ptrdiff_t>(sources_.size());
    }
    void hash_lines();
    static std::uint64_t mixed(std::uint64_t hash) { return hash * 0x9e3779b97f4a7c15ull; }
    std::uint64_t bit(std::uint64_t hash) const { return mixed(hash) >> shift_; }
    LookedUp& slot(std::uint64_t hash) { return looked_up_[mixed(hash) >> (64 - kSlotBits)]; }
    std::uint32_t id_of(const Line& line, std::uint64_t hash, std::int64_t t);

    std::shared_ptr<const Template> lines_;
    std::shared_ptr<const StringTable> table_;
    std::vector<std::uint32_t> known_;       // [J] lines
    std::vector<Line> made_;                 // [J] by their numbers of steps, so that loops are predicted
    std::vector<Step> steps_;                // of all lines
    std::vector<Source> sources_;            // S
    std::ptrdiff_t before_ = 0, after_ = 0;  // how far lines reach
    const Rows* rows_ = nullptr;             // of the sequence
    const WordValues* values_ = nullptr;     // of it
    std::vector<Part> parts_;                // [before_ + T + after_, S]
    std::vector<Likely> likely_;             // of all positions
    std::vector<std::size_t> ends_;          // [1 + T] position t has those from ends_[t] to ends_[t + 1]
    int shift_ = 64;
    std::vector<std::uint64_t> bits_;  // 2^(64 - shift_), one where a string of the table has this hash
    std::vector<LookedUp> looked_up_;  // 2^kSlotBits, by hash
};

}  // namespace sparsecrf
