#include "arrays.hpp"
#include "core/quadratic.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

Result<double, 1> minimize(Array1<double> g, Array1<double> w, Array1<double> diagonal, Array1<std::int32_t> parent,
                           Array1<double> coupling, Array2<double> u, Array2<double> v, double rho1, double rho2,
                           double radius, double tolerance, int max_sweeps) {
    const std::size_t n = w.size();
    if (g.size() != n || diagonal.size() != n || parent.size() != n || coupling.size() != n || u.shape(0) != n ||
        v.shape(0) != n || u.shape(1) != v.shape(1)) {
        throw InputError(message("quadratic model: expected arrays of ", n, " rows, found ", g.size(), ", ",
                                 diagonal.size(), ", ", u.shape(0), " and ", v.shape(0)));
    }
    Result<double, 1> d = make<double, 1>({n});
    std::fill_n(d.data(), n, 0.0);
    const nb::gil_scoped_release unlocked;
    minimize_quadratic(
        {view(g), view(w), view(diagonal), view(parent), view(coupling), view(u), view(v), u.shape(1), rho1, rho2},
        radius, tolerance, max_sweeps, span_of(d));
    return d;
}

}  // namespace

void bind_solvers(nb::module_& m) {
    m.def("minimize_quadratic", &minimize, nb::arg("g").noconvert(), nb::arg("w").noconvert(),
          nb::arg("diagonal").noconvert(), nb::arg("parent").noconvert(), nb::arg("coupling").noconvert(),
          nb::arg("u").noconvert(), nb::arg("v").noconvert(), nb::kw_only(), nb::arg("rho1"), nb::arg("rho2"),
          nb::arg("radius"), nb::arg("tolerance"), nb::arg("max_sweeps"),
          "The step d that minimises g.d + d'(diag - u v')d/2 + rho1 |w+d|_1 + rho2 |w+d|^2/2, |d_k| <= radius.");
}

}  // namespace sparsecrf::bindings
