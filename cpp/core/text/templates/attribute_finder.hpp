// Finds the ids of the attributes that a template generates.
//
// Most template lines read a single cell, and most words recur, so the ids of these lines are cached by word. An
// attribute of several cells is looked up by a hash combined from the hashes of its parts; the text is compared, part
// by part, only if the table contains that hash.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/corpus/string_table.hpp"
#include "core/text/columns.hpp"
#include "core/text/templates/composed_lines.hpp"
#include "core/text/templates/template.hpp"

namespace sparsecrf {

// Not thread-safe.
class AttributeFinder {
   public:
    static constexpr std::uint32_t kAbsent = 0xffffffff;  // an attribute that has no id and gets none
    static constexpr std::uint32_t kNoted = 0xfffffffe;   // an attribute that has no id yet

    // Attributes missing from the table, ordered by position and line.
    struct Notes {
        struct Note {
            std::size_t at;  // its index among the ids
            TextHash hash;
            std::size_t end;  // end of its text
        };
        std::vector<Note> all;
        std::string text;
    };
    // How to handle attributes that are not in the table.
    struct Absent {
        StringTable* add_to = nullptr;  // the table, if they are to be added to it
        Notes* notes = nullptr;         // or where to record them; if both are null, they are left out

        bool left_out() const { return add_to == nullptr && notes == nullptr; }
    };

    explicit AttributeFinder(std::shared_ptr<const Template> lines);
    const Template* lines() const { return lines_.get(); }

    // Appends the ids of all attributes of a sequence: [T, lines], with the lines reordered as in `kinds`. start:
    // whether lines that only condition label pairs apply at the first position; otherwise they are absent there.
    void find(const Rows& rows, const StringTable& table, const Absent& absent, bool start,
              std::vector<std::uint32_t>& ids);
    // The kinds of the lines, [lines], in the order of the ids.
    const std::vector<Template::Kind>& kinds() const { return kinds_; }

   private:
    static constexpr std::uint32_t kNotAsked = 0xfffffffd;
    static constexpr std::int64_t kNear = Template::kNear;
    static constexpr std::size_t kMostIds = 1 << 22;  // per column, cached across sequences

    // Lines that read the same cell, consecutive in the order of the ids.
    struct Group {
        Template::Cell cell;
        std::size_t begin, n;  // range of lines
        std::size_t place;     // index of the first line among the cached lines of its column
    };
    struct Column {
        std::size_t n_lines = 0;         // lines that read a single cell, which is in this column
        std::vector<std::uint32_t> ids;  // [2 kNear + words, n_lines], boundary cells first
    };
    // An attribute to look up.
    struct Lookup {
        std::size_t at;  // t * lines + index in the order of the ids
        std::uint32_t t;
        std::uint32_t line;  // line of the template
        std::uint64_t hash;
        std::uint32_t* kept;  // where its id is cached, or null
    };
    // Where the ids of a group at position t are cached, or null.
    std::uint32_t* kept(const Group& group, std::int64_t t, std::int64_t length);
    void forget();
    void ask(std::size_t k, std::int64_t t, const Rows& rows, std::uint32_t* kept);
    // Writes the cached ids to here[lines] and queues lookups for the other ids.
    void find_at(std::int64_t t, const Rows& rows, bool pairs, std::uint32_t* here);
    std::uint32_t look_up(const Lookup& asked, const Rows& rows, const StringTable& table, const Absent& absent,
                          std::size_t first);

    std::shared_ptr<const Template> lines_;
    WordValues values_;
    ComposedLines composed_;
    std::vector<Column> columns_;  // [C] the template's columns
    std::vector<Group> groups_;
    std::vector<std::size_t> order_;       // [lines] lines of groups, then the other lines
    std::vector<Template::Kind> kinds_;    // [lines] in this order
    std::vector<std::uint32_t> constant_;  // [lines] in this order: ids of lines without macros
    std::uint32_t n_known_ = 0;            // size of the table for which ids are cached
    std::vector<Lookup> asked_;            // lookups of the sequence
    Expansion made_;                       // scratch
};

}  // namespace sparsecrf
