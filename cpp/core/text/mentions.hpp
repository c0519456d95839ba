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
    struct Others {
        std::array<bool, 3> written{};  // by Way, whether one is written so
        std::size_t n = 0;              // of `first`
        std::array<Place, 2> first;     // the first two, in the order of the document
    };

    // The next sequence of the document.
    void add(std::span<const std::string_view> words);
    // The other mentions of a word, among all sequences that were added.
    Others of(const Place& place) const;

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
    StringTable words_;               // in lower case
    std::vector<Word> all_;           // [words]
    std::vector<Token> tokens_;       // of all sequences
    std::vector<std::size_t> begin_;  // [sequences]
    std::string lower_;               // scratch
};

}  // namespace sparsecrf
