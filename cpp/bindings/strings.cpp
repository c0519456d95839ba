#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include "arrays.hpp"
#include "core/string_table.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {

void bind_strings(nb::module_& m) {
    nb::class_<StringTable>(m, "StringTable", "Strings to consecutive ids and back.")
        .def(nb::init<>())
        .def("intern", nb::overload_cast<std::string_view>(&StringTable::intern), nb::arg("text"),
             "The id of `text`, a new one if it is not there yet.")
        .def("find", nb::overload_cast<std::string_view>(&StringTable::find, nb::const_), nb::arg("text"),
             "The id of `text`, or None.")
        .def("__len__", &StringTable::size)
        .def("__getitem__", [](const StringTable& table, std::int64_t id) {
            if (id < 0 || id >= table.size()) throw nb::index_error("string id out of range");
            return table[static_cast<std::uint32_t>(id)];
        });
}

}  // namespace sparsecrf::bindings
