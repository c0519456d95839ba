"""Times training and labelling from raw tokens in Python on one thread: sparsecrf, sklearn-crfsuite and spaCy in turns.

    PYTHONPATH=. python benchmarks/presets/speed.py [--rounds 3] [--data FOLDER] [--spacy-steps 2000] [--to-tolerance]

CoNLL-2003, words only. sklearn-crfsuite uses the `word2features` and the options of its tutorial, without parts of
speech, which raw tokens do not have. The times of all tools include computing features. sparsecrf also runs with a
template that imitates the features of the tutorial: shapes replace isupper, istitle and isdigit.

spaCy (if it is installed; --spacy-steps 0 leaves it out) trains its default entity recogniser from scratch, without
pretrained vectors, and keeps the best model on the dev data (`benchmarks/defaults/with_spacy.py`). Its dev F1 therefore
belongs to a model chosen on the same data. The last lines are the table of the README.

With --to-tolerance, only training is measured, and sklearn-crfsuite runs for 500 iterations, or until it stops: with
the features and options of its tutorial, and with the attributes and penalties of sparsecrf. Its time counts until the
objective is within 0.5 % (the default tolerance of sparsecrf) of the lowest value of its own run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: one thread for the networks of spaCy, too
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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
    """As in the tutorial of sklearn-crfsuite."""
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


def words(data: Path, part: str) -> tuple[list[list[str]], list[list[str]]]:
    sentences = list(read_columns(data / f"{part}.txt"))
    return [[row[0] for row in rows] for rows in sentences], [[row[-1] for row in rows] for rows in sentences]


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, so that other programs on the machine have less influence."""
    began = time.process_time()
    result = function()
    return time.process_time() - began, result


def time_to_tolerance(theirs: Theirs, X: Callable[[], list[Any]], y: list[list[str]]) -> dict[str, Any]:
    """Seconds for making features, and for training until near the lowest objective of the run."""
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


def to_tolerance(data: Path, rho1: float, rho2: float) -> None:
    """The table rows for --to-tolerance."""
    X, y = words(data, "train")
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


Labeller = Callable[[list[list[str]]], Any]


def trained_spacy(
    X: list[list[str]], y: list[list[str]], dev: list[list[str]], gold: list[list[str]], steps: int
) -> Any:
    """Returns a function that labels sentences, and the size of the model in bytes."""
    from benchmarks.defaults.with_spacy import train

    return train(X, y, chunks=True, steps=steps, dev_score=lambda label: chunk_f1_score(gold, label(dev)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA / "conll2003", help="folder with train.txt and dev.txt")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rho1", type=float, default=RHO1)
    parser.add_argument("--rho2", type=float, default=RHO2)
    parser.add_argument("--spacy-steps", type=int, default=2000)
    parser.add_argument("--to-tolerance", action="store_true")
    options = parser.parse_args()
    if options.to_tolerance:
        to_tolerance(options.data, options.rho1, options.rho2)
        return
    X, y = words(options.data, "train")
    dev, gold = words(options.data, "dev")
    ours = CRF(options.rho1, options.rho2, features="words", n_jobs=1)
    alike = CRF(options.rho1, options.rho2, template=TUTORIAL, n_jobs=1)
    theirs = Theirs(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
    fit_s, label, size = {}, dict[str, Labeller](), {}
    for name, crf in (('`CRF(features="words")`', ours), ("`CRF`, features of the tutorial", alike)):
        fit_s[name], _ = seconds(lambda crf=crf: crf.fit(X, y))
        label[name], size[name] = crf.predict, len(crf.model_.to_bytes())
    name = "sklearn-crfsuite, tutorial, 100 iterations"
    fit_s[name], _ = seconds(lambda: theirs.fit(with_features(X), y))
    label[name], size[name] = lambda sentences: theirs.predict(with_features(sentences)), theirs.size_
    if options.spacy_steps and importlib.util.find_spec("spacy"):
        name = f"spaCy NER from scratch, {options.spacy_steps} steps"
        fit_s[name], found = seconds(lambda: trained_spacy(X, y, dev, gold, options.spacy_steps))
        label[name], size[name] = found
    speeds: dict[str, list[int]] = {name: [] for name in label}
    score: dict[str, float] = {}
    for _ in range(options.rounds):
        for name, answer in label.items():
            took, labels = seconds(lambda answer=answer: answer(dev))
            speeds[name].append(round(sum(map(len, dev)) / took))
            score[name] = 100 * chunk_f1_score(gold, labels)
    for name in label:
        row = {"tool": name, "fit_s": round(fit_s[name], 1), "tokens_per_s": speeds[name]}
        print(json.dumps({**row, "dev_f1": round(score[name], 2), "bytes": size[name]}), flush=True)
    print("\n| | dev F1 | training | tokens per second | model |\n|---|---|---|---|---|")
    for name in label:
        speed = f"{min(speeds[name]):,} to {max(speeds[name]):,}"
        print(f"| {name} | {score[name]:.1f} | {fit_s[name]:.1f} s | {speed} | {size[name] / 1e3:,.0f} kB |")


if __name__ == "__main__":
    main()
