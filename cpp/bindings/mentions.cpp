// The other mentions of a word in its document, as columns.
#include "core/text/mentions.hpp"

#include <nanobind/nanobind.h>

#include <array>
#include <string_view>
#include <vector>

#include "module.hpp"
#include "tokens.hpp"

namespace sparsecrf::bindings {
namespace {

// Adds the mention columns to the rows of a document, after the word, which is the first column.
nb::list with_mentions(const nb::list& document) {
    std::vector<std::vector<nb::handle>> words;  // borrowed from the document
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
    std::array<nb::str, Mentions::kTexts.size()> constants;
    for (std::size_t k = 0; k < constants.size(); ++k) constants[k] = nb::str(Mentions::kTexts[k].data());

    nb::list made;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto rows = nb::cast<nb::list>(document[i]);
        nb::list sequence;
        for (std::size_t t = 0; t < words[i].size(); ++t) {
            nb::list row;
            row.append(words[i][t]);
            for (const Mentions::Cell& cell : mentions.of({i, t})) {
                const bool is_word = cell.text == constants.size();
                row.append(is_word ? words[cell.place.sequence][cell.place.position]
                                   : nb::handle(constants[cell.text]));
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
    m.def("with_mentions", &with_mentions, "document"_a,
          nb::sig("def with_mentions(document: list[list[list[str]]]) -> list[list[list[str]]]"),
          "Insert columns after the word, which is the first column: how its other mentions are written, "
          "and two of them with their neighbours.");
}

}  // namespace sparsecrf::bindings
