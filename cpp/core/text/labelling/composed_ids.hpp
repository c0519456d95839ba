// Ids of attributes composed of several cells, for a table that does not grow.
//
// The hashes of cell values and function values are cached by word, so that hashing an attribute takes a few
// multiplications. A filter rejects nearly all attributes that are not in the table. Looking up the remaining ones
// requires comparing texts, but most of them recur: values are numbered, and the id of a line with given value numbers
// is cached. Lines that read a subset of the values of a longer line form a group with it. The ids of a group are
// cached together by all its values, as long as these values recur.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/aligned.hpp"
#include "core/corpus/string_table.hpp"
#include "core/text/labelling/attribute_filter.hpp"
#include "core/text/templates/composed_lines.hpp"
#include "core/text/templates/template.hpp"

namespace sparsecrf {

// Not thread-safe.
class ComposedIds {
   public:
    // The filter must belong to the table and outlive this object.
    ComposedIds(std::shared_ptr<const Template> lines, std::shared_ptr<const StringTable> table,
                const AttributeFilter& filter);

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
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const GroupIds& found = ids_of(groups_[g], keys_[static_cast<std::size_t>(t) * groups_.size() + g], t);
            for (std::uint32_t k = 0; k < found.n; ++k) use(groups_[g].number, found.ids[k]);
        }
    }

   private:
    static constexpr int kBits = 21;              // number of bits of a value number
    static constexpr std::size_t kMostParts = 5;  // per line; the line number is stored in place of a sixth
    static constexpr int kSlotBits = 15, kGroupBits = 14;
    static constexpr std::uint32_t kMostLines = 11;    // per group
    static constexpr std::uint32_t kWindow = 1 << 13;  // lookups of a group between decisions whether to keep it
    static constexpr std::uint32_t kAbsent = 0xffffffff;

    // A value.
    struct Part {
        TextHash hash;
        std::uint32_t number;
    };
    // The values of one macro.
    struct Source {
        Template::Item item;
        std::size_t column;                            // in the template's columns
        bool by_word;                                  // whether the value depends only on the word
        std::array<Part, 2 * Template::kNear> beyond;  // boundary cells, those before the sequence first
        StringTable texts;                             // macro f: values seen so far
        std::vector<Part> of_word;                     // by_word: [words]
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
    // The value numbers of a line or group, and the number of that line or group.
    struct Key {
        std::uint64_t words[2] = {~std::uint64_t{0}, 0};
        bool operator==(const Key&) const = default;
        void add(std::uint32_t value, std::size_t k) {
            constexpr int kShifts[] = {0, kBits, 2 * kBits, 0, kBits};
            words[k >= 3] |= std::uint64_t{value} << kShifts[k];
        }
        static Key of(std::uint32_t number) { return {{0, std::uint64_t{number} << 2 * kBits}}; }
    };
    // Lines of the same kind. One of them reads all the values.
    struct Group {
        std::uint32_t number;              // template index of one of its lines
        std::vector<std::uint32_t> lines;  // in made_
        std::vector<std::ptrdiff_t> parts;
        std::uint32_t n_asked = 0, n_found = 0;  // lookups in this window
        bool filled = false;                     // whether the first window, which fills the cache, is over
        bool rare = false;                       // whether fewer than half of the lookups found something
    };
    // The ids of the attributes of a group that are in the table.
    struct GroupIds {
        Key key;
        std::uint32_t n = 0;
        std::uint32_t ids[kMostLines];
    };
    // An attribute that is probably in the table.
    struct Likely {
        std::uint64_t hash;
        std::uint32_t line;  // in made_
    };
    // A cached id, by line and value numbers.
    struct LookedUp {
        Key key;
        std::uint32_t id = kAbsent;
    };
    void group_lines();
    // Splits groups whose values rarely recur into single lines.
    void drop_groups();
    void read_parts(std::size_t source);
    Part beyond(const Template::Item& item, std::size_t k) const;
    Part inside(Source& source, std::int64_t row);
    const Part* at(std::int64_t t) const {
        return parts_.data() + (t + before_) * static_cast<std::ptrdiff_t>(sources_.size());
    }
    std::uint64_t hash(const Line& line, const Part* here) const {
        std::uint64_t h = line.first;
        for (std::uint32_t i = line.begin; i < line.end; ++i) {
            const TextHash &hash = here[steps_[i].part].hash, &literal = steps_[i].literal;
            h = (h * hash.power + hash.value) * literal.power + literal.value;
        }
        return h;
    }
    void hash_lines();
    static std::uint64_t mixed(std::uint64_t hash) { return hash * 0x9e3779b97f4a7c15ull; }
    LookedUp& slot(std::uint64_t hash) { return looked_up_[mixed(hash) >> (64 - kSlotBits)]; }
    GroupIds& slot(const Key& key) {
        return of_groups_[mixed(mixed(key.words[0]) ^ key.words[1]) >> (64 - kGroupBits)];
    }
    std::uint32_t id_of(const Line& line, std::uint64_t hash, std::int64_t t);
    const GroupIds& ids_of(Group& group, const Key& key, std::int64_t t);

    std::shared_ptr<const Template> lines_;
    std::shared_ptr<const StringTable> table_;
    const AttributeFilter& filter_;
    std::vector<std::uint32_t> known_;       // [J] lines
    std::vector<Line> made_;                 // [J] sorted by number of steps, for branch prediction
    std::vector<std::uint32_t> single_;      // lines that are in no group, in made_
    std::vector<Group> groups_;              // G
    std::vector<Step> steps_;                // steps of all lines
    std::vector<Source> sources_;            // S
    std::ptrdiff_t before_ = 0, after_ = 0;  // how far lines reach before and after a position
    const Rows* rows_ = nullptr;             // current sequence
    const WordValues* values_ = nullptr;     // values of the current sequence
    std::vector<Part> parts_;                // [before_ + T + after_, S]
    std::vector<Key> keys_;                  // [T, G]
    std::vector<Likely> likely_;             // attributes of single lines, for all positions
    std::vector<std::size_t> ends_;          // [1 + T] range of position t in likely_: [ends_[t], ends_[t + 1])
    std::vector<LookedUp> looked_up_;        // 2^kSlotBits, by hash
    AlignedVector<GroupIds> of_groups_;      // 2^kGroupBits, by key; empty without groups
};

}  // namespace sparsecrf
