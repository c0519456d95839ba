#include "rows.hpp"

#include <nanobind/stl/string.h>

#include "core/base/error.hpp"
#include "core/base/utf8.hpp"

namespace sparsecrf::bindings {
namespace nb = nanobind;

Rows rows_of(nb::sequence sequence, nb::list& owners, const std::string& where) {
    Rows rows;
    rows.length = static_cast<std::int64_t>(nb::len(sequence));
    for (std::int64_t t = 0; t < rows.length; ++t) {
        nb::object row = sequence[t];
        const auto fail = [&](const std::string& expected, nb::handle found) {
            throw InputError(message(where, "position ", t, ": expected ", expected, ", found ",
                                     utf8_prefix(nb::cast<std::string>(nb::repr(found)), 80)));
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
            rows.cells.emplace_back(data, static_cast<std::size_t>(size));
            rows.hashes.emplace_back(rows.cells.back());
        }
    }
    return rows;
}

}  // namespace sparsecrf::bindings
