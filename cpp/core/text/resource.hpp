// Resources of a template: lexicons of names, clusters of words, classes of words. Macros %d look cells up in them.
//
// A lexicon has entries of one word or several, each with a class or none. Every class is matched by itself: from left
// to right, at each row the longest entry that begins there, and on behind its end. A match marks its rows S (alone),
// or B, I, E (first, inside, last). A table gives a word one class; of clusters it is a path such as 01101, whose
// beginnings are larger clusters. The plain twin is tests/reference/resources.py.
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

// Which classes of a lexicon match at the rows of a sequence.
struct LexiconMarks {
    struct Mark {
        std::uint32_t c;  // the class
        char letter;      // 'S', 'B', 'I' or 'E'
    };
    std::vector<std::vector<Mark>> rows;  // [T] sorted by class
};

class Resource {
   public:
    enum class Kind { lexicon, clusters, classes };
    static constexpr const char* kKinds[] = {"lexicon", "clusters", "classes"};  // [kind]
    // The kind with this name. Throws InputError if there is none; `where` begins the message.
    static Kind kind_named(std::string_view name, std::string_view where);

    // Reads the text of a file. Throws at the first mistake, with its line; `source` names the file in errors.
    //   lexicon   ENTRY, or ENTRY tab CLASS; the words of an entry are separated by blanks
    //   clusters  PATH WORD COUNT, as Brown clustering programs write it, or WORD CLASS
    //   classes   WORD CLASS
    // Columns of tables are separated by a tab, or by blanks where the first line has no tab.
    Resource(std::string name, Kind kind, std::string content, const std::string& source);

    const std::string& name() const { return name_; }
    Kind kind() const { return kind_; }
    const std::string& content() const { return content_; }
    std::int64_t size() const { return n_entries_; }
    // Their names; of a lexicon without classes one without a name.
    const StringTable& classes() const { return classes_; }

    // Makes the index that look-ups need, in lower case or not, as the first of them would. After that they never wait for
    // a thread, which the child of a fork may lack.
    void prepare(bool fold) const { index(fold); }

    // The class of a word by a table; `fold`: the first whose words are equal in lower case. None: nullopt.
    std::optional<std::uint32_t> class_of(std::string_view word, const TextHash& hash, bool fold) const;
    // The marks of a lexicon on the words of a column.
    void match(const Rows& rows, std::int64_t column, bool fold, LexiconMarks& out) const;
    // Appends what a row is called by the marks: "S", "B-LOC|S-PER" (classes by their order in the file), or "O".
    // `only`: of this class alone, without its name; -1: all.
    void append_marks(const LexiconMarks& marks, std::int64_t t, std::int64_t only, std::string& out) const;

   private:
    struct Entry {
        std::string_view words;  // in content_
        std::uint32_t c;         // its class
    };
    // Entries by their words, unchanged or in lower case.
    struct Index {
        StringTable words;
        std::vector<std::uint32_t> class_of;                    // table: [words]
        std::unordered_map<std::uint64_t, std::uint32_t> next;  // lexicon: (node << 32 | word) to the node after it
        std::vector<std::vector<std::uint32_t>> classes{{}};    // lexicon: [nodes] classes of entries that end there
    };
    void read(const std::string& source);
    void add_line(std::string_view line, const std::string& where, std::vector<std::string_view>& cells);
    const Index& index(bool fold) const;
    void add(const Entry& entry, bool fold, Index& made) const;

    std::string name_;
    Kind kind_;
    std::string content_;
    std::int64_t n_columns_ = 0;  // of every line of the file
    bool tabs_ = false;           // whether tabs separate them
    std::vector<Entry> entries_;  // [n_entries]
    std::int64_t n_entries_ = 0;
    StringTable classes_;
    mutable std::array<std::once_flag, 2> once_;  // an index is made with the first template that needs it
    mutable std::array<Index, 2> indexes_;
};

}  // namespace sparsecrf
