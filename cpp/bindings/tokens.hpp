// Python tokens to the text of their attributes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/token_encoder.hpp"

namespace sparsecrf::bindings {

namespace nb = nanobind;

// The items of a Python iterable, one after the other. Getting one may run Python code.
class Iteration {
   public:
    Iteration() = default;
    explicit Iteration(nb::object iterator) : iterator_(std::move(iterator)) {}
    // The next one, or null after the last.
    nb::object next();

   private:
    nb::object iterator_;
};

// Throws Python's error if x cannot be iterated over.
Iteration items_of(nb::handle x);

// Where in the input an error is.
struct Place {
    static constexpr std::int64_t kWholeSequence = -1;
    std::int64_t sequence = 0, position = kWholeSequence;

    std::string text() const;
    // Throws "PLACE: expected ..., found ...".
    [[noreturn]] void fail(const std::string& expected, nb::handle found) const;
    double number(nb::handle x, const char* expected) const;
    // The UTF-8 of a Python string, which owns it.
    std::string_view utf8(nb::handle x) const;
    Iteration items(nb::handle x, const char* expected) const;
};

// Appends the cells of a row of columns, a position of its own. Throws unless they are `n_columns` texts (0: any
// number).
void gather_row(nb::handle row, std::size_t n_columns, const Place& place, TokenText& out);

// Appends the attributes of a token. str: one attribute. Mapping: name -> number, text ("name:text"), list of text, or
// mapping. Iterable: attributes, or pairs (attribute, value).
void gather(nb::handle token, const Place& place, TokenText& out);

// Reads a sequence of tokens, with its labels, weight and token weights if they are not None; returns its length. It is
// then pending in the encoder.
std::int64_t read_sequence(TokenEncoder& encoder, nb::handle tokens, nb::handle labels, nb::handle weight,
                           nb::handle token_weights);

}  // namespace sparsecrf::bindings
