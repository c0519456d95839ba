#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "core/base/utf8.hpp"
#include "core/text/columns.hpp"
#include "core/text/text_encoder.hpp"
#include "module.hpp"
#include "word_rows.hpp"

namespace sparsecrf::bindings {
namespace {

Dialect dialect_named(const std::string& name) {
    if (name == "crf++") return Dialect::crfpp;
    if (name == "wapiti") return Dialect::wapiti;
    throw InputError("boundary: expected 'crf++' or 'wapiti', found '", name, "'");
}

// Converts a sequence of rows, each a sequence of strings or one string, to views of objects that `owners` keeps alive.
Rows rows_of(nb::sequence sequence, nb::list& owners) {
    Rows rows;
    rows.length = static_cast<std::int64_t>(nb::len(sequence));
    for (std::int64_t t = 0; t < rows.length; ++t) {
        nb::object row = sequence[t];
        const auto fail = [&](const std::string& expected, nb::handle found) {
            throw InputError("position ", t, ": expected ", expected, ", found ",
                             utf8_prefix(nb::cast<std::string>(nb::repr(found)), 80));
        };
        if (PyUnicode_Check(row.ptr())) row = nb::make_tuple(row);
        if (!PySequence_Check(row.ptr())) fail("text or a sequence of columns", row);
        const auto found = static_cast<std::int64_t>(nb::len(row));
        if (t == 0) rows.n_columns = found;
        if (found != rows.n_columns) fail(message(rows.n_columns, " columns as at position 0"), row);
        for (std::int64_t k = 0; k < found; ++k) {
            const nb::object cell = row[k];
            owners.append(cell);
            if (!PyUnicode_Check(cell.ptr())) fail("text in every column", row);
            Py_ssize_t size = 0;
            const char* data = PyUnicode_AsUTF8AndSize(cell.ptr(), &size);
            if (data == nullptr) {
                PyErr_Clear();
                fail("text that UTF-8 can encode", row);
            }
            rows.add_cell({data, static_cast<std::size_t>(size)});
        }
    }
    return rows;
}

std::vector<std::vector<std::string>> attributes_of(const Template& lines, nb::sequence sequence) {
    nb::list owners;
    const Rows rows = rows_of(sequence, owners);
    if (rows.length > 0) lines.check_columns(rows.n_columns, "position 0");
    std::vector<std::vector<std::string>> all(static_cast<std::size_t>(rows.length));
    Expansion made;
    WordValues values = lines.values();
    values.read(rows);
    for (std::int64_t t = 0; t < rows.length; ++t) {
        for (std::int64_t k = 0; k < lines.size(); ++k) {
            lines.expand(k, rows, values, t, made);
            std::string& attribute = all[static_cast<std::size_t>(t)].emplace_back();
            for (const std::string_view part : made.parts) attribute += part;
        }
    }
    return all;
}

void bind_template(nb::module_& m) {
    nb::class_<Template>(m, "Template", "Feature templates in the syntax of CRF++ and Wapiti.")
        .def(
            "__init__",
            [](Template* self, std::variant<std::string, nb::bytes> lines, const std::string& boundary,
               const std::string& source, bool bytes, Template::Resources resources) {
                const auto* raw = std::get_if<nb::bytes>(&lines);
                std::string content = raw ? std::string(text_of(*raw)) : std::get<std::string>(std::move(lines));
                new (self) Template(std::move(content), dialect_named(boundary), source, bytes, std::move(resources));
            },
            "text"_a, "boundary"_a = "crf++", "source"_a = "template", "bytes"_a = false,
            "resources"_a = Template::Resources(),
            nb::sig("def __init__(self, text: str | bytes, boundary: str = 'crf++', source: str = 'template', "
                    "bytes: bool = False, resources: collections.abc.Sequence[Resource] = ()) -> None"),
            "boundary: the style of the cells beyond the ends of a sequence, 'crf++' (_B-1, _B+1) or "
            "'wapiti' (_x-1, _x+1); source: the name of the template in errors; bytes: regular expressions "
            "operate on bytes, as in Wapiti; resources: lookup tables for the %d macros.")
        .def_prop_ro("text", &Template::text)
        .def_prop_ro("boundary", [](const Template& t) { return t.dialect() == Dialect::wapiti ? "wapiti" : "crf++"; })
        .def_prop_ro("bytes", &Template::bytes, "Whether regular expressions operate on bytes instead of characters.")
        .def_prop_ro(
            "resources", [](const Template& t) { return t.resources(); },
            nb::sig("def resources(self) -> list[Resource]"), "The lookup tables of the %d macros.")
        .def_prop_ro("n_columns", &Template::n_columns, "The number of observation columns that the macros need.")
        .def_prop_ro(
            "kinds",
            [](const Template& t) {
                std::vector<std::string_view> kinds;
                for (std::int64_t k = 0; k < t.size(); ++k) {
                    kinds.push_back(Template::kKinds.substr(static_cast<std::size_t>(t.kind(k)), 1));
                }
                return kinds;
            },
            "U, B, T or * for each line.")
        .def_prop_ro(
            "varies",
            [](const Template& t) {
                std::vector<bool> varies;
                for (std::int64_t k = 0; k < t.size(); ++k) varies.push_back(t.varies(k));
                return varies;
            },
            "Whether each line has a macro.")
        .def("__len__", &Template::size)
        .def("attributes", &attributes_of, "rows"_a,
             nb::sig("def attributes(self, rows: collections.abc.Sequence[collections.abc.Sequence[str] | str]) -> "
                     "list[list[str]]"),
             "The attributes at each position of a sequence, in template order. rows: one row of columns per "
             "token.");
}

void bind_readers(nb::module_& m) {
    m.def(
        "whole_sequences", [](nb::bytes piece) { return whole_sequences(text_of(piece)); }, "piece"_a,
        "The length of the longest prefix that ends with a blank line; 0 if no line is blank.");
    m.def(
        "count_columns",
        [](nb::bytes piece) {
            std::string_view rest = without_mark(text_of(piece));
            std::vector<std::string_view> cells;
            while (!rest.empty() && cells.empty()) split_columns(take_line(rest), cells);
            return cells.size();
        },
        "piece"_a, "The number of columns of the first line that is not blank; 0 if all lines are blank.");
    m.def(
        "parse_columns",
        [](nb::bytes piece, const std::string& source, std::int64_t n_columns, std::int64_t line, bool ragged) {
            ColumnReader reader(source, n_columns, line, {false, ragged, 0, false});
            reader.open(text_of(piece));
            std::vector<std::vector<std::vector<std::string_view>>> sequences;
            Rows rows;
            while (reader.next(rows)) {
                auto& sequence = sequences.emplace_back(static_cast<std::size_t>(rows.length));
                for (std::size_t t = 0; t < sequence.size(); ++t) split_columns(rows.lines[t], sequence[t]);
            }
            return std::tuple(std::move(sequences), reader.n_columns());
        },
        "piece"_a, "source"_a, "n_columns"_a, "line"_a, "ragged"_a = false,
        "The sequences of a piece of a column file, and its number of columns. n_columns: 0 if the "
        "first line decides or lines are ragged.");
    m.def(
        "parse_crfsuite",
        [](nb::bytes piece, const std::string& source, std::int64_t line) {
            CrfsuiteReader reader(source, line);
            reader.open(text_of(piece));
            using Token = std::vector<std::pair<std::string, double>>;
            std::vector<std::pair<std::vector<Token>, std::vector<std::string>>> sequences;
            Items items;
            while (reader.next(items)) {
                auto& [tokens, labels] = sequences.emplace_back();
                for (std::int64_t t = 0; t < items.length(); ++t) {
                    Token& token = tokens.emplace_back();
                    for (std::int64_t k = items.ptr[t]; k < items.ptr[t + 1]; ++k) {
                        token.emplace_back(std::move(items.attributes[k].name), items.attributes[k].value);
                    }
                }
                labels = std::move(items.labels);
            }
            return sequences;
        },
        "piece"_a, "source"_a, "line"_a,
        "The sequences of a piece of a CRFsuite file: attributes with values, and labels.");
}

void bind_text_encoder(nb::module_& m) {
    nb::class_<TextEncoder>(m, "TextEncoder", "Encodes text files as a corpus.")
        .def(
            "__init__",
            [](TextEncoder* self, std::shared_ptr<StringTable> attributes, std::shared_ptr<StringTable> labels,
               bool start, bool grow, const std::string& missing, const Words& words, int threads,
               const std::string& between_labels) {
                new (self) TextEncoder(Names(std::move(attributes), grow), Names(std::move(labels), grow), start,
                                       missing, between_labels, true, word_rows(words), checked_threads(threads));
            },
            "attributes"_a, "labels"_a, "start"_a = true, "grow"_a = false, "missing"_a = "", "words"_a = nb::none(),
            "threads"_a = 1, "between_labels"_a = "",
            "grow: unknown attributes and labels get an id; otherwise unknown attributes are left out and "
            "unknown labels are missing. words: word vectors that become dense columns; or a table and a "
            "column, whose words are numbered (Corpus.words). threads: for column files, 0 uses all cores; "
            "the corpus does not depend on it. between_labels: separator of the labels of a set; empty: no "
            "label sets.")
        .def(
            "add_columns",
            [](TextEncoder& encoder, nb::bytes piece, std::shared_ptr<const Template> lines, const std::string& source,
               std::int64_t n_columns, std::int64_t line, bool bytes, bool ragged) {
                const std::string_view view = text_of(piece);
                ColumnReader reader(source, n_columns, line, {bytes, ragged, encoder.n_needed(*lines), true});
                reader.open(view);
                encoder.add(reader, lines);
                return reader.n_columns();
            },
            "piece"_a, "template"_a, "source"_a, "n_columns"_a, "line"_a, "bytes"_a = false, "ragged"_a = false,
            "Add a piece of a column file with labels; return its number of columns. n_columns: 0 if the "
            "first line decides. bytes: cells are arbitrary bytes instead of UTF-8 text. ragged: lines may "
            "differ in their number of columns; only those that the template needs and the label, the last "
            "one, are read.")
        .def(
            "add_crfsuite",
            [](TextEncoder& encoder, nb::bytes piece, const std::string& bias, const std::string& source,
               std::int64_t line) {
                const std::string_view view = text_of(piece);
                CrfsuiteReader reader(source, line);
                reader.open(view);
                Items items;
                while (reader.next(items)) encoder.add(items, bias);
            },
            "piece"_a, "bias"_a, "source"_a, "line"_a, "Add a piece of a CRFsuite file.")
        .def_prop_ro("n_sequences", &TextEncoder::n_sequences)
        .def_prop_ro("n_tokens", &TextEncoder::n_tokens)
        .def(
            "build", [](TextEncoder& encoder) { return std::make_shared<Corpus>(encoder.build()); },
            "The corpus of everything added since the last call.");
}

}  // namespace

void bind_text(nb::module_& m) {
    bind_template(m);
    bind_readers(m);
    bind_text_encoder(m);
}

}  // namespace sparsecrf::bindings
