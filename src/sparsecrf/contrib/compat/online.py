"""CRFsuite's online algorithms: averaged perceptron, passive aggressive, AROW.

They do not maximise a likelihood, so they have neither an objective nor a certificate, and `Tagger.marginal` does not
estimate probabilities. The steps are in the core (cpp/core/training/online.hpp); the order of the sequences is the same
in every run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sparsecrf._core import Corpus, FeatureSet, Online
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.model import Model

if TYPE_CHECKING:
    from sparsecrf.contrib.compat.features import Features
    from sparsecrf.contrib.compat.runs import Each, Found
    from sparsecrf.training.feature_sets import Floats, Numbers

#: The names of the algorithms in the core.
RULES = {"averaged-perceptron": "perceptron", "passive-aggressive": "passive-aggressive", "arow": "arow"}
_WORDS = {
    "averaged-perceptron": "the averaged perceptron",
    "passive-aggressive": "passive-aggressive learning",
    "arow": "AROW",
}
_SEED = 0  # seed of the order of the sequences


def learn_from_mistakes(
    corpus: Corpus, features: Features, algorithm: str, values: Mapping[str, Any], each: Each
) -> Found:
    """One pass over the data per iteration, until the mean loss is below `epsilon`."""
    import numpy as np

    from sparsecrf.contrib.compat.runs import Found

    numbers = features.numbers
    assert numbers is not None
    space = FeatureSet.from_numbers(corpus.n_labels, corpus.n_attributes, numbers)
    names = ("type", "c", "error_sensitive", "variance", "gamma")
    options = {name: values[name] for name in names if name in values}
    learner = Online(corpus, space, RULES[algorithm], **options)
    # AROW has no average; the norm in the log of a passive-aggressive run is that of the last weights.
    average = algorithm == "averaged-perceptron" or bool(values.get("averaging", False))
    epsilon, stopped_by, done = values["epsilon"], "max_iter", 0
    w = np.zeros(len(numbers))
    for done in range(1, values["max_iterations"] + 1):
        began = time.perf_counter()
        loss = learner.run(learner.order(_SEED, done - 1))
        w = learner.weights(average=average)
        shown = w if algorithm == "averaged-perceptron" else learner.weights(average=False)
        info = {
            "num": done,
            "scores": {},
            "loss": loss,
            "feature_norm": float(np.sqrt((shown * shown).sum())),  # BLAS would start threads on all cores
            "time": time.perf_counter() - began,
        }
        each(info, numbers, w)
        mean = loss / corpus.n_sequences
        if mean < epsilon or (algorithm == "arow" and mean <= epsilon):
            stopped_by = "loss"
            break
    record = _record(corpus, algorithm, stopped_by, done, len(numbers))
    return Found(stopped_by, lambda vocabulary: _model(corpus, vocabulary, numbers, w, record))


def _record(corpus: Corpus, algorithm: str, stopped_by: str, iterations: int, n_features: int) -> dict[str, Any]:
    return {
        "solver": algorithm,
        "certificate": f"none: {_WORDS[algorithm]} does not maximise a likelihood",
        "stopped_by": stopped_by,
        "iterations": iterations,
        "features": n_features,
        "sequences": corpus.n_sequences,
        "tokens": corpus.n_tokens,
        "version": version("sparsecrf"),
    }


def _model(corpus: Corpus, vocabulary: Vocabulary, numbers: Numbers, w: Floats, record: Mapping[str, Any]) -> Model:
    active = w != 0
    features = FeatureSet.from_numbers(corpus.n_labels, corpus.n_attributes, numbers[active])
    return Model(vocabulary.first(corpus.n_labels, corpus.n_attributes), features, w[active], training=record)
