// Resources of a template: lexicons of names, word clusters, word classes. Macros %d look up cells in them.
//
// A lexicon contains entries of one or more words, each with or without a class. Every class is matched separately,
// from left to right: at each row the longest entry that begins there matches, and matching continues after its end. A
// match marks its rows S (single), or B, I, E (first, inside, last). A table assigns each word one class. In a table of
// clusters, a class is a path such as 01101, whose prefixes are larger clusters. The reference implementation is
// tests/reference/resources.py.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/corpus/string_table.hpp"
#include "core/text/columns.hpp"

namespace sparsecrf {

// The classes of a lexicon that match at the rows of a sequence.
struct LexiconMarks {
    struct Mark {
        std::uint32_t c;  // class
        char letter;      // 'S', 'B', 'I' or 'E'
    };
    std::vector<std::vector<Mark>> rows;  // [T] sorted by class
};

class Resource {
   public:
    enum class Kind { lexicon, clusters, classes };
    static constexpr const char* kKinds[] = {"lexicon", "clusters", "classes"};  // [kind]
    // The kind with this name. Throws InputError if it does not exist; `where` begins the message.
    static Kind kind_named(std::string_view name, std::string_view where);

    // Parses the content of a file. Throws at the first error, with its line; `source` names the file in errors.
    //   lexicon   ENTRY, or ENTRY tab CLASS; the words of an entry are separated by spaces
    //   clusters  PATH WORD COUNT, as Brown clustering programs write it, or WORD CLASS
    //   classes   WORD CLASS
    // Table columns are separated by a tab, or by spaces if the first line has no tab.
    Resource(std::string name, Kind kind, std::string content, const std::string& source);

    const std::string& name() const { return name_; }
    Kind kind() const { return kind_; }
    const std::string& content() const { return content_; }
    std::int64_t size() const { return n_entries_; }
    // Class names; a lexicon without classes has one unnamed class.
    const StringTable& classes() const { return classes_; }

    // Builds the index for lookups, case-folded or not, which the first lookup would otherwise build. Lookups then
    // never wait for another thread, which might not exist in a forked child.
    void prepare(bool fold) const { index(fold); }

    // The class of a word in a table; fold: the class of the first word that is equal in lower case. nullopt if no word
    // matches.
    std::optional<std::uint32_t> class_of(std::string_view word, const TextHash& hash, bool fold) const;
    // The marks of a lexicon for the words of a column.
    void match(const Rows& rows, std::int64_t column, bool fold, LexiconMarks& out) const;
    // Appends the marks of a row: "S", "B-LOC|S-PER" (classes in file order), or "O". only: use only this class,
    // without its name; -1 means all classes.
    void append_marks(const LexiconMarks& marks, std::int64_t t, std::int64_t only, std::string& out) const;

   private:
    struct Entry {
        std::string_view words;  // view into content_
        std::uint32_t c;         // class
    };
    // Entries by their words, unchanged or in lower case.
    struct Index {
        StringTable words;
        std::vector<std::uint32_t> class_of;                    // table: [words]
        std::unordered_map<std::uint64_t, std::uint32_t> next;  // lexicon: (node << 32 | word) to the next node
        std::vector<std::vector<std::uint32_t>> classes{{}};  // lexicon: [nodes] classes of the entries that end there
    };
    void read(const std::string& source);
    void add_line(std::string_view line, const std::string& where, std::vector<std::string_view>& cells);
    const Index& index(bool fold) const;
    void add(const Entry& entry, bool fold, Index& made) const;

    std::string name_;
    Kind kind_;
    std::string content_;
    std::int64_t n_columns_ = 0;  // number of columns on every line
    bool tabs_ = false;           // whether columns are separated by tabs
    std::vector<Entry> entries_;  // [n_entries]
    std::int64_t n_entries_ = 0;
    StringTable classes_;
    mutable std::array<std::once_flag, 2> once_;  // an index is built for the first template that needs it
    mutable std::array<Index, 2> indexes_;
};

}  // namespace sparsecrf
