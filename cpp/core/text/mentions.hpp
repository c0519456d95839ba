// Other mentions of a word in its document. Two tokens mention the same word if they are equal in lower case.
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
    // How a word is written: in lower case; capitalized, but not at the start of its sequence; in upper case with more
    // than one letter; or in any other way.
    enum Way : std::uint8_t { kLower, kCapital, kUpper, kOther };
    struct Place {
        std::size_t sequence, position;
        bool operator==(const Place&) const = default;
    };
    // Columns that describe the other mentions of a word: how they are written and, for the first two in document
    // order, the previous word, the word itself and the next word.
    static constexpr std::size_t kColumns = 7;
    // Cells that are not words of the document. kNone: no such mention. kBefore, kAfter: beyond the ends of a sequence.
    // kWritten + s: how mentions are written, where s is the set of their Ways as bits.
    static constexpr std::size_t kNone = 0, kBefore = 1, kAfter = 2, kWritten = 3;
    static constexpr std::array<std::string_view, 11> kTexts = {"_none", "_B-1", "_B+1", "n",  "x",  "C",
                                                                "xC",    "U",    "xU",   "CU", "xCU"};
    struct Cell {
        std::size_t text = kNone;  // index in kTexts; kTexts.size() for the word at `place`
        Place place = {};
    };

    // Adds the next sequence of the document.
    void add(std::span<const std::string_view> words);
    // The columns of a word, based on its other mentions in all added sequences.
    std::array<Cell, kColumns> of(const Place& place) const;
    // Removes all sequences.
    void clear();

   private:
    struct Word {
        std::array<Place, 3> first;              // the places of the first three mentions
        std::size_t n = 0;                       // how many of them are set
        std::array<std::uint32_t, 4> written{};  // mentions by Way
    };
    struct Token {
        std::uint32_t word;
        Way way;
    };
    std::size_t length(std::size_t sequence) const {
        return (sequence + 1 < begin_.size() ? begin_[sequence + 1] : tokens_.size()) - begin_[sequence];
    }

    StringTable words_;               // distinct words, in lower case
    std::vector<Word> all_;           // [words]
    std::vector<Token> tokens_;       // tokens of all sequences
    std::vector<std::size_t> begin_;  // [sequences] index of the first token
    std::string lower_;               // scratch
};

}  // namespace sparsecrf
