#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>

#include "arrays.hpp"
#include "core/inference/chain.hpp"
#include "core/training/oracle.hpp"
#include "module.hpp"

namespace sparsecrf::bindings {
namespace {

using Weights = Array1<double>;
using Labels = Array1<std::int32_t>;
using Doubles = Result<double, 1>;

const Constraints kFree;

const Constraints& given(const Constraints* constraints) { return constraints == nullptr ? kFree : *constraints; }

void bind_oracle(nb::module_& m) {
    nb::class_<Oracle>(m, "Oracle",
                       "Loss and derivatives of a labelled corpus on any set of features. Not thread-safe.")
        .def(
            "__init__",
            [](Oracle* self, const Corpus& corpus, int threads, const std::string& kernel) {
                construct(self, corpus, kernel_named(kernel), checked_threads(threads));
            },
            "corpus"_a, "threads"_a = 0, "kernel"_a = "auto", nb::keep_alive<1, 2>())
        .def(
            "counts", [](Oracle& o, const FeatureSet& f) { return copy<double>(o.counts(f)); }, "features"_a,
            "Weighted empirical count of every feature.")
        .def(
            "loss", [](Oracle& o, const FeatureSet& f, Weights w) { return o.loss(f, view(w)); },
            nb::call_guard<WithoutGil>(), "features"_a, array("w"), "sum_i w_i (log Z - score of the labels)")
        .def(
            "loss_grad",
            [](Oracle& o, const FeatureSet& f, Weights w, std::optional<Weights> counts) {
                auto g = make<double>(f.size());
                const WithoutGil unlocked;
                const double loss = o.gradient(f, view(w), span_of(g), {}, view(counts));
                return std::tuple(loss, std::move(g));
            },
            "features"_a, array("w"), array("counts") = nb::none(),
            "The loss and its gradient for every feature of the set, including those with zero weight.")
        .def(
            "masses",
            [](Oracle& o, bool absolute) {
                const Masses mass = o.masses(absolute);
                return std::tuple(copy<double>(mass.unigram), copy<double>(mass.start), copy<double>(mass.inner));
            },
            "absolute"_a = false,
            "Sums of w v for every attribute: over unigram lists, and over bigram lists of first and of "
            "later positions. absolute: sums of |w v|.")
        .def(
            "value_logs",
            [](const Oracle& o) {
                const ValueLogs of = o.value_logs();
                return std::tuple(copy<double>(of.unigram), copy<double>(of.of_unigram), copy<double>(of.bigram),
                                  copy<double>(of.of_bigram));
            },
            "Sums of |w| log |v| and of |w| over the nonzero values v of every attribute: in unigram lists "
            "and dense columns, and in bigram lists.")
        .def("release_tables", &Oracle::release_tables, "Free the memory that passes keep for later ones.")
        .def_prop_ro(
            "signs_agree_in_lists", [](const Oracle& oracle) { return oracle.signs_agree(true); },
            "Whether `signs_agree` holds for all attributes in lists, ignoring dense columns.")
        .def_prop_ro(
            "signs_agree", [](const Oracle& oracle) { return oracle.signs_agree(); },
            "Whether |E - C| <= max(E, C) for every feature: no value is negative, no label is missing, and "
            "there are no dense columns.")
        .def(
            "candidates",
            [](Oracle& o, const FeatureSet& f, Weights w, double bound) {
                return copy<std::int64_t>(without_gil([&] { return o.candidates(f, view(w), bound); }));
            },
            "features"_a, array("w"), "bound"_a,
            "The numbers of all possible features whose expectation at w could exceed the bound; all others "
            "are below it.")
        .def(
            "ngram_bounds",
            [](Oracle& o, const FeatureSet& f, Weights w, Array1<std::int64_t> listed) {
                auto bound = make<double>(listed.size(), o.corpus().n_labels + 1);
                auto counts = make<double>(listed.size(), o.corpus().n_labels + 1);
                const WithoutGil unlocked;
                const std::int64_t bounded = o.ngram_bounds(f, view(w), view(listed), span_of(bound), span_of(counts));
                return std::tuple(std::move(bound), std::move(counts), bounded);
            },
            "features"_a, array("w"), array("listed"),
            "Extends each of the features with these indices in the set by every preceding label (the start label "
            "last). Returns upper bounds on the expectations of the extended features, their counts, and the number "
            "of sequences with inexact bounds. If it is 0, the bounds for strings that are not in the set are exact.")
        .def(
            "shard_sums",
            [](Oracle& o, const FeatureSet& f, Weights w, double bound, Weights unigram, Weights start, Weights inner,
               double fraction) {
                const auto all = [](const Weights& x) { return std::vector<double>(x.data(), x.data() + x.size()); };
                const ShardSums sums = without_gil(
                    [&] { return o.shard_sums(f, view(w), bound, {all(unigram), all(start), all(inner)}, fraction); });
                return std::tuple(copy<std::int64_t>(sums.cell), copy<double>(sums.sum), copy<double>(sums.share));
            },
            "features"_a, array("w"), "bound"_a, array("unigram"), array("start"), array("inner"), "fraction"_a,
            "The contribution of this shard to the candidates of all shards, given their total absolute "
            "masses: cells, sums, and shares of the mass (cpp/core/training/screening/screen.hpp).")
        .def(
            "loss_grad_curvature",
            [](Oracle& o, const FeatureSet& f, Weights w, std::optional<Weights> counts) {
                auto g = make<double>(f.size());
                auto h = make<double>(f.size());
                const WithoutGil unlocked;
                const double loss = o.gradient(f, view(w), span_of(g), span_of(h), view(counts));
                return std::tuple(loss, std::move(g), std::move(h));
            },
            "features"_a, array("w"), array("counts") = nb::none(),
            "Loss, gradient and the approximate second derivatives sum_t w v^2 p (1 - p).")
        .def(
            "block_curvature",
            [](Oracle& o, const FeatureSet& f, Weights w, Array1<std::int64_t> block, int every) {
                return filled(make<double>(block.size(), block.size()),
                              [&](auto h) { o.block_curvature(f, view(w), view(block), every, h); });
            },
            "features"_a, array("w"), array("block"), "every"_a = 1,
            "Second derivatives between the features with these indices in the set, without the coupling of "
            "different positions; estimated from every n-th sequence.")
        .def(
            "sequence_factors",
            [](Oracle& o, const FeatureSet& f, Weights w, Array1<std::int64_t> listed, Weights total, double rho1,
               double rho2, int sweeps, std::int64_t max_entries, std::optional<Weights> thresholds, bool alone,
               std::optional<Weights> centre) {
                expect_length(total, listed.size(), "total");
                expect_length(thresholds, listed.size(), "thresholds");
                const std::vector<double> all(thresholds ? 0 : listed.size(), rho1);
                Doubles G = copy<double>(view(total));
                const WithoutGil unlocked;
                const double entropy = o.sequence_factors(
                    f, view(w), view(listed),
                    {thresholds ? view(thresholds) : all, rho2, sweeps, max_entries, alone, view(centre)}, span_of(G));
                return std::tuple(entropy, std::move(G));
            },
            "features"_a, array("w"), array("listed"), array("total"), nb::kw_only(), "rho1"_a, "rho2"_a, "sweeps"_a,
            "max_entries"_a, "thresholds"_a = nb::none(), "alone"_a = false, "centre"_a = nb::none(),
            "The dual point (1 - s) data + s model with the best factor s for each sequence: its entropy, "
            "and G on the listed features. total: the gradient of all data on the listed features, "
            "including other corpora unless `alone`. thresholds: replaces rho1 by one value per listed "
            "feature. centre: weights of the listed features on which the penalty is centered; the entropy "
            "is then H + centre . G.");
}

void bind_constraints(nb::module_& m) {
    nb::class_<Constraints>(
        m, "Constraints",
        "Constraints on label sequences: allowed bool[P, Y], forbidden bool[Y+1, Y] (previous label\n"
        "by label, last row: start), fixed int32[P] (-1: free).")
        .def(
            "__init__",
            [](Constraints* self, std::int64_t n_labels, std::optional<Array2<bool>> allowed,
               std::optional<Array2<bool>> forbidden, std::optional<Labels> fixed) {
                const auto Y = static_cast<std::size_t>(n_labels);
                if (n_labels < 1) throw InputError("constraints: expected at least 1 label, found ", n_labels);
                if (allowed && allowed->shape(1) != Y) {
                    throw InputError("allowed: expected ", Y, " columns, one per label, found ", allowed->shape(1));
                }
                if (forbidden && (forbidden->shape(0) != Y + 1 || forbidden->shape(1) != Y)) {
                    throw InputError("forbidden: expected shape (", Y + 1, ", ", Y, "), found (", forbidden->shape(0),
                                     ", ", forbidden->shape(1), ")");
                }
                new (self) Constraints();
                self->n_labels = n_labels;
                if (allowed) self->allowed.assign(allowed->data(), allowed->data() + allowed->size());
                if (forbidden) self->forbidden.assign(forbidden->data(), forbidden->data() + forbidden->size());
                if (fixed) self->fixed.assign(fixed->data(), fixed->data() + fixed->size());
            },
            "n_labels"_a, array("allowed") = nb::none(), array("forbidden") = nb::none(), array("fixed") = nb::none());
}

Result<double, 2> marginals(const Chain& chain, const Corpus& corpus, const Constraints* constraints) {
    return filled(make<double>(corpus.n_tokens(), corpus.n_labels),
                  [&](auto out) { chain.marginals(corpus, given(constraints), out); });
}

void bind_chain(nb::module_& m) {
    const auto constraints = "constraints"_a.none() = nb::none();
    nb::class_<Chain>(m, "Chain", "A CRF with fixed weights; thread-safe.")
        .def(
            "__init__",
            [](Chain* self, std::shared_ptr<FeatureSet> features, Weights w, const std::string& kernel, int threads) {
                const auto all = view(w);
                new (self) Chain(std::move(features), std::vector<double>(all.begin(), all.end()), kernel_named(kernel),
                                 checked_threads(threads));
            },
            "features"_a, array("w"), "kernel"_a = "auto", "threads"_a = 0)
        .def(
            "log_partition",
            [](const Chain& c, const Corpus& corpus, const Constraints* k) {
                return filled(make<double>(corpus.n_sequences()),
                              [&](auto out) { c.log_partition(corpus, given(k), out); });
            },
            "corpus"_a, constraints, "log Z of every sequence.")
        .def(
            "score",
            [](const Chain& c, const Corpus& corpus) {
                return filled(make<double>(corpus.n_sequences()), [&](auto out) { c.score(corpus, out); });
            },
            "corpus"_a, "The score of each sequence's own labels.")
        .def(
            "log_prob",
            [](const Chain& c, const Corpus& corpus, const Constraints* k) {
                return filled(make<double>(corpus.n_sequences()), [&](auto out) { c.log_prob(corpus, given(k), out); });
            },
            "corpus"_a, constraints, "The log-probability of each sequence's known labels, summed over missing ones.")
        .def("marginals", &marginals, "corpus"_a, constraints, "P(y_t = y), one row per position.")
        .def(
            "edge_marginals",
            [](const Chain& c, const Corpus& corpus, std::int64_t i, const Constraints* k) {
                const bool known = i >= 0 && i < corpus.n_sequences();
                return filled(make<double>(known ? corpus.length(i) : 0, corpus.n_labels + 1, corpus.n_labels),
                              [&](auto out) { c.edge_marginals(corpus, i, given(k), out); });
            },
            "corpus"_a, "sequence"_a, constraints,
            "P(y_{t-1} = y', y_t = y) of one sequence, [T, Y+1, Y]; at t = 0 only the start row is nonzero.")
        .def(
            "span_log_prob",
            [](const Chain& c, const Corpus& corpus, std::int64_t i, std::int64_t start, Labels labels,
               const Constraints* k) { return c.span_log_prob(corpus, i, start, view(labels), given(k)); },
            nb::call_guard<WithoutGil>(), "corpus"_a, "sequence"_a, "start"_a, array("labels"), constraints,
            "The log-probability of these labels from position `start` on.")
        .def(
            "viterbi",
            [](const Chain& c, const Corpus& corpus, const Constraints* k) {
                auto labels = make<std::int32_t>(corpus.n_tokens());
                auto scores = filled(make<double>(corpus.n_sequences()),
                                     [&](auto out) { c.viterbi(corpus, given(k), span_of(labels), out); });
                return std::tuple(std::move(labels), std::move(scores));
            },
            "corpus"_a, constraints,
            "The best labels of all positions and the score of each sequence; ties go to the smaller label.")
        .def(
            "posterior",
            [](const Chain& c, const Corpus& corpus, const Constraints* k) {
                const Result<double, 2> p = marginals(c, corpus, k);
                auto out = make<std::int32_t>(corpus.n_tokens());
                const auto Y = static_cast<std::size_t>(corpus.n_labels);
                for (std::size_t t = 0; t < out.size(); ++t) {
                    const double* row = p.data() + t * Y;
                    out.data()[t] = static_cast<std::int32_t>(std::max_element(row, row + Y) - row);
                }
                return out;
            },
            "corpus"_a, constraints, "The most probable label of every position.")
        .def(
            "nbest",
            [](const Chain& c, const Corpus& corpus, std::int64_t i, std::int64_t k, const Constraints* constraints) {
                const std::vector<Labelling> paths =
                    without_gil([&] { return c.nbest(corpus, i, k, given(constraints)); });
                const std::int64_t T = corpus.length(i);
                auto labels = make<std::int32_t>(paths.size(), T);
                auto scores = make<double>(paths.size());
                for (std::size_t r = 0; r < paths.size(); ++r) {
                    std::copy(paths[r].labels.begin(), paths[r].labels.end(), labels.data() + r * T);
                    scores.data()[r] = paths[r].score;
                }
                return std::tuple(std::move(labels), std::move(scores));
            },
            "corpus"_a, "sequence"_a, "k"_a, constraints,
            "The k best paths of one sequence and their scores, best first; fewer if fewer exist.");
}

}  // namespace

void bind_inference(nb::module_& m) {
    bind_oracle(m);
    bind_constraints(m);
    bind_chain(m);
}

}  // namespace sparsecrf::bindings
