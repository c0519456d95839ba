"""From raw tokens in Python to labels, one thread: `CRF(features="words")` and sklearn-crfsuite in turns.

    PYTHONPATH=. python benchmarks/presets/speed.py [--rounds 3] [--to-tolerance]

CoNLL-2003, words only. sklearn-crfsuite has the `word2features` and the options of its tutorial, without parts of
speech, which raw tokens do not have; making these mappings is part of its time, as making attributes is part of ours.
Ours also with a template for what the tutorial's features say, where shapes stand for isupper, istitle and isdigit.

With --to-tolerance only training is measured, and sklearn-crfsuite goes on for 500 iterations, or until it stops by
itself: with its tutorial's features and options, and with the attributes and penalties that ours has. Counted is its
time until it is 0.5 % (our default tolerance) above the lowest objective that it came to itself.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from benchmarks.tasks import DATA
from sklearn_crfsuite import CRF as Theirs

from sparsecrf import CRF, Template, read_columns
from sparsecrf.defaults import RHO1, RHO2
from sparsecrf.scorers import chunk_f1_score

TOLERANCE = 5e-3  # the default `tol`
TUTORIAL = """\
U:w=%l[0,0]
U:s3=%s[0,0,3]
U:s2=%s[0,0,2]
U:k=%h[0,0,1]
U:w-1=%l[-1,0]
U:k-1=%h[-1,0,1]
U:w+1=%l[1,0]
U:k+1=%h[1,0,1]
B
"""


def word2features(sentence: list[str], i: int) -> dict[str, Any]:
    """As the tutorial of sklearn-crfsuite has it."""
    word = sentence[i]
    features: dict[str, Any] = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
    }
    for place, name in ((i - 1, "-1"), (i + 1, "+1")):
        if 0 <= place < len(sentence):
            beside = sentence[place]
            features[f"{name}:word.lower()"] = beside.lower()
            features[f"{name}:word.istitle()"] = beside.istitle()
            features[f"{name}:word.isupper()"] = beside.isupper()
        else:
            features["BOS" if name == "-1" else "EOS"] = True
    return features


def with_features(sentences: list[list[str]]) -> list[list[dict[str, Any]]]:
    return [[word2features(sentence, i) for i in range(len(sentence))] for sentence in sentences]


def words(part: str) -> tuple[list[list[str]], list[list[str]]]:
    sentences = list(read_columns(DATA / "conll2003" / f"{part}.txt"))
    return [[row[0] for row in rows] for rows in sentences], [[row[-1] for row in rows] for rows in sentences]


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Of the processor, so that other programs on the machine count less."""
    began = time.process_time()
    result = function()
    return time.process_time() - began, result


def time_to_tolerance(theirs: Theirs, X: Callable[[], list[Any]], y: list[list[str]]) -> dict[str, Any]:
    """Making features, and training until near the lowest objective of the run."""
    making, features = seconds(X)
    training, _ = seconds(lambda: theirs.fit(features, y))
    iterations = theirs.training_log_.iterations
    losses = [each["loss"] for each in iterations]
    near = next(k for k, loss in enumerate(losses) if loss <= (1 + TOLERANCE) * min(losses))
    before = training - sum(each["time"] for each in iterations)  # taking features over
    return {
        "features_s": round(making, 1),
        "to_tolerance_s": round(making + before + sum(each["time"] for each in iterations[: near + 1]), 1),
        "iterations": [near + 1, len(losses)],
        "objective": round(min(losses), 1),
        "whole_s": round(making + training, 1),
    }


def to_tolerance(rho1: float, rho2: float) -> None:
    """The rows of --to-tolerance."""
    X, y = words("train")
    ours = CRF(rho1, rho2, features="words", n_jobs=1)
    alike = CRF(rho1, rho2, template=TUTORIAL, n_jobs=1)
    for name, crf in (("sparsecrf", ours), ("sparsecrf, as the tutorial", alike)):
        took = seconds(lambda crf=crf: crf.fit(X, y))[0]
        print(json.dumps({"tool": name, "s": round(took, 1), "objective": round(crf.objective_, 1)}), flush=True)
    template = ours.model_.template
    assert template is not None
    options = {"algorithm": "lbfgs", "max_iterations": 500, "all_possible_transitions": True}
    for name, penalties, features in (
        ("sklearn-crfsuite, tutorial", (0.1, 0.1), lambda: with_features(X)),
        ("sklearn-crfsuite, attributes of `words`", (rho1, rho2 / 2), lambda: attributes_of(template, X)),
    ):
        theirs = Theirs(c1=penalties[0], c2=penalties[1], **options)
        print(json.dumps({"tool": name, **time_to_tolerance(theirs, features, y)}), flush=True)


def attributes_of(template: Template, sentences: list[list[str]]) -> list[list[list[str]]]:
    return [template.attributes([[word] for word in sentence]) for sentence in sentences]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rho1", type=float, default=RHO1)
    parser.add_argument("--rho2", type=float, default=RHO2)
    parser.add_argument("--to-tolerance", action="store_true")
    options = parser.parse_args()
    if options.to_tolerance:
        to_tolerance(options.rho1, options.rho2)
        return
    X, y = words("train")
    dev, gold = words("dev")
    n = sum(map(len, dev))
    ours = CRF(options.rho1, options.rho2, features="words", n_jobs=1)
    alike = CRF(options.rho1, options.rho2, template=TUTORIAL, n_jobs=1)
    theirs = Theirs(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
    fits = {
        "sparsecrf": seconds(lambda: ours.fit(X, y))[0],
        "sparsecrf, as the tutorial": seconds(lambda: alike.fit(X, y))[0],
        "sklearn-crfsuite": seconds(lambda: theirs.fit(with_features(X), y))[0],
    }
    predict: dict[str, Callable[[], Any]] = {
        "sparsecrf": lambda: ours.predict(dev),
        "sparsecrf, as the tutorial": lambda: alike.predict(dev),
        "sklearn-crfsuite": lambda: theirs.predict(with_features(dev)),
    }
    runs: dict[str, list[float]] = {name: [] for name in predict}
    score: dict[str, float] = {}
    for _ in range(options.rounds):
        for name, answer in predict.items():
            took, labels = seconds(answer)
            runs[name].append(round(n / took))
            score[name] = chunk_f1_score(gold, labels)
    for name in predict:
        row = {
            "tool": name,
            "fit_s": round(fits[name], 1),
            "tokens_per_s": runs[name],
            "dev_f1": round(100 * score[name], 2),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
