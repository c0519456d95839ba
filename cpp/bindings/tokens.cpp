#include "tokens.hpp"

#include <nanobind/stl/string.h>

#include "core/base/error.hpp"
#include "gil.hpp"

namespace sparsecrf::bindings {
namespace {

// "int 3": type and the first 80 characters.
std::string described(nb::handle x) {
    const nb::object start = nb::repr(x)[nb::slice(nb::int_(0), nb::int_(80), nb::int_(1))];
    return nb::cast<std::string>(x.type().attr("__name__")) + " " + nb::cast<std::string>(start);
}

// One level of a recursion over Python objects; raises Python's RecursionError if they are nested too deeply or contain
// themselves.
struct Deeper {
    explicit Deeper(const char* where) {
        if (Py_EnterRecursiveCall(where) != 0) throw nb::python_error();
    }
    ~Deeper() { Py_LeaveRecursiveCall(); }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
};

struct Gatherer {
    const Place& place;
    TokenText& out;

    template <class... Parts>
    void add(double value, Parts... parts) {
        const std::size_t begin = out.text.size();
        (out.text.append(parts), ...);
        out.entries.push_back({begin, out.text.size(), value});
    }

    void item(nb::handle item) {
        if (PyUnicode_Check(item.ptr())) return add(1.0, place.utf8(item));
        if (!nb::isinstance<nb::tuple>(item) || nb::len(item) != 2 || !PyUnicode_Check(nb::handle(item[0]).ptr())) {
            const bool nested = nb::isinstance<nb::dict>(item) || nb::isinstance<nb::list>(item);
            place.fail(nested
                           ? "an attribute (text) or a pair (attribute, value), not a token within a token (is this a "
                             "list of sequences where one sequence is expected?)"
                           : "an attribute (text) or a pair (attribute, value)",
                       item);
        }
        const nb::object name = item[0], value = item[1];
        const double number = place.number(value, "an attribute's value to be a number");
        add(number, place.utf8(name));
    }

    void mapping(nb::handle mapping, std::string_view prefix) {
        const Deeper level(" while reading a token's nested mappings");
        if (PyDict_CheckExact(mapping.ptr())) {
            PyObject *key, *value;
            for (Py_ssize_t at = 0; PyDict_Next(mapping.ptr(), &at, &key, &value);) {
                // Keeps references: reading a value can run code that changes the mapping.
                entry(prefix, nb::borrow(key), nb::borrow(value));
            }
            return;
        }
        const nb::object method = mapping.attr("items");
        if (PyCallable_Check(method.ptr()) == 0) place.fail("a mapping with a method `items`", mapping);
        Iteration pairs = items_of(owned(in_python([&] { return PyObject_CallNoArgs(method.ptr()); })));
        while (const nb::object pair = pairs.next()) {
            if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2) place.fail("items of a name and a value", pair);
            entry(prefix, pair[0], pair[1]);
        }
    }

    void entry(std::string_view prefix, const nb::object& key, const nb::object& value) {
        if (!PyUnicode_Check(key.ptr())) place.fail("an attribute's name to be text", key);
        const std::string_view name = place.utf8(key), colon = ":";
        if (PyUnicode_Check(value.ptr())) {
            add(1.0, prefix, name, colon, place.utf8(value));
        } else if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value) || PyAnySet_Check(value.ptr())) {
            Iteration texts = items_of(value);
            while (const nb::object item = texts.next()) {
                if (!PyUnicode_Check(item.ptr())) place.fail("a list of text as an attribute's value", item);
                add(1.0, prefix, name, colon, place.utf8(item));
            }
        } else if (!PyFloat_Check(value.ptr()) && !PyLong_Check(value.ptr()) && nb::hasattr(value, "items")) {
            mapping(value, message(prefix, name, ":"));
        } else {
            const double number = place.number(value, "an attribute's value (number, text, list of text, or mapping)");
            add(number, prefix, name);
        }
    }
};

}  // namespace

nb::object Iteration::next() {
    PyObject* item = in_python([this] { return PyIter_Next(iterator_.ptr()); });
    if (item == nullptr && PyErr_Occurred()) throw nb::python_error();
    return nb::steal(item);
}

Iteration items_of(nb::handle x) {
    return Iteration(owned(in_python([&] { return PyObject_GetIter(x.ptr()); })));
}

std::string Place::text() const {
    if (position == kWholeSequence) return message("sequence ", sequence);
    return message("sequence ", sequence, ", position ", position);
}

void Place::fail(const std::string& expected, nb::handle found) const {
    throw InputError(text(), ": expected ", expected, ", found ", described(found));
}

double Place::number(nb::handle x, const char* expected) const {
    const double value = in_python([&] { return PyFloat_AsDouble(x.ptr()); });
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        fail(expected, x);
    }
    return value;
}

std::string_view Place::utf8(nb::handle x) const {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(x.ptr(), &size);
    if (data == nullptr) {
        PyErr_Clear();
        fail("text that UTF-8 can encode", x);
    }
    return {data, static_cast<std::size_t>(size)};
}

Iteration Place::items(nb::handle x, const char* expected) const {
    PyObject* iterator = in_python([&] { return PyObject_GetIter(x.ptr()); });
    if (iterator == nullptr) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
        PyErr_Clear();
        fail(expected, x);
    }
    return Iteration(nb::steal(iterator));
}

void gather_row(nb::handle row, std::size_t n_columns, const Place& place, TokenText& out) {
    Gatherer gatherer{place, out};
    const std::size_t before = out.entries.size();
    if (PyUnicode_Check(row.ptr())) {
        gatherer.add(1.0, place.utf8(row));
    } else if (PySequence_Check(row.ptr())) {
        const nb::object cells = nb::borrow(row);
        const std::size_t found = nb::len(cells);
        for (std::size_t k = 0; k < found; ++k) {
            const nb::object cell = cells[k];
            if (!PyUnicode_Check(cell.ptr())) place.fail("text in every column", row);
            gatherer.add(1.0, place.utf8(cell));
        }
    } else {
        place.fail("text or a sequence of columns", row);
    }
    const std::size_t found = out.entries.size() - before;
    if (n_columns > 0 && found != n_columns) place.fail(message(n_columns, " columns as at position 0"), row);
    out.ends.push_back(out.entries.size());
}

void gather(nb::handle token, const Place& place, TokenText& out) {
    Gatherer gatherer{place, out};
    if (PyUnicode_Check(token.ptr())) {
        gatherer.add(1.0, place.utf8(token));
    } else if (nb::isinstance<nb::dict>(token) || nb::hasattr(token, "items")) {
        gatherer.mapping(token, "");
    } else if (nb::hasattr(token, "__iter__") && !PyBytes_Check(token.ptr())) {
        Iteration items = items_of(token);
        while (const nb::object item = items.next()) gatherer.item(item);
    } else {
        place.fail("a token (text, a mapping, or a list of attributes)", token);
    }
    out.ends.push_back(out.entries.size());
}

}  // namespace sparsecrf::bindings
