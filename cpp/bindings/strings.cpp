#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arrays.hpp"
#include "core/corpus/string_table.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

auto strings_to_arrays(const StringTable& table) {
    return std::tuple(copy<std::uint8_t>(table.bytes()), copy<std::int64_t>(table.ptr()));
}

}  // namespace

void bind_strings(nb::module_& m) {
    nb::class_<StringTable>(m, "StringTable", "Maps strings to consecutive ids and back.")
        .def(nb::init<>())
        .def("intern", nb::overload_cast<std::string_view>(&StringTable::intern), "text"_a,
             "The id of `text`, which is added if missing.")
        .def("find", nb::overload_cast<std::string_view>(&StringTable::find, nb::const_), "text"_a,
             "The id of `text`, or None.")
        .def(
            "copy", [](const StringTable& table) { return StringTable(table); }, "A copy of the table.")
        .def(
            "intern_all",
            [](StringTable& table, const StringTable& other) {
                const WithoutGil unlocked;
                for (std::uint32_t id = 0; id < other.size(); ++id) table.intern(other[id]);
            },
            "other"_a, "Intern the strings of another table, in the order of their ids.")
        .def("__len__", &StringTable::size)
        .def("__getitem__",
             [](const StringTable& table, std::int64_t id) {
                 if (id < 0 || id >= table.size()) throw nb::index_error("string id out of range");
                 return table[static_cast<std::uint32_t>(id)];
             })
        .def_static(
            "from_arrays",
            [](Array1<std::uint8_t> bytes, Array1<std::int64_t> offsets) {
                return StringTable(view(bytes), view(offsets));
            },
            array("bytes"), array("offsets"),
            "Build from distinct strings in order of id: concatenated UTF-8, and the offset of each string; "
            "the last offset is the end.")
        .def("to_arrays", &strings_to_arrays, "The arguments of `from_arrays`.")
        .def("__getstate__", &strings_to_arrays, nb::sig("def __getstate__(self) -> tuple[typing.Any, typing.Any]"))
        .def(
            "__setstate__",
            [](StringTable& table, const nb::tuple& state) {
                const auto bytes = nb::cast<Array1<std::uint8_t>>(state[0]);
                const auto offsets = nb::cast<Array1<std::int64_t>>(state[1]);
                new (&table) StringTable(view(bytes), view(offsets));
            },
            nb::sig("def __setstate__(self, state: tuple[typing.Any, typing.Any], /) -> None"));
}

}  // namespace sparsecrf::bindings
