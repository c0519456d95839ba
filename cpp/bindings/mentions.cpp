// The other mentions of a word in its document, as columns.
#include "core/text/mentions.hpp"

#include <nanobind/nanobind.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "module.hpp"
#include "tokens.hpp"

namespace sparsecrf::bindings {
namespace {

constexpr std::array<const char*, 8> kWritten = {"n", "x", "C", "xC", "U", "xU", "CU", "xCU"};  // by Way, as bits

// The columns of mentions of a document: rows of texts, the word first, become rows with these columns after the word.
nb::list with_mentions(const nb::list& document, const nb::str& before, const nb::str& after, const nb::str& none) {
    std::vector<std::vector<nb::handle>> words;  // of the document, which owns them
    Mentions mentions;
    std::vector<std::string_view> texts;
    for (const nb::handle sequence : document) {
        Place place{static_cast<std::int64_t>(words.size()), 0};
        words.emplace_back();
        texts.clear();
        for (const nb::handle row : nb::cast<nb::list>(sequence)) {
            words.back().push_back(nb::cast<nb::list>(row)[0].ptr());
            texts.push_back(place.utf8(words.back().back()));
            ++place.position;
        }
        mentions.add(texts);
    }
    std::array<nb::str, kWritten.size()> written;
    for (std::size_t k = 0; k < written.size(); ++k) written[k] = nb::str(kWritten[k]);

    nb::list made;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto rows = nb::cast<nb::list>(document[i]);
        nb::list sequence;
        for (std::size_t t = 0; t < words[i].size(); ++t) {
            const Mentions::Others others = mentions.of({i, t});
            nb::list row;
            row.append(words[i][t]);
            std::size_t ways = 0;
            for (std::size_t way = 0; way < others.written.size(); ++way) ways |= others.written[way] ? 1u << way : 0u;
            row.append(others.n == 0 ? none : written[ways]);
            for (std::size_t k = 0; k < others.first.size(); ++k) {
                if (k >= others.n) {
                    for (int cell = 0; cell < 3; ++cell) row.append(none);
                    continue;
                }
                const auto& [j, s] = others.first[k];
                row.append(s == 0 ? nb::handle(before) : words[j][s - 1]);
                row.append(words[j][s]);
                row.append(s + 1 == words[j].size() ? nb::handle(after) : words[j][s + 1]);
            }
            const auto cells = nb::cast<nb::list>(rows[t]);
            for (std::size_t k = 1; k < cells.size(); ++k) row.append(cells[k]);
            sequence.append(row);
        }
        made.append(sequence);
    }
    return made;
}

}  // namespace

void bind_mentions(nb::module_& m) {
    m.def("with_mentions", &with_mentions, nb::arg("document"), nb::arg("before"), nb::arg("after"), nb::arg("none"),
          nb::sig("def with_mentions(document: list[list[list[str]]], before: str, after: str, none: str) -> "
                  "list[list[list[str]]]"),
          "Rows, the word first, with columns after it: how other mentions are written, and two of them with their "
          "neighbours. before, after: what stands beyond the ends of a sequence; none: where there is no mention.");
}

}  // namespace sparsecrf::bindings
