#include "core/text/resource.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "module.hpp"

namespace nb = nanobind;

namespace sparsecrf::bindings {
namespace {

constexpr const char* kKinds[] = {"lexicon", "clusters", "classes"};  // in the order of Resource::Kind

Resource::Kind kind_named(std::string_view name) {
    for (int k = 0; k < 3; ++k) {
        if (name == kKinds[k]) return static_cast<Resource::Kind>(k);
    }
    throw InputError(message("kind: expected lexicon, clusters or classes, found '", name, "'"));
}

}  // namespace

void bind_resource(nb::module_& m) {
    nb::class_<Resource>(m, "Resource", "A lexicon, clusters or word classes, which macros %d of templates look up.")
        .def(
            "__init__",
            [](Resource* self, std::string name, std::string_view kind, nb::bytes content, const std::string& source) {
                new (self)
                    Resource(std::move(name), kind_named(kind), std::string(content.c_str(), content.size()), source);
            },
            nb::arg("name"), nb::arg("kind"), nb::arg("content"), nb::arg("source"))
        .def_prop_ro("name", &Resource::name)
        .def_prop_ro(
            "kind", [](const Resource& resource) { return kKinds[static_cast<int>(resource.kind())]; },
            "lexicon, clusters or classes")
        .def_prop_ro(
            "content",
            [](const Resource& resource) { return nb::bytes(resource.content().data(), resource.content().size()); },
            "The bytes of the file.")
        .def_prop_ro(
            "classes",
            [](const Resource& resource) {
                nb::list names;
                const StringTable& classes = resource.classes();
                for (std::uint32_t k = 0; k < classes.size(); ++k) {
                    names.append(nb::str(classes[k].data(), classes[k].size()));
                }
                return names;
            },
            nb::sig("def classes(self) -> list[str]"),
            "Names of the classes in the order of the file; one empty name if a lexicon has none.")
        .def("__len__", &Resource::size);
}

}  // namespace sparsecrf::bindings
