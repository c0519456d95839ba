#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "callback.hpp"
#include "core/simd/kernels.hpp"
#include "core/training/groups.hpp"
#include "core/training/quadratic/compact_form.hpp"
#include "core/training/quadratic/quadratic.hpp"
#include "core/training/quadratic/quadratic_groups.hpp"
#include "core/training/quadratic/two_loop.hpp"
#include "core/training/sbcd.hpp"
#include "core/training/stochastic/online.hpp"
#include "core/training/stochastic/sgd.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

void check_groups(std::span<const std::int32_t> group, std::size_t columns, std::size_t n, std::size_t n_groups) {
    if (columns != n) throw InputError("quadratic model: expected groups of ", n, " features, found ", columns);
    for (const std::int32_t of : group) {
        if (of < -1 || of >= static_cast<std::int64_t>(n_groups)) {
            throw InputError("quadratic model: expected groups below ", n_groups, ", found ", of);
        }
    }
    // Each group must be inside at most one larger group.
    std::vector<std::int32_t> parent(n_groups, -1);
    for (std::size_t k = 0; k < n; ++k) {
        std::int32_t inside = -1;
        for (std::size_t level = 0; level < group.size() / n; ++level) {
            const std::int32_t of = group[level * n + k];
            if (of < 0) continue;
            if (of <= inside || (inside >= 0 && parent[inside] >= 0 && parent[inside] != of)) {
                throw InputError("quadratic model: expected a forest of groups, found ", inside, " in ", of);
            }
            if (inside >= 0) parent[inside] = of;
            inside = of;
        }
    }
}

Result<double, 1> minimize(Array1<double> g, Array1<double> w, Array1<double> diagonal, Array1<std::int32_t> parent,
                           Array1<double> coupling, Array2<double> factors, Array1<std::int32_t> place,
                           Array2<double> block, double scale, int subtracted, double rho1, double rho2, double radius,
                           double tolerance, int max_sweeps, std::optional<Array2<std::int32_t>> group,
                           std::optional<Array1<double>> eta, std::optional<Array1<double>> rho1_of,
                           std::optional<Array1<double>> unit, int threads) {
    const std::size_t n = w.size();
    if (g.size() != n || diagonal.size() != n || parent.size() != n || coupling.size() != n || factors.shape(0) != n) {
        throw InputError("quadratic model: expected arrays of ", n, " rows, found ", g.size(), ", ", diagonal.size(),
                         " and ", factors.shape(0));
    }
    const int rank = static_cast<int>(factors.shape(1));
    if (rank % kLanes != 0 || subtracted % kLanes != 0 || subtracted < 0 || subtracted > rank) {
        throw InputError("quadratic model: expected ranks that are multiples of ", kLanes, ", found ", subtracted,
                         " of ", rank);
    }
    if (place.size() != 0 && place.size() != n) {
        throw InputError("quadratic model: expected an index into the block for each of ", n, " rows, found ",
                         place.size());
    }
    const auto rows = static_cast<int>(block.shape(0)), width = static_cast<int>(block.shape(1));
    if (width != padded(rows)) {
        throw InputError("quadratic model: expected a block of ", padded(rows), " columns, found ", width, " for ",
                         rows);
    }
    for (std::size_t k = 0; k < place.size(); ++k) {
        if (place.data()[k] >= rows) {
            throw InputError("quadratic model: expected indices into the block below ", rows, ", found ",
                             place.data()[k]);
        }
    }
    if (group.has_value() != eta.has_value()) throw InputError("quadratic model: expected groups and their weights");
    if (group) check_groups(view(*group), group->shape(1), n, eta->size());
    if (rho1_of && (group || rho1_of->size() != n)) {
        throw InputError("quadratic model: expected rho1 of each of ", n, " features and no groups, found ",
                         rho1_of->size());
    }
    expect_length(unit, n, "unit");
    const Quadratic model{
        view(g),       view(w),    view(diagonal),          view(parent), view(coupling), view(place), view(block),
        scale,         width,      view(factors),           rank,         subtracted,     rho1,        rho2,
        view(rho1_of), view(unit), checked_threads(threads)};
    const GroupLevels levels{view(group), view(eta)};
    return filled(make<double>(n), [&](auto d) {
        std::fill(d.begin(), d.end(), 0.0);
        if (levels.group.empty()) {
            minimize_quadratic(model, radius, tolerance, max_sweeps, d);
        } else {
            minimize_over_groups(model, levels, radius, tolerance, max_sweeps, d);
        }
    });
}

// ---- The two-loop recursion
using Changed = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

StepPairs step_pairs(const Array2<double>& s, const Array2<double>& y, const Array1<double>& curvature, double ridge,
                     std::size_t n) {
    const std::size_t m = curvature.size();
    for (const Array2<double>* rows : {&s, &y}) {
        if (rows->shape(0) == m && (rows->shape(1) == n || m == 0)) continue;
        throw InputError("pairs: expected shape (", m, ", ", n, "), found (", rows->shape(0), ", ", rows->shape(1),
                         ")");
    }
    return {view(s), view(y), view(curvature), ridge};
}

void bind_two_loop(nb::module_& m) {
    m.def(
        "two_loop_back",
        [](Changed d, Array2<double> s, Array2<double> y, Array1<double> curvature, double ridge, int threads) {
            const StepPairs pairs = step_pairs(s, y, curvature, ridge, d.size());
            const int n = checked_threads(threads);
            return filled(make<double>(curvature.size()), [&](auto a) { two_loop_back(pairs, n, span_of(d), a); });
        },
        array("d"), array("s"), array("y"), array("curvature"), "ridge"_a, "threads"_a,
        "The first loop of the two-loop recursion, from the last pair (s, z = y + ridge s) to the first: d changes by "
        "-a z with a = s.d / s.z. Returns a. curvature: s.z of each pair.");
    m.def(
        "two_loop_forth",
        [](Changed d, Array2<double> s, Array2<double> y, Array1<double> curvature, double ridge, Array1<double> a,
           int threads) {
            const StepPairs pairs = step_pairs(s, y, curvature, ridge, d.size());
            expect_length(a, curvature.size(), "a");
            const int n = checked_threads(threads);
            const WithoutGil unlocked;
            two_loop_forth(pairs, view(a), n, span_of(d));
        },
        array("d"), array("s"), array("y"), array("curvature"), "ridge"_a, array("a"), "threads"_a,
        "The second loop, from the first pair to the last: d changes by (a - z.d / s.z) s.");
}

// ---- The compact form
void bind_compact_form(nb::module_& m) {
    m.def(
        "row_products",
        [](Array2<double> a, Array2<double> b, int threads) {
            if (a.shape(1) != b.shape(1)) {
                throw InputError("b: expected ", a.shape(1), " columns, as in a, found ", b.shape(1));
            }
            const int n = checked_threads(threads);
            return filled(make<double>(a.shape(0), b.shape(0)),
                          [&](auto out) { row_products(view(a), view(b), a.shape(1), n, out); });
        },
        array("a"), array("b"), "threads"_a, "a b', by fixed blocks of columns.");
    m.def(
        "combine_columns",
        [](Array2<double> a, Array2<double> b, Array1<std::int64_t> chosen, Array2<double> c, int threads) {
            const std::size_t m = a.shape(0), K = a.shape(1);
            if (b.shape(0) != m || b.shape(1) != K || c.shape(0) != 2 * m || c.shape(1) % kLanes != 0) {
                throw InputError("expected b with shape (", m, ", ", K, ") and c with ", 2 * m,
                                 " rows and a multiple of ", kLanes, " columns, found shapes (", b.shape(0), ", ",
                                 b.shape(1), ") and (", c.shape(0), ", ", c.shape(1), ")");
            }
            for (const std::int64_t k : view(chosen)) {
                if (k >= 0 && static_cast<std::size_t>(k) < K) continue;
                throw InputError("chosen: expected numbers from 0 to ", K, " - 1, found ", k);
            }
            const int n = checked_threads(threads);
            return filled(make<double>(chosen.size(), c.shape(1)), [&](auto out) {
                combine_columns(view(a), view(b), K, view(chosen), view(c), static_cast<int>(c.shape(1)), n, out);
            });
        },
        array("a"), array("b"), array("chosen"), array("c"), "threads"_a, "The chosen rows of [a', b'] c.");
    m.def(
        "times_matrix",
        [](Array2<double> s, Array2<double> matrix, int threads) {
            if (s.shape(1) != matrix.shape(0) || matrix.shape(1) % kLanes != 0) {
                throw InputError("matrix: expected ", s.shape(1), " rows and a multiple of ", kLanes,
                                 " columns, found shape (", matrix.shape(0), ", ", matrix.shape(1), ")");
            }
            const int n = checked_threads(threads);
            return filled(make<double>(s.shape(0), matrix.shape(1)), [&](auto out) {
                std::fill(out.begin(), out.end(), 0.0);
                times_matrix(view(s), view(matrix), matrix.shape(0), static_cast<int>(matrix.shape(1)), n, out);
            });
        },
        array("s"), array("matrix"), "threads"_a, "Vectors (rows of s) times a matrix.");
}

void bind_sgd(nb::module_& m) {
    nb::class_<Sgd>(m, "Sgd", "Stochastic gradient descent over a labelled corpus.")
        .def(
            "__init__",
            [](Sgd* self, const Corpus& corpus, const std::string& kernel, int threads) {
                construct(self, corpus, kernel_named(kernel), checked_threads(threads));
            },
            "corpus"_a, "kernel"_a = "auto", "threads"_a = 1, nb::keep_alive<1, 2>())
        .def(
            "order",
            [](const Sgd& self, std::uint64_t seed, std::uint64_t epoch) {
                return copy<std::int64_t>(self.order(seed, epoch));
            },
            "seed"_a, "epoch"_a, "The sequences with positive weight in the order of an epoch.")
        .def_prop_ro("n_steps", &Sgd::n_steps, "The number of sequences with positive weight: the steps of an epoch.")
        .def(
            "run",
            [](const Sgd& self, const FeatureSet& features, Array1<double> w, Array1<double> q, double u,
               Array1<std::int64_t> sequences, double rho1, double rho2, double eta0, double decay, double done,
               std::int64_t at_once, double order_factor, const GoOn& go_on) {
                Result<double, 1> new_w = copy<double>(view(w)), new_q = copy<double>(view(q));
                const Sgd::GoOn ask = ask_in_python(go_on);
                const WithoutGil unlocked;
                const double new_u = self.run(features, span_of(new_w), span_of(new_q), u, view(sequences),
                                              {rho1, rho2, eta0, decay, done, at_once, order_factor}, ask);
                return std::tuple(std::move(new_w), std::move(new_q), new_u);
            },
            "features"_a, array("w"), array("q"), "u"_a, array("sequences"), nb::kw_only(), "rho1"_a, "rho2"_a,
            "eta0"_a, "decay"_a, "done"_a, "at_once"_a = 1, "order_factor"_a = 1.0, "go_on"_a = nb::none(),
            "Take a step for each sequence; return the new w, q and u. The gradients of `at_once` steps are "
            "computed at the same weights, on all threads. rho1 of a label n-gram is multiplied by "
            "`order_factor` for each label beyond two. `go_on` is called a few times per second with the "
            "number of steps done; returning False stops the run.")
        .def(
            "loss",
            [](const Sgd& self, const FeatureSet& features, Array1<double> w, Array1<std::int64_t> sequences) {
                return self.loss(features, view(w), view(sequences));
            },
            nb::call_guard<WithoutGil>(), "features"_a, array("w"), array("sequences"), "The loss of these sequences.");
}

Online::Rule rule_named(const std::string& name) {
    if (name == "perceptron") return Online::Rule::perceptron;
    if (name == "passive-aggressive") return Online::Rule::passive_aggressive;
    if (name == "arow") return Online::Rule::arow;
    throw InputError("rule: expected perceptron, passive-aggressive or arow, found '", name, "'");
}

void bind_online(nb::module_& m) {
    nb::class_<Online>(m, "Online", "Online learning from errors, one sequence at a time; requires plain transitions.")
        .def(
            "__init__",
            [](Online* self, const Corpus& corpus, const FeatureSet& features, const std::string& rule, int type,
               double c, bool error_sensitive, double variance, double gamma) {
                construct(self, corpus, features,
                          Online::Options{rule_named(rule), type, c, error_sensitive, variance, gamma});
            },
            "corpus"_a, "features"_a, "rule"_a, nb::kw_only(), "type"_a = 1, "c"_a = 1.0, "error_sensitive"_a = true,
            "variance"_a = 1.0, "gamma"_a = 1.0, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def(
            "order",
            [](const Online& self, std::uint64_t seed, std::uint64_t epoch) {
                return copy<std::int64_t>(self.order(seed, epoch));
            },
            "seed"_a, "epoch"_a, "All sequences in the order of an epoch.")
        .def(
            "run", [](Online& self, Array1<std::int64_t> sequences) { return self.run(view(sequences)); },
            nb::call_guard<WithoutGil>(), array("sequences"),
            "Take a step for each sequence; return the sum of their losses, each before its step.")
        .def(
            "weights",
            [](const Online& self, bool average) {
                return average ? copy<double>(self.average()) : copy<double>(self.weights());
            },
            nb::kw_only(), "average"_a, "The weights after the last step, or their mean over all steps.");
}

}  // namespace

void bind_solvers(nb::module_& m) {
    m.attr("LANES") = kLanes;
    m.attr("RIDGE") = kRidge;
    m.attr("RADIUS") = kRadius;
    m.def("minimize_quadratic", &minimize, array("g"), array("w"), array("diagonal"), array("parent"),
          array("coupling"), array("factors"), array("place"), array("block"), "scale"_a, nb::kw_only(), "subtracted"_a,
          "rho1"_a, "rho2"_a, "radius"_a, "tolerance"_a, "max_sweeps"_a, "group"_a = nb::none(), "eta"_a = nb::none(),
          "rho1_of"_a = nb::none(), "unit"_a = nb::none(), "threads"_a = 1,
          "The step d that minimizes g.d + d'Bd/2 + rho1 |w+d|_1 + rho2 |w+d|^2/2, |d_k| <= radius / unit_k.\n\n"
          "group: the group of each feature at each level, fine to coarse (-1: none; numbered by level). "
          "eta: the weights of groups, which add sum eta_G ||(w+d)_G||. rho1_of: replaces rho1 by one "
          "value per feature; not with groups.");
    m.def(
        "disjoint_groups", [](const Corpus& corpus) { return copy<std::uint8_t>(disjoint_groups(corpus)); }, "corpus"_a,
        "A group number for every attribute. No two attributes of a group occur at the same position, "
        "except in the last group.");
    m.def(
        "sequences_by_attribute",
        [](const Corpus& corpus) { return copy<std::int64_t>(sequences_by_attribute(corpus)); }, "corpus"_a,
        "The number of sequences that contain each attribute.");
    bind_two_loop(m);
    bind_compact_form(m);
    nb::class_<Sbcd>(m, "Sbcd", "Blockwise coordinate descent over a labelled corpus.")
        .def(
            "__init__",
            [](Sbcd* self, const Corpus& corpus, int threads, const std::string& kernel) {
                construct(self, corpus, kernel_named(kernel), checked_threads(threads));
            },
            "corpus"_a, "threads"_a = 0, "kernel"_a = "auto", nb::keep_alive<1, 2>())
        .def_prop_rw(
            "damping", [](const Sbcd& self) { return copy<double>(self.damping()); },
            [](Sbcd& self, Array1<double> damping) {
                expect_length(damping, self.damping().size(), "damping");
                self.set_damping(view(damping));
            },
            nb::rv_policy::move, "The damping of each attribute, adapted by the sweeps so far.")
        .def(
            "sweep",
            [](Sbcd& self, const FeatureSet& features, Array1<double> w, Array1<double> counts, double rho1,
               double rho2, double as_printed, bool coordinatewise) {
                Result<double, 1> out = copy<double>(view(w));
                const WithoutGil unlocked;
                const double passes =
                    self.sweep(features, span_of(out), view(counts), {rho1, rho2, as_printed, coordinatewise});
                return std::tuple(std::move(out), passes);
            },
            "features"_a, array("w"), array("counts"), nb::kw_only(), "rho1"_a, "rho2"_a, "as_printed"_a,
            "coordinatewise"_a,
            "Make one sweep; return the new weights and the number of forward-backward runs, in passes.");
    bind_sgd(m);
    bind_online(m);
}

}  // namespace sparsecrf::bindings
