// The ids of the attributes that a template makes.
//
// Most lines of a template read one cell alone, and most words come again: the ids of such lines are kept by word. An
// attribute of several cells is looked up by a hash that is put together from those of its parts, and its text is
// compared part by part, where the table has a text of that hash.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/corpus/string_table.hpp"
#include "core/text/columns.hpp"
#include "core/text/composed_lines.hpp"
#include "core/text/template.hpp"

namespace sparsecrf {

// Not to be shared between threads.
class AttributeFinder {
   public:
    static constexpr std::uint32_t kAbsent = 0xffffffff;  // an attribute without an id that gets none
    static constexpr std::uint32_t kNoted = 0xfffffffe;   // an attribute without an id so far

    // Attributes that the table does not have, in the order of positions and lines.
    struct Notes {
        struct Note {
            std::size_t at;  // its place among the ids
            TextHash hash;
            std::size_t end;  // of its text
        };
        std::vector<Note> all;
        std::string text;
    };
    // What to do with attributes that are not in the table.
    struct Absent {
        StringTable* add_to = nullptr;  // they get an id there: the table itself
        Notes* notes = nullptr;         // or are noted; if both are null they are left out

        bool left_out() const { return add_to == nullptr && notes == nullptr; }
    };

    explicit AttributeFinder(std::shared_ptr<const Template> lines);
    const Template* lines() const { return lines_.get(); }

    // Appends the ids of all attributes of a sequence: [T, lines], the lines in an order of its own. start: whether
    // lines that condition label pairs alone count at the first position; if not they are absent there.
    void find(const Rows& rows, const StringTable& table, const Absent& absent, bool start,
              std::vector<std::uint32_t>& ids);
    // [lines], in that order.
    const std::vector<Template::Kind>& kinds() const { return kinds_; }

   private:
    static constexpr std::uint32_t kNotAsked = 0xfffffffd;
    static constexpr std::int64_t kNear = Template::kNear;
    static constexpr std::size_t kMostIds = 1 << 22;  // of a column, kept from one sequence to the next

    // Lines that read the same cell, one after the other in the order of ids.
    struct Group {
        Template::Cell cell;
        std::size_t begin, n;  // of the lines
        std::size_t place;     // of the first among the lines of its column
    };
    struct Column {
        std::size_t n_lines = 0;         // that read one cell, which stands here
        std::vector<std::uint32_t> ids;  // [2 kNear + words, n_lines], boundary cells first
    };
    // An attribute that must be looked up.
    struct Lookup {
        std::size_t at;  // t * lines + its place in the order of ids
        std::uint32_t t;
        std::uint32_t line;  // of the template
        std::uint64_t hash;
        std::uint32_t* kept;  // where its id is cached, or null
    };
    // Where the ids of a group at position t are kept, or null.
    std::uint32_t* kept(const Group& group, std::int64_t t, std::int64_t length);
    void forget();
    void ask(std::size_t k, std::int64_t t, const Rows& rows, std::uint32_t* kept);
    // Writes the ids that are kept to here[lines], and asks for the others.
    void find_at(std::int64_t t, const Rows& rows, bool pairs, std::uint32_t* here);
    std::uint32_t look_up(const Lookup& asked, const Rows& rows, const StringTable& table, const Absent& absent,
                          std::size_t first);

    std::shared_ptr<const Template> lines_;
    WordValues values_;
    ComposedLines composed_;
    std::vector<Column> columns_;  // [C] as those of the template
    std::vector<Group> groups_;
    std::vector<std::size_t> order_;       // [lines] those of groups, then the others
    std::vector<Template::Kind> kinds_;    // [lines] in this order
    std::vector<std::uint32_t> constant_;  // [lines] in this order: the id of one without macros
    std::uint32_t n_known_ = 0;            // size of the table for which ids are cached
    std::vector<Lookup> asked_;            // of the sequence
    Expansion made_;                       // scratch
};

}  // namespace sparsecrf
