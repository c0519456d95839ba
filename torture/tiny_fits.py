"""Tiny random fits: every solver, path and feature list on data of a few tokens, where divisions by zero are likely.

A case is generated from its number alone, so that a finding can be repeated: `python -m torture.tiny_fits NUMBER`. It
may end with `InputError`; any other exception, a warning from NumPy, a result that is not finite, a crash or a hang is
a finding.
"""

from __future__ import annotations

import random
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

from torture.numbered import Cases

CASES = Cases("tiny_fits", count=100_000, at_a_time=1000, longest_s=300)  # a case takes milliseconds
run = CASES.run
_TIME_LIMIT_S = 2.0  # time limit of one fit
_MOST_ITERATIONS = 1000  # of one fit: if a penalty is small, some solvers take 30,000
_LARGEST = 1e6  # largest value of an attribute


def attempt(number: int) -> tuple[list[str], str]:
    """What kind of case it was, and what was found, or nothing."""
    from sklearn.exceptions import ConvergenceWarning

    from sparsecrf import InputError
    from sparsecrf.path import PathWarning
    from sparsecrf.training.value_sizes import ScaleWarning

    rng = random.Random(number)
    kind = rng.choice([*["one"] * 6, *KINDS])  # the cheapest more often
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for meant in (PathWarning, ConvergenceWarning, ScaleWarning):
            warnings.simplefilter("ignore", meant)
        try:
            KINDS[kind](rng)
        except InputError:
            return [f"{kind}, refused"], ""
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            return [kind], f"{kind}: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return [kind], ""


# ---- Data


def sequences(rng: random.Random) -> tuple[list[Any], list[Any], dict[str, list[Any]]]:
    """Tokens, labels and weights of a few sequences; the weights by name, if there are any."""
    labels: list[str | None] = [f"L{k}" for k in range(rng.choice([1, 2, 2, 3, 4]))]
    labels += [None] * rng.choice([0, 0, 0, 1])
    lengths = [rng.choice([0, 1, 1, 2, 3, 5]) for _ in range(rng.choice([1, 1, 2, 3, 6]))]
    kind, one_value = rng.choice(["text", "lists", "pairs"]), rng.choice([0.0, 1.0, -1.0, 1e-9, _LARGEST])
    names = "abcd"[: rng.choice([1, 2, 4])]

    def token() -> Any:
        if kind == "text":
            return rng.choice(names)
        chosen = [rng.choice(names) for _ in range(rng.choice([0, 1, 2, 3]))]
        return chosen if kind == "lists" else [(x, rng.choice([1.0, 1.0, one_value, rng.gauss(0, 1)])) for x in chosen]

    X = [[token() for _ in range(n)] for n in lengths]
    y = [[rng.choice(labels) for _ in range(n)] for n in lengths]
    weights = rng.choice([None, None, "sequences", "tokens"])
    if weights == "sequences":
        return X, y, {"sequence_weight": [rng.choice([0.0, 0.5, 1.0, 3.0, 1e-6]) for _ in lengths]}
    if weights == "tokens":
        return X, y, {"token_weight": [[rng.choice([0.0, 0.0, 0.3, 2.5]) for _ in range(n)] for n in lengths]}
    return X, y, {}


def encoded(rng: random.Random) -> tuple[Any, Any]:
    """A vocabulary, and such sequences as a corpus."""
    from sparsecrf import Vocabulary

    X, y, weights = sequences(rng)
    vocabulary = Vocabulary(bigrams=rng.choice(["bias", "all", ["a"]]), start=rng.random() < 0.8)
    return vocabulary, vocabulary.encode(X, y, grow=True, skip_empty=rng.random() < 0.9, **weights)


# ---- Options


def options(rng: random.Random, solvers: list[str] | None = None) -> dict[str, Any]:
    """Options of `fit`, except for the features and the starting weights."""
    from sparsecrf.training import SOLVERS

    made: dict[str, Any] = {
        "solver": rng.choice(solvers or [*SOLVERS]),
        "rho1": rng.choice([0.0, 0.03, 0.5, 1.05, 10 ** rng.uniform(-4, 2)]),
        "rho2": rng.choice([0.0, 0.01, 0.1, 10 ** rng.uniform(-4, 2)]),
        "tol": rng.choice([5e-3, 1e-6, 0.0]),
        "max_iter": rng.choice([None, None, 0, 1, 3]),
        "time_limit": _TIME_LIMIT_S,
        "threads": 1,
    }
    if rng.random() < 0.15:
        made["gap"] = rng.choice([1e-2, 1e-6])
    if made["tol"] == 0.0 or "gap" in made:
        made["max_iter"] = rng.choice([1, 20, 60])
    if made["solver"] in ("sgd", "sgd-l1"):  # stop after 50 epochs by default
        made["seed"] = rng.randrange(3)
    elif made["max_iter"] is None:
        made["max_iter"] = _MOST_ITERATIONS
    return made


def space(rng: random.Random, corpus: Any) -> dict[str, Any]:
    """Which features a model may have: all, those that occur, or a list of them."""
    import numpy as np

    from sparsecrf._core import FeatureSet
    from sparsecrf.contrib.selection import frequency_cutoff, mutual_information

    kind = rng.choice(["all", "all", "observed", "some", "none", "frequent", "telling"])
    if kind == "all":
        return {}
    if kind == "observed":
        return {"observed_only": True}
    if kind == "frequent":
        return {"numbers": frequency_cutoff(corpus, rng.choice([1e-3, 1.0, 2.0]))}
    if kind == "telling":
        return {"numbers": mutual_information(corpus, rng.choice([0, 1, 3]))}
    observed = FeatureSet.observed(corpus).numbers
    some = [k for k in observed.tolist() if kind == "some" and rng.random() < 0.6]
    return {"numbers": np.array(some, dtype=np.int64)}


# ---- Kinds of fits


def one(rng: random.Random) -> None:
    """A fit, by any solver, over any list of features."""
    from sparsecrf import fit

    vocabulary, corpus = encoded(rng)
    check(fit(corpus, **options(rng), **space(rng, corpus)), vocabulary)


def from_another(rng: random.Random) -> None:
    """A fit that starts from another one and uses dev data, and whose small weights are dropped afterwards."""
    from sparsecrf import fit
    from sparsecrf.contrib.selection import threshold

    vocabulary, corpus = encoded(rng)
    start = fit(corpus, **options(rng))
    watched = {"dev": corpus, "patience": rng.choice([None, 1, 3])} if rng.random() < 0.5 else {}
    found = fit(corpus, init=start, **options(rng), **watched, **space(rng, corpus))
    check(found, vocabulary)
    bounds = {"max_iter": _MOST_ITERATIONS, "time_limit": _TIME_LIMIT_S}
    kept = threshold(found, keep=rng.choice([0, 1, 5]), refit=rng.random() < 0.5, threads=1, **bounds)
    check(kept, vocabulary)


def in_shards(rng: random.Random) -> None:
    """A fit to data in parts."""
    import numpy as np

    from sparsecrf import fit
    from sparsecrf.compatibility import Trait
    from sparsecrf.shards import Shards
    from sparsecrf.training.solvers import SOLVERS

    vocabulary, corpus = encoded(rng)
    whole = np.arange(corpus.n_sequences)
    parts = [corpus.subset(part) for part in np.array_split(whole, min(len(whole), rng.choice([1, 2, 3])))]
    shards = Shards.in_process([lambda part=part: part for part in parts], threads=1)  # type: ignore[misc]
    over_shards = [name for name, kind in SOLVERS.items() if Trait.SHARDS not in kind.capabilities.refuses]
    check(fit(shards, **options(rng, over_shards), **space(rng, corpus)), vocabulary)


def resumed(rng: random.Random) -> None:
    """A fit that stops after some iterations and resumes from its checkpoint."""
    from sparsecrf import fit

    vocabulary, corpus = encoded(rng)
    how, features = options(rng), space(rng, corpus)
    with tempfile.TemporaryDirectory() as directory:
        kept = Path(directory, "run")
        fit(corpus, checkpoint=kept, **{**how, "max_iter": rng.choice([0, 1, 2, 5])}, **features)
        check(fit(corpus, checkpoint=kept, resume=True, **how, **features), vocabulary)


def along_a_path(rng: random.Random) -> None:
    """A path: a grid, given values, or a search by the error on dev data."""
    from sparsecrf.path import path

    vocabulary, corpus = encoded(rng)
    how = options(rng)
    del how["rho1"]
    grid = rng.choice([{"n_rho": 3}, {"rho1": [2.0, 0.3, 0.0]}, {"n_rho": 2, "rho_min_ratio": 0.01}, {}])
    dev = corpus if not grid or rng.random() < 0.5 else None
    for found in path(corpus, dev=dev, **grid, **how, **space(rng, corpus)):
        check(found, vocabulary)


def by_folds(rng: random.Random) -> None:
    """A cross-validated path."""
    from sparsecrf.path import cross_validate

    vocabulary, corpus = encoded(rng)
    how = options(rng)
    del how["rho1"]
    grid = rng.choice([{"n_rho": 2}, {"rho1": [1.0, 0.1]}, {}])
    for found in cross_validate(corpus, folds=2, **grid, **how, **space(rng, corpus)):
        check(found, vocabulary)


def estimator(rng: random.Random) -> None:
    """The scikit-learn estimator, which labels its own training data."""
    from sparsecrf import CRF
    from sparsecrf.estimators.solver_options import FURTHER

    X, y, weights = sequences(rng)
    how = options(rng)
    del how["threads"]
    how["random_state"] = how.pop("seed", None)
    further = {name: how.pop(name) for name in FURTHER if name in how}
    bigrams, further["observed_only"] = rng.choice(["bias", "all"]), rng.random() < 0.3
    crf = CRF(bigrams=bigrams, solver_options=further, **how)
    crf.fit(X, y, *weights.values())
    answers = crf.predict(X)
    if [len(answer) for answer in answers] != [len(sequence) for sequence in X]:
        raise AssertionError("expected a label for each token")
    crf.predict_marginals(X)
    crf.score(X, [[label or "L0" for label in labels] for labels in y])


KINDS: dict[str, Callable[[random.Random], None]] = {
    kind.__name__: kind for kind in (one, from_another, in_shards, resumed, along_a_path, by_folds, estimator)
}


def check(found: Any, vocabulary: Any) -> None:
    """Check that a fit is finite and no worse than it claims, and that its model is the same after saving and
    loading."""
    from sparsecrf import Model

    numbers = {"objective": found.objective, "loss": found.loss, **dict(enumerate(found.w.tolist()))}
    if found.stopped_by != "time_limit":  # a certificate that would take longer is skipped
        numbers["kkt"] = found.kkt
    for name, value in numbers.items():
        if not isfinite(value):
            raise AssertionError(f"{name}: expected a finite number, found {value}")
    rounding = 1e-14 * (1 + _LARGEST * float(abs(found.w).sum()))  # of the scores
    if not (found.gap >= 0 and found.objective >= -rounding):
        raise AssertionError(f"expected a gap and an objective >= 0, found {found.gap} and {found.objective}")
    Model.from_bytes(found.model(vocabulary).to_bytes())


if __name__ == "__main__":
    print(*attempt(int(sys.argv[1])))
