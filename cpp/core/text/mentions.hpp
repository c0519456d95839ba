// Other mentions of a word in its document. Mentions of a word are equal to it in lower case.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/corpus/string_table.hpp"

namespace sparsecrf {

class Mentions {
   public:
    // How a word is written: in lower case; with a capital letter and then in lower case, and not as the first of its
    // sequence; in upper case, more than one letter; or otherwise.
    enum Way : std::uint8_t { kLower, kCapital, kUpper, kOther };
    struct Place {
        std::size_t sequence, position;
        bool operator==(const Place&) const = default;
    };
    // Columns that describe the other mentions of a word: how they are written, and of the first two, in the order of the
    // document, the word before, the word itself and the word after.
    static constexpr std::size_t kColumns = 7;
    // Cells that are no words of the document. kNone: there is no such mention; kBefore, kAfter: beyond the ends of a
    // sequence; then how mentions are written, by the set of their ways.
    static constexpr std::size_t kNone = 0, kBefore = 1, kAfter = 2, kWritten = 3;
    static constexpr std::array<std::string_view, 11> kTexts = {"_none", "_B-1", "_B+1", "n",  "x",  "C",
                                                                "xC",    "U",    "xU",   "CU", "xCU"};
    struct Cell {
        std::size_t text = kNone;  // in kTexts; kTexts.size(): the word at `place`
        Place place = {};
    };

    // The next sequence of the document.
    void add(std::span<const std::string_view> words);
    // The columns of a word, by its other mentions among all sequences that were added.
    std::array<Cell, kColumns> of(const Place& place) const;
    // Forgets all sequences.
    void clear();

   private:
    struct Word {
        std::array<Place, 3> first;              // the first three places
        std::size_t n = 0;                       // of them
        std::array<std::uint32_t, 4> written{};  // mentions by Way
    };
    struct Token {
        std::uint32_t word;
        Way way;
    };
    std::size_t length(std::size_t sequence) const {
        return (sequence + 1 < begin_.size() ? begin_[sequence + 1] : tokens_.size()) - begin_[sequence];
    }

    StringTable words_;               // in lower case
    std::vector<Word> all_;           // [words]
    std::vector<Token> tokens_;       // of all sequences
    std::vector<std::size_t> begin_;  // [sequences]
    std::string lower_;               // scratch
};

}  // namespace sparsecrf
