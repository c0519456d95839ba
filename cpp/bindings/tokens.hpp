// Python tokens to the text of their attributes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sparsecrf::bindings {

namespace nb = nanobind;

// Where in the input an error is.
struct Place {
    static constexpr std::int64_t kWholeSequence = -1;
    std::int64_t sequence = 0, position = kWholeSequence;

    std::string text() const;
    // Throws "PLACE: expected ..., found ...".
    [[noreturn]] void fail(const std::string& expected, nb::handle found) const;
    double number(nb::handle x, const char* expected) const;
    // UTF-8 of a Python text, which owns it.
    std::string_view utf8(nb::handle x) const;
    nb::iterator iterate(nb::handle x, const char* expected) const;
};

// Attributes as text, copied from Python objects: what follows needs neither them nor the interpreter.
struct Gathered {
    struct Entry {
        std::size_t begin, end;  // in `text`
        double value;
    };
    std::string text;
    std::vector<Entry> entries;
    std::vector<std::size_t> ends;  // [positions] the end of each one's entries

    void clear() { resize(0); }
    // Keeps the first positions only.
    void resize(std::size_t n_positions) {
        ends.resize(n_positions);
        entries.resize(n_positions == 0 ? 0 : ends.back());
        text.resize(entries.empty() ? 0 : entries.back().end);
    }
    std::size_t begin(std::size_t position) const { return position == 0 ? 0 : ends[position - 1]; }
    std::string_view name(std::size_t k) const {
        return std::string_view(text).substr(entries[k].begin, entries[k].end - entries[k].begin);
    }
};

// Appends the cells of a row of columns, a position of its own; throws unless they are `n_columns` texts (0: any number).
void gather_row(nb::handle row, std::size_t n_columns, const Place& place, Gathered& out);

// Appends the attributes of a token. str: one attribute. Mapping: name -> number, text ("name:text"), list of text, or
// mapping. Iterable: attributes, or pairs (attribute, value).
void gather(nb::handle token, const Place& place, Gathered& out);

}  // namespace sparsecrf::bindings
