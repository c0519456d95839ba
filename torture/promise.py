"""The promise of `tol`: a run that stops by it is at most `tol` times its objective above the optimum.

The problems are small and random: values of 1, of either sign, and from 1e-3 to 1e3; every solver, label n-grams,
groups, trees. A case is generated from its number alone: `python -m torture.promise NUMBER`. A fit keeps the promise if
its certified gap says so. Otherwise other solvers start from it, with features scaled by the sizes of their values if
that helps, until one reaches an objective lower than the promise allows (a finding) or a bound proves that none can. A
case that neither decides is counted as open.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from contextlib import suppress
from typing import Any

from torture.numbered import Cases

CASES = Cases("promise", count=11_000, at_a_time=50, longest_s=1800)
run = CASES.run
_SHARE = 0.02  # share of `tol` within which a reference must be certified before it can judge a fit
_SOLVERS = ("auto", "auto", "auto", "auto", "fista", "owlqn", "lbfgs", "sbcd", "cd", "sgd", "sgd-l1")
# A run that takes more than this makes no promise.
_MOST_ITERATIONS = {"auto": 600, "dual": 600, "fista": 1000, "owlqn": 600, "lbfgs": 100, "sbcd": 150, "cd": 150}
_FIRST_OF_DUAL = 10_000  # cases from this number on use `dual`, the others one of _SOLVERS


# ---- Problems


def problem(rng: random.Random) -> tuple[str, Any]:
    """The kind of values, and a corpus."""
    from sparsecrf import Vocabulary

    values = rng.choice(["ones", "ones", "positive", "signed", "wild", "wild", "wild signed"])
    n_labels, n_attributes = rng.choice([2, 3, 3, 4]), rng.choice([3, 6, 12])
    names = [f"a{k}" for k in range(n_attributes)]
    # With extreme values, either each attribute or each occurrence has its own size.
    size = {name: 10 ** rng.uniform(-3, 3) for name in names} if rng.random() < 0.7 else None
    likely = {name: rng.randrange(n_labels) for name in names}
    noise, density = rng.choice([0.05, 0.3, 0.6]), rng.choice([0.2, 0.5])

    def value(name: str) -> float:
        if values == "ones":
            return 1.0
        if values in ("positive", "signed"):
            drawn = rng.gauss(0, 1)
            return abs(drawn) if values == "positive" else drawn
        drawn = 10 ** rng.uniform(-3, 3) if size is None else size[name] * rng.uniform(0.5, 1.5)
        return drawn * (rng.choice([-1, 1]) if values == "wild signed" else 1)

    X, y = [], []
    for _ in range(rng.choice([5, 15, 30])):
        tokens, labels = [], []
        for _ in range(rng.choice([2, 4, 8])):
            here = [name for name in names if rng.random() < density]
            votes = [likely[name] for name in here] or [rng.randrange(n_labels)]
            label = rng.choice(votes) if rng.random() > noise else rng.randrange(n_labels)
            tokens.append([(name, value(name)) for name in here])
            labels.append(f"L{label}")
        X.append(tokens)
        y.append(labels)
    bigrams = rng.choice(["bias", "bias", "all"])
    vocabulary = Vocabulary(bigrams=bigrams)
    return values, vocabulary.encode(X, y, grow=True)


def options(rng: random.Random) -> dict[str, Any]:
    """The options of the fit; `attempt` draws again if a combination does not exist."""
    return {
        "solver": rng.choice(_SOLVERS),
        "rho1": rng.choice([0.0, 0.03, 0.1, 0.3, 1.0, 1.0]),
        "rho2": rng.choice([0.0, 1e-3, 0.01, 0.1, 0.1, 1.0]),
        "order": rng.choice([2, 2, 3]),
        "penalty": rng.choice(
            ["elastic-net", "elastic-net", "elastic-net", "group:attribute", "group:label", "tree", "tree"]
        ),
        "tol": rng.choice([5e-3, 5e-3, 5e-3, 1e-3, 1e-2]),
        "observed_only": rng.random() < 0.3,
    }


# ---- One case


def attempt(number: int) -> tuple[list[str], str]:
    """Run the fit of a case and judge it. Returns what is wrong if the promise is broken, and what to count."""
    case = judged(number)
    return case["counts"], case["finding"]


def judged(number: int) -> dict[str, Any]:
    """The verdict on a case, with all details worth knowing."""
    from sparsecrf import InputError, fit

    rng = random.Random(number)
    values, corpus = problem(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            asked = {**options(rng), **({"solver": "dual"} if number >= _FIRST_OF_DUAL else {})}
            if asked["rho1"] + asked["rho2"] == 0 or (asked["rho2"] == 0 and asked["penalty"] != "elastic-net"):
                continue
            with suppress(InputError):
                found = fit(corpus, threads=1, max_iter=_MOST_ITERATIONS.get(asked["solver"], 30), **asked)
                break
        verdict, above = judge(found, corpus, asked)
    kind = f"{values}, {asked['solver']}"
    about = {"values": values, "passes": found.history[-1].passes, "iterations": found.history[-1].iter}
    counts = [f"{values}", f"solver {asked['solver']}", f"penalty {asked['penalty']}", f"order {asked['order']}"]
    counts += [f"ended with {found.stopped_by}", f"verdict: {verdict}"]
    counts += [f"{kind}: ended with {found.stopped_by}"]
    finding = ""
    if verdict == "broken":
        finding = f"{kind}, {asked}: {100 * above:.3g} % above, gap {100 * found.gap / found.objective:.3g} %"
    return {
        "finding": finding,
        "counts": counts,
        "verdict": verdict,
        "above": above,
        "asked": asked,
        **about,
        "stopped_by": found.stopped_by,
        "objective": found.objective,
        "gap": found.gap,
    }


def judge(found: Any, corpus: Any, asked: dict[str, Any]) -> tuple[str, float]:
    """Whether the promise was kept, and how far above the best objective known the fit is, relative to its own."""
    allowed = asked["tol"] * abs(found.objective)
    if found.stopped_by != "tol":
        return f"no promise: {found.stopped_by}", 0.0
    if found.gap <= allowed * (1 + 1e-9):
        return "certified", 0.0
    best, bound = found.objective, found.objective - found.gap
    for reference in references(found, corpus, asked):
        best, bound = min(best, reference.objective), max(bound, reference.objective - reference.gap)
        above = (found.objective - best) / abs(found.objective)
        if found.objective - best > allowed * (1 + 1e-9):
            return "broken", above
        if found.objective - bound <= allowed * (1 + 1e-9) or best - bound <= _SHARE * allowed:
            return "kept", above
    return "open", above


def references(found: Any, corpus: Any, asked: dict[str, Any]) -> Any:
    """Increasingly better fits that start where the fit ended."""
    from sparsecrf import fit

    same = {**asked, "threads": 1, "tol": 0.0, "gap": _SHARE * asked["tol"]}
    start = found
    quick = (("auto", 200), ("owlqn", 200), ("lbfgs", 20), ("fista", 300), ("auto", 600))
    for solver, limits in (*quick, ("fista", 5000), ("auto", 3000)):
        if solver in ("owlqn", "lbfgs") and asked["penalty"] != "elastic-net":
            continue
        reference = fit(corpus, **{**same, "solver": solver, "max_iter": limits}, init=start)
        start = min(start, reference, key=lambda one: one.objective)
        yield reference


if __name__ == "__main__":
    print(json.dumps(judged(int(sys.argv[1])), indent=1))
