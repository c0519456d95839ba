// Ids of attributes composed of several cells, for a table that does not grow.
//
// The hashes of cell values and function values are cached by word, so that hashing an attribute takes a few
// multiplications. A filter with one bit per hash rejects nearly all attributes that are not in the table. Looking up
// the others requires comparing texts, but most of them recur: values are numbered, and the id of a line with given
// value numbers is cached.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/corpus/string_table.hpp"
#include "core/text/composed_lines.hpp"
#include "core/text/template.hpp"

namespace sparsecrf {

// Not thread-safe.
class ComposedIds {
   public:
    ComposedIds(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> table);

    // [J] The lines handled by this class, in ascending order.
    const std::vector<std::uint32_t>& lines() const { return known_; }
    // Call this when all words are renumbered.
    void forget();
    // Starts a sequence; `rows` and `values` must outlive it. Returns false if there are too many words for this class.
    bool read(const Rows& rows, const WordValues& values);
    // Calls use(line, id) for the lines whose attribute at position t is in the table.
    template <class Use>
    void each(std::int64_t t, Use use) {
        for (std::size_t k = ends_[static_cast<std::size_t>(t)]; k < ends_[static_cast<std::size_t>(t) + 1]; ++k) {
            const Line& line = made_[likely_[k].line];
            if (const std::uint32_t id = id_of(line, likely_[k].hash, t); id != kAbsent) use(line.number, id);
        }
    }

   private:
    static constexpr int kBits = 21;              // bits of a value number
    static constexpr std::size_t kMostParts = 5;  // per line; the line number takes the place of a sixth
    static constexpr int kSlotBits = 15;
    static constexpr std::uint32_t kAbsent = 0xffffffff;

    // A value.
    struct Part {
        TextHash hash;
        std::uint32_t number;
    };
    // The values of one macro.
    struct Source {
        Template::Item item;
        std::size_t column;         // in the template's columns
        bool by_word;               // whether the value depends only on the word
        StringTable texts;          // macro f: values seen so far
        std::vector<Part> of_word;  // by_word: [words]
    };
    struct Step {
        std::ptrdiff_t part;  // index relative to the parts of position t: row * S + source
        TextHash literal;     // text after the part
    };
    struct Line {
        std::uint32_t number;      // index in the template
        std::uint32_t begin, end;  // range in steps_
        std::uint64_t first;       // hash of the text before the first step
    };
    // An attribute that is probably in the table.
    struct Likely {
        std::uint64_t hash;
        std::uint32_t line;  // in made_
    };
    // A cached id, by line and value numbers.
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
    std::vector<Line> made_;                 // [J] sorted by number of steps, for branch prediction
    std::vector<Step> steps_;                // steps of all lines
    std::vector<Source> sources_;            // S
    std::ptrdiff_t before_ = 0, after_ = 0;  // how far lines reach before and after a position
    const Rows* rows_ = nullptr;             // current sequence
    const WordValues* values_ = nullptr;     // values of the current sequence
    std::vector<Part> parts_;                // [before_ + T + after_, S]
    std::vector<Likely> likely_;             // for all positions
    std::vector<std::size_t> ends_;          // [1 + T] position t has [ends_[t], ends_[t + 1])
    int shift_ = 64;
    std::vector<std::uint64_t> bits_;  // 2^(64 - shift_) bits, set if a string of the table has this hash
    std::vector<LookedUp> looked_up_;  // 2^kSlotBits, by hash
};

}  // namespace sparsecrf
