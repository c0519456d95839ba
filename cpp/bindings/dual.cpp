#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "callback.hpp"
#include "core/training/dual/dual_ascent.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {

void bind_dual(nb::module_& m) {
    nb::class_<DualAscent>(m, "DualAscent", "Dual coordinate ascent over a labelled corpus.")
        .def(
            "__init__",
            [](DualAscent* self, const Corpus& corpus, const FeatureSet* features, double rho1, double rho2,
               int threads) { construct(self, corpus, features, rho1, rho2, checked_threads(threads)); },
            "corpus"_a, "features"_a.none(), "rho1"_a, "rho2"_a, "threads"_a = 1, nb::keep_alive<1, 2>())
        .def_static("bytes", &DualSpace::bytes, "corpus"_a, "The memory needed for a corpus, in bytes.")
        .def_static("occurrences", &DualSpace::occurrences, "corpus"_a,
                    "The number of occurrences of unigram attributes in a corpus.")
        .def(
            "start",
            [](DualAscent& self, const FeatureSet& features, Array1<double> w) { self.start(features, view(w)); },
            nb::call_guard<WithoutGil>(), "features"_a, array("w"),
            "Start from a mixture of the data's labels and the model with these weights.")
        .def(
            "order",
            [](const DualAscent& self, std::uint64_t seed, std::uint64_t epoch, bool by_gaps) {
                return copy<std::int64_t>(self.order(seed, epoch, by_gaps));
            },
            "seed"_a, "epoch"_a, nb::kw_only(), "by_gaps"_a,
            "The sequences of an epoch: a random permutation of those with positive weight or, if `by_gaps`, the same "
            "number drawn in proportion to their gaps.")
        .def(
            "run",
            [](DualAscent& self, Array1<std::int64_t> sequences, const GoOn& go_on) {
                const DualAscent::GoOn ask = ask_in_python(go_on);
                const WithoutGil unlocked;
                self.run(view(sequences), ask);
            },
            array("sequences"), nb::kw_only(), "go_on"_a = nb::none(),
            "Take a step for each sequence. `go_on` is called a few times per second with the number of "
            "steps done; returning False stops the run.")
        .def("use_doubles", &DualAscent::use_doubles, nb::call_guard<WithoutGil>(),
             "Store probabilities in double precision from now on; needed when gaps are small.")
        .def("never_descend", &DualAscent::never_descend, "Shorten steps so that they never lower the bound.")
        .def("recenter", &DualAscent::recenter, "share"_a,
             "Move the center of the proximal term to the weights; its curvature is `share` times that of the loss.")
        .def(
            "evaluate",
            [](DualAscent& self) {
                const WithoutGil unlocked;
                const DualAscent::Values found = self.evaluate();
                return std::tuple(found.loss, found.penalty, found.bound, found.inner_gap, found.rounding);
            },
            "Loss and penalty of the weights, the lower bound, the sum of the gaps of all sequences, and the largest "
            "change of the bound or the sum due to rounding.")
        .def("certify", &DualAscent::certify, nb::call_guard<WithoutGil>(),
             "The lower bound, recomputed after making the distributions exactly consistent.")
        .def(
            "finish",
            [](DualAscent& self, const FeatureSet& features, Array1<double> w) {
                const WithoutGil unlocked;
                const DualAscent::Optimality found = self.finish(features, view(w));
                return std::tuple(found.loss, found.residual);
            },
            nb::arg("features"), array("w"),
            "The loss at these weights, and the sum of |smallest subgradient| over all features. No other call may "
            "follow.")
        .def(
            "weights",
            [](const DualAscent& self) {
                const DualSpace::Weights found = self.weights();
                return std::tuple(copy<std::int64_t>(found.numbers), copy<double>(found.w));
            },
            "The numbers of the features with nonzero weights, ascending, and their weights.")
        .def(
            "state",
            [](DualAscent& self) {
                std::vector<Result<double, 1>> arrays;
                for (const std::span<double> part : self.state()) arrays.push_back(copy<double>(part));
                arrays.push_back(copy<double>(self.space().centers()));
                arrays.push_back(copy<double>(self.distributions().all_pairs()));
                return arrays;
            },
            "A copy of the state that steps change.")
        .def(
            "restore",
            [](DualAscent& self, const std::vector<Array1<double>>& arrays) {
                const std::vector<std::span<double>> parts = self.state();
                const std::size_t n = parts.size();
                if (arrays.size() != n + 2 || arrays[n].size() == 0) {
                    throw InputError("state: expected ", n + 2, " arrays, found ", arrays.size());
                }
                for (std::size_t k = 0; k < n; ++k) expect_length(arrays[k], parts[k].size(), "state");
                expect_length(arrays[n + 1], self.distributions().n_all_pairs(), "state");
                for (std::size_t k = 0; k < parts.size(); ++k) {
                    const std::span<const double> from = view(arrays[k]);
                    std::copy(from.begin(), from.end(), parts[k].begin());
                }
                self.space().set_centers(view(arrays[n]));
                self.distributions().set_all_pairs(view(arrays[n + 1]));
                self.space().find_active();
            },
            "arrays"_a, "Resume from a state.");
}

}  // namespace sparsecrf::bindings
