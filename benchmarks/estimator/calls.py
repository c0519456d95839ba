"""Time per call for labelling one sentence from Python, in processor microseconds: this package and python-crfsuite in
turns.

    PYTHONPATH=. python benchmarks/estimator/calls.py [--rounds 5]

CoNLL-2003: models trained on 1,500 sentences label 600 others one by one, with the mappings of sklearn-crfsuite's
tutorial, and with one attribute per token, where the call itself dominates. Times are minima over the rounds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pycrfsuite
from benchmarks.presets.speed import with_features, words
from benchmarks.tasks import DATA

from sparsecrf import CRF
from sparsecrf.contrib.compat import Tagger

Labelling = Callable[[Any], Any]
CONLL = DATA / "conll2003"


def theirs(X: list[Any], y: list[Any], folder: str) -> Labelling:
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(tokens, labels)
    trainer.set_params({"c1": 0.1, "c2": 0.01, "max_iterations": 40})
    file = f"{folder}/model"
    trainer.train(file)
    tagger = pycrfsuite.Tagger()
    tagger.open(file)
    return tagger.tag  # type: ignore[no-any-return]


def ours(X: list[Any], y: list[Any]) -> dict[str, Labelling]:
    crf = CRF(rho1=0.1, rho2=0.01, tol=0.05).fit(X, y)
    tagger = Tagger()
    tagger.use(crf.model_)
    return {"Model.label": crf.model_.label, "compat.Tagger.tag": tagger.tag, "predict": lambda x: crf.predict([x])}


def microseconds(label: Labelling, sentences: list[Any]) -> float:
    began = time.process_time()
    for sentence in sentences:
        label(sentence)
    return 1e6 * (time.process_time() - began) / len(sentences)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    X, y = words(CONLL, "train")
    X, y, others = X[:1500], y[:1500], words(CONLL, "dev")[0][:600]
    for name, features in {"mappings": with_features, "one attribute": _one_attribute}.items():
        with tempfile.TemporaryDirectory() as folder:
            ways = {"python-crfsuite": theirs(features(X), y, folder), **ours(features(X), y)}
        sentences = features(others)
        found: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, label in ways.items():
                found[way].append(microseconds(label, sentences))
        print(
            json.dumps({"tokens are": name, **{way: round(min(times), 1) for way, times in found.items()}}), flush=True
        )


def _one_attribute(sentences: list[list[str]]) -> list[list[list[str]]]:
    return [[[f"w={word}"] for word in sentence] for sentence in sentences]


if __name__ == "__main__":
    main()
