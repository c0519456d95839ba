"""The golden cases: training with every solver in every mode, then what the model answers.

A mode is a way to use the package that has code of its own: features of label pairs of all attributes, label n-grams,
parts of labels, dense columns, groups, weights, missing labels, ... `MODES` says which solvers it is allowed with.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

import c_answers
import core_cases
import internals
import program_cases
import tiny_data
from case import Case, Setting
from digest import stable_file
from sparsecrf import CRF, CRFCV, FeatureGroups, Recipe, Resource
from tiny_data import Data

EVERY = ("auto", "dual", "sbcd", "cd", "owlqn", "lbfgs", "fista", "sgd", "sgd-l1")
ALL = ("auto", "sbcd", "cd", "owlqn", "lbfgs", "fista", "sgd", "sgd-l1")
PARTS = ("auto", "owlqn", "lbfgs", "fista", "sgd", "sgd-l1")
LONGER = ("auto", "owlqn", "lbfgs", "fista", "sgd-l1")
DENSE = ("auto", "owlqn", "lbfgs", "fista")
GROUPS = ("auto", "fista")
SOME = ("auto", "owlqn")

TEMPLATE = """U0:%x[0,0]
U1:%X[-1,0]/%x[0,1]
U2:%s[0,0,2]
U3:%t[0,0,"^[A-Z]"]
U4:%d[0,0,places]
U5:%h[0,0,1]
*6:%x[0,1]
B
"""
NGRAM_TEMPLATE = "U0:%x[0,0]\nU1:%x[0,1]\nB\nT\nT1:%x[0,1]\n"


class Mode(NamedTuple):
    data: Callable[[], Data]
    solvers: tuple[str, ...] = ALL
    options: Mapping[str, Any] = MappingProxyType({})


def _own_groups() -> FeatureGroups:
    return FeatureGroups(lambda name, labels: [name.partition("=")[0], len(labels)], name="kinds")


def _lexicon() -> list[Resource]:
    with TemporaryDirectory() as folder:
        file = Path(folder, "places.txt")
        file.write_text("Oslo\tcity\nLima\tcity\nAccra\ttown\n", encoding="utf-8")
        return [Resource.lexicon("places", file)]


@cache
def _vector_file() -> Any:
    """Vectors of words, read from a file that need not stay."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "vectors.txt")
        file.write_text(tiny_data.vector_text(), encoding="utf-8")
        return internals.word_vectors(file)


#: Options of modes that belong to `solver_options`.
FURTHER = ("class_pairs", "gap", "group_weight", "observed_only", "order_factor")

_rare_ud = partial(tiny_data.ud, rare_too=True)

MODES: dict[str, Mode] = {
    "plain": Mode(tiny_data.attributes, EVERY),
    "all bigrams": Mode(tiny_data.attributes, EVERY, {"bigrams": "all"}),
    "rare attributes": Mode(tiny_data.rare, ALL, {"bigrams": "all"}),
    "rare attributes, order 3": Mode(tiny_data.rare, LONGER, {"bigrams": "all", "order": 3}),
    "rare attributes, label parts": Mode(_rare_ud, PARTS, {"bigrams": "all", "label_parts": "ud"}),
    "rare attributes, class pairs": Mode(_rare_ud, PARTS, {"bigrams": "all", "label_parts": "ud", "class_pairs": True}),
    "order 3": Mode(tiny_data.attributes, LONGER, {"order": 3}),
    "order 3, 14 iterations": Mode(tiny_data.attributes, LONGER, {"order": 3, "max_iter": 14}),
    "order 3, all bigrams": Mode(tiny_data.attributes, LONGER, {"order": 3, "bigrams": "all"}),
    "any order": Mode(tiny_data.attributes, LONGER, {"order": None, "order_factor": 1.5}),
    "label parts": Mode(tiny_data.attributes, PARTS, {"label_parts": "bio"}),
    "label parts, all bigrams": Mode(tiny_data.ud, PARTS, {"label_parts": "ud", "bigrams": "all"}),
    "label parts, order 3": Mode(tiny_data.ud, SOME, {"label_parts": "|", "order": 3}),
    "class pairs": Mode(tiny_data.ud, PARTS, {"label_parts": "ud", "class_pairs": True}),
    "class pairs, all bigrams": Mode(tiny_data.ud, SOME, {"label_parts": "ud", "class_pairs": True, "bigrams": "all"}),
    "class pairs, observed": Mode(
        tiny_data.ud, SOME, {"label_parts": "ud", "class_pairs": True, "observed_only": True}
    ),
    "dense": Mode(tiny_data.dense, DENSE),
    "dense, not standardised": Mode(tiny_data.dense, SOME, {"template": Recipe(standardize=False, vectors_scale=0.5)}),
    "dense, groups": Mode(tiny_data.dense, GROUPS, {"penalty": "group:attribute"}),
    "word vectors": Mode(tiny_data.words, DENSE, {"vectors": _vector_file, "features": "words"}),
    "group:attribute": Mode(tiny_data.attributes, GROUPS, {"penalty": "group:attribute", "bigrams": "all"}),
    "group:label": Mode(tiny_data.attributes, GROUPS, {"penalty": "group:label"}),
    "group:line": Mode(tiny_data.rows, GROUPS, {"penalty": "group:line", "template": TEMPLATE, "resources": _lexicon}),
    "tree": Mode(tiny_data.attributes, GROUPS, {"penalty": "tree", "bigrams": "all", "group_weight": 0.5}),
    "own groups": Mode(tiny_data.attributes, GROUPS, {"penalty": _own_groups}),
    "groups, order 3": Mode(tiny_data.attributes, GROUPS, {"penalty": "group:attribute", "order": 3}),
    "groups, label parts": Mode(tiny_data.ud, GROUPS, {"penalty": "group:label", "label_parts": "ud"}),
    "tree, class pairs": Mode(tiny_data.ud, GROUPS, {"penalty": "tree", "label_parts": "ud", "class_pairs": True}),
    "sequence weights": Mode(partial(tiny_data.weighted, tokens=False), EVERY),
    "token weights": Mode(partial(tiny_data.weighted, tokens=True)),
    "token weights, order 3": Mode(partial(tiny_data.weighted, tokens=True), SOME, {"order": 3}),
    "class weights": Mode(tiny_data.attributes, ALL, {"class_weight": "balanced"}),
    "missing labels": Mode(tiny_data.missing),
    "values": Mode(tiny_data.values, SOME, {"bigrams": "all"}),
    "values, order 3": Mode(tiny_data.values, LONGER, {"bigrams": "all", "order": 3, "max_iter": 14}),
    "values, label parts": Mode(tiny_data.ud_values, PARTS, {"bigrams": "all", "label_parts": "ud"}),
    "values, class pairs": Mode(
        tiny_data.ud_values, SOME, {"bigrams": "all", "label_parts": "ud", "class_pairs": True}
    ),
    "negative values": Mode(partial(tiny_data.values, negative=True), EVERY, {"bigrams": "all"}),
    "matrices": Mode(tiny_data.matrix, SOME),
    "observed only": Mode(tiny_data.attributes, EVERY, {"observed_only": True, "bigrams": "all"}),
    "observed only, order 3": Mode(tiny_data.attributes, SOME, {"observed_only": True, "order": 3}),
    "rho1 0": Mode(tiny_data.attributes, EVERY, {"rho1": 0.0, "rho2": 0.5}),
    "rho2 0": Mode(tiny_data.attributes, ("auto", "sbcd", "owlqn", "fista", "sgd-l1"), {"rho2": 0.0}),
    "no start": Mode(tiny_data.attributes, ALL, {"start": False}),
    "no start, order 3": Mode(tiny_data.attributes, SOME, {"start": False, "order": 3}),
    "gap": Mode(tiny_data.attributes, ("auto", "owlqn", "lbfgs"), {"gap": 0.02, "max_iter": 40}),
    "gap, order 3": Mode(tiny_data.attributes, ("auto",), {"gap": 0.05, "max_iter": 25, "order": 3}),
    "gap, groups": Mode(tiny_data.attributes, ("auto",), {"gap": 0.05, "max_iter": 25, "penalty": "tree"}),
    "many labels": Mode(tiny_data.many_labels, ("auto", "sbcd", "owlqn", "sgd-l1")),
    "template": Mode(tiny_data.rows, ALL, {"template": TEMPLATE, "resources": _lexicon}),
    "template, order 3": Mode(tiny_data.rows, SOME, {"template": NGRAM_TEMPLATE, "order": 3}),
    "words": Mode(tiny_data.words, ("auto", "dual", "sgd-l1"), {"features": "words"}),
    "tagging": Mode(tiny_data.words, ("auto",), {"features": "tagging"}),
    "letters": Mode(tiny_data.letters, ("auto",), {"features": "letters"}),
    "columns": Mode(tiny_data.rows, ("auto",), {"features": "columns"}),
    "documents": Mode(tiny_data.documents, ("auto",), {"features": "documents"}),
}

#: Input that the C library rejects (vectors) or has no function for (matrices).
NOT_IN_C = ("dense", "dense, not standardised", "dense, groups", "word vectors", "matrices")


@cache
def _data(mode: str) -> Data:
    return MODES[mode].data()


def _estimator(mode: str, solver: str, threads: int, kind: Any = CRF) -> Any:
    options = {name: value() if callable(value) else value for name, value in MODES[mode].options.items()}
    options = {"rho1": 0.3, "rho2": 0.05, "tol": 1e-4, "max_iter": 6, **options}
    if solver == "sgd":  # has no l1 penalty
        options["rho1"] = 0.0
    further = {name: options.pop(name) for name in FURTHER if name in options}
    if further:
        options["solver_options"] = further
    return kind(solver=solver, n_jobs=threads, random_state=3, **options)


def trained(crf: Any) -> dict[str, Any]:
    """What training found."""
    history = [{name: value for name, value in vars(r).items() if name != "time_s"} for r in crf.history_]
    return {
        "features": internals.feature_numbers(crf.model_),
        "weights": crf.model_.w,
        "objective": [crf.objective_, crf.loss_],
        "gap": [crf.gap_, crf.kkt_],
        "history": [crf.n_iter_, crf.stopped_by_, history],
        "model": stable_file(crf.model_.to_bytes()),
    }


def answers(crf: Any, data: Data) -> dict[str, Any]:
    """What the estimator and its model say of new sequences."""
    model, X, y = crf.model_, data.new_X, data.new_y
    chunks = {"spans": crf.predict_spans(X)} if "O" in model.labels else {}
    fixed = [labels[0] if labels[0] in model.labels else None for labels in y]
    known = [[label if label in model.labels else None for label in labels] for labels in y]
    return {
        "labels": [list(map(list, crf.predict(X))), [model.label(x) for x in X]],
        "constrained labels": [
            model.label(x, fixed=[first, *[None] * (n - 1)], forbidden=[(model.labels[0], model.labels[-1])])
            for x, first, n in zip(X, fixed, map(len, known), strict=True)
        ],
        "marginals": [crf.predict_marginals(X), [model.marginals(x) for x in X]],
        "n-best": [crf.predict_nbest(X, 3), [model.nbest(x, 3) for x in X]],
        "log prob": [model.log_prob(x, labels) for x, labels in zip(X, known, strict=True)],
        **chunks,
    }


def _train(mode: str, solver: str, setting: Setting) -> dict[str, Any]:
    data = _data(mode)
    crf = _estimator(mode, solver, setting.threads).fit(data.X, data.y, **data.fit)
    found = {**trained(crf), **answers(crf, data)}
    if c_answers.comparable(setting) and mode not in NOT_IN_C:
        found["C library"] = c_answers.answers(crf.model_.to_bytes(), data.new_X)
    return found


def _more(name: str, setting: Setting) -> dict[str, Any]:
    """Several trainings after one another."""
    data = _data("plain")
    if name == "warm start":
        crf = _estimator("plain", "auto", setting.threads).set_params(warm_start=True)
        crf.fit(data.X[:7], data.y[:7]).set_params(rho1=0.1).fit(data.X, data.y)
        return {**trained(crf), **answers(crf, data)}
    if name == "dev":
        crf = _estimator("plain", "owlqn", setting.threads).set_params(solver_options={"patience": 2}, max_iter=15)
        return trained(crf.fit(data.X, data.y, dev=(data.new_X, data.new_y)))
    if name == "path":
        path = _estimator("plain", "auto", setting.threads).path(data.X, data.y, rho1s=[2.0, 0.5, 0.2])
        return {"model": [stable_file(path.model(k).to_bytes()) for k in range(3)]}
    cv = CRFCV(n_rho=3, rho_min_ratio=0.1, tol=0.05, cv=2, n_jobs=setting.threads).fit(data.X, data.y)
    return {"model": stable_file(cv.model_.to_bytes()), "labels": list(map(list, cv.predict(data.new_X)))}


def _as_crfsuite(algorithm: str, setting: Setting) -> dict[str, Any]:
    """CRFsuite's algorithms, of which `ap`, `pa` and `arow` are in no solver."""
    data = _data("plain")
    crf = internals.crfsuite_estimator(algorithm=algorithm, max_iterations=4).fit(data.X, data.y)
    weights = [sorted(crf.state_features_.items()), sorted(crf.transition_features_.items())]
    return {"weights": weights, "labels": list(map(list, crf.predict(data.new_X)))}


def _quiet(run: Callable[[Setting], dict[str, Any]], setting: Setting) -> dict[str, Any]:
    """Runs of six iterations warn that they end too early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(setting)


def all_cases() -> list[Case]:
    found = [
        Case(f"train/{mode}/{solver}", partial(_train, mode, solver), once=solver != "auto")
        for mode, (_, solvers, _) in MODES.items()
        for solver in solvers
    ]
    found += [Case(f"train/{name}", partial(_more, name)) for name in ("warm start", "dev", "path", "cv")]
    found += [Case(f"train/as CRFsuite/{name}", partial(_as_crfsuite, name)) for name in ("ap", "pa", "arow", "lbfgs")]
    found += [*core_cases.cases(), *program_cases.cases()]
    return [case._replace(run=partial(_quiet, case.run)) for case in found]
