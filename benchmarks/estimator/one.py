"""Runs one tool's `fit` on tokens given as mappings, in its own process, and prints seconds, peak memory and objective
as JSON.

    PYTHONPATH=. python benchmarks/estimator/one.py sparsecrf|sklearn-crfsuite [OPTIONS]

CoNLL-2000 with the usual attributes: words and tags in a window of five, and pairs and triples of them. Both tools
minimise the same function of the same features: l1 penalty 1, l2 penalty 1/2 |w|^2, observed features, no start label.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.common import peak_mb
from benchmarks.tasks import DATA

from sparsecrf import CRF, Model, Vocabulary, read_columns
from sparsecrf.training import weights_in
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet

Tokens = list[dict[str, str]]
RHO1, RHO2 = 1.0, 1.0


def word2features(rows: list[list[str]], t: int) -> dict[str, str]:
    """The attributes of the template of CRF++'s chunking example, as tutorials write them."""
    n = len(rows)

    def at(row: int, column: int) -> str:
        return rows[t + row][column] if 0 <= t + row < n else ("_B" if row < 0 else "_E") + str(row)

    word = {f"w[{k}]": at(k, 0) for k in range(-2, 3)}
    pairs = {f"w[{k}]|w[{k + 1}]": f"{at(k, 0)}|{at(k + 1, 0)}" for k in (-1, 0)}
    tag = {f"pos[{k}]": at(k, 1) for k in range(-2, 3)}
    two = {f"pos[{k}]|pos[{k + 1}]": f"{at(k, 1)}|{at(k + 1, 1)}" for k in range(-2, 2)}
    three = {f"pos[{k}]|..": f"{at(k, 1)}|{at(k + 1, 1)}|{at(k + 2, 1)}" for k in (-2, -1, 0)}
    return word | pairs | tag | two | three


def sentences(name: str) -> Iterator[tuple[Tokens, list[str]]]:
    for rows in read_columns(DATA / "conll2000" / name):
        yield [word2features(rows, t) for t in range(len(rows))], [row[-1] for row in rows]


def objective(model: Model) -> float:
    """The objective of a model, computed here for every tool."""
    vocabulary = Vocabulary(start=False)
    corpus = vocabulary.encode(*zip(*sentences("train.txt"), strict=True), grow=True)
    start = weights_in(model, vocabulary)
    found = Objective(corpus, ElasticNet(RHO1, RHO2), observed_only=True, threads=1)
    known = found.working_set(start.numbers)
    return found.loss_grad(known, start.w)[0] + found.penalty_on(known).value(start.w)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tool", choices=["sparsecrf", "sklearn-crfsuite"])
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--objective", type=float, help="Stop there; else at the default tolerance.")
    parser.add_argument("--generator", action="store_true", help="Tokens are made one sentence at a time.")
    parser.add_argument("--save", help="File for the model.")
    options = parser.parse_args()
    y = [labels for _, labels in sentences("train.txt")]
    X: Any = (tokens for tokens, _ in sentences("train.txt"))
    if not options.generator:
        X = list(X)
    before, began = peak_mb(), time.perf_counter()
    crf: Any
    if options.tool == "sparsecrf":
        crf = CRF(RHO1, RHO2, start=False, solver_options={"observed_only": True})
        if options.objective is not None:
            enough = {"callback": lambda record: record["objective"] <= options.objective}
            crf.set_params(tol=0.0, solver_options={**crf.solver_options, **enough})
        crf.fit(X, y)
    else:
        from sklearn_crfsuite import CRF as Peer

        crf = Peer(algorithm="lbfgs", c1=RHO1, c2=RHO2 / 2, max_iterations=options.iterations).fit(X, y)
    elapsed, peak = time.perf_counter() - began, peak_mb()
    del X
    if options.tool == "sparsecrf":
        model = crf.model_
    else:
        from sparsecrf.contrib.convert.foreign import read_crfsuite

        model = read_crfsuite(pathlib.Path(crf.modelfile.name))
    if options.save:
        model.save(options.save)
    test_X, test_y = zip(*sentences("test.txt"), strict=True)
    began = time.perf_counter()
    predicted = crf.predict(test_X)
    predict_s = time.perf_counter() - began
    pairs = [(p, g) for ps, gs in zip(predicted, test_y, strict=True) for p, g in zip(ps, gs, strict=True)]
    print(
        json.dumps(
            {
                "fit_s": elapsed,
                "before_mb": before,
                "peak_mb": peak,
                "objective": objective(model),
                "weights": model.n_active,
                "test_error": 100 * sum(p != g for p, g in pairs) / len(pairs),
                "predict_s": predict_s,
                "tokens": sum(map(len, y)),
                "tokens_test": len(pairs),
            }
        )
    )


if __name__ == "__main__":
    main()
