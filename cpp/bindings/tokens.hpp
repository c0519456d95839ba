// Converts Python tokens to the text of their attributes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/token_encoder.hpp"

namespace sparsecrf::bindings {

namespace nb = nanobind;

// Iterates over a Python iterable. Getting an item may run Python code.
class Iteration {
   public:
    Iteration() = default;
    explicit Iteration(nb::object iterator) : iterator_(std::move(iterator)) {}
    // The next item, or null at the end.
    nb::object next();

   private:
    nb::object iterator_;
};

// Throws Python's error if x is not iterable.
Iteration items_of(nb::handle x);

// The location of an error in the input.
struct Place {
    static constexpr std::int64_t kWholeSequence = -1;
    std::int64_t sequence = 0, position = kWholeSequence;

    std::string text() const;
    // Throws "PLACE: expected ..., found ...".
    [[noreturn]] void fail(const std::string& expected, nb::handle found) const;
    double number(nb::handle x, const char* expected) const;
    // The UTF-8 of a Python string, which owns the bytes.
    std::string_view utf8(nb::handle x) const;
    Iteration items(nb::handle x, const char* expected) const;
};

// Appends the cells of a row of columns as a position. Throws unless there are `n_columns` strings (0: any number).
void gather_row(nb::handle row, std::size_t n_columns, const Place& place, TokenText& out);

// Appends the attributes of a token. str: one attribute. Mapping: name -> number, text ("name:text"), list of texts, or
// mapping. Iterable: attributes, or pairs (attribute, value).
void gather(nb::handle token, const Place& place, TokenText& out);

// Reads a sequence of tokens, with labels, weight and token weights unless they are None, and returns its length. The
// sequence is then pending in the encoder.
std::int64_t read_sequence(TokenEncoder& encoder, nb::handle tokens, nb::handle labels, nb::handle weight,
                           nb::handle token_weights);

}  // namespace sparsecrf::bindings
