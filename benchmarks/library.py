"""Runs a training library in its own process: `python -m benchmarks.library NAME FOLDER MODEL OPTIONS`.

FOLDER is the output of `Task.prepare`, OPTIONS a JSON object with the penalties, the budget, and further options of the
library. The last line that it prints is a JSON object: the history, as far as the library reports it, and the seconds
of training, without reading and without making attributes.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from benchmarks.tasks import Files

from sparsecrf import Corpus, Template, Vocabulary, fit, read_columns
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.shards.dataset import encode_columns
from sparsecrf.training.feature_sets import Numbers, union

Result = dict[str, Any]
BEGIN = "training begins"  #: printed by tools whose output is a history
Items = list[list[str]]  #: the attributes of each token


def main() -> None:
    name, folder, model, options = sys.argv[1:]
    print(json.dumps(LIBRARIES[name](Files(pathlib.Path(folder)), pathlib.Path(model), **json.loads(options))))


def sequences(template: Template, path: pathlib.Path) -> Iterator[tuple[Items, list[str]]]:
    """Attributes and labels. The line B makes no attribute, since these libraries always have plain transitions."""
    for rows in read_columns(path):
        made = template.attributes([row[:-1] for row in rows])
        yield [[name for name in names if name != "B"] for names in made], [row[-1] for row in rows]


def _whole(files: Files) -> tuple[list[Items], list[list[str]]]:
    items, labels = zip(*sequences(Template.load(files.template), files.train), strict=True)
    return list(items), list(labels)


# ---- Each returns {"history": [[seconds, objective, iterations], ...], "seconds": of training}


def sparsecrf(
    files: Files,
    model: pathlib.Path | None,
    *,
    rho1: float,
    rho2: float,
    budget: float | None = None,
    space: str = "all",
    test_error: bool = False,
    **options: Any,
) -> Result:
    """Train to a tolerance of 1e-5 or up to a time limit, unless `options` (those of `fit`) say otherwise. The history
    contains more than the histories of other libraries: also kkt, gap and, on request, the test error."""
    vocabulary, template = Vocabulary(start=False), Template.load(files.template)
    began = time.perf_counter()
    encoded = encode_columns([files.train], vocabulary, template, grow=True)
    read_s = time.perf_counter() - began
    test = encode_columns([files.test], vocabulary, template).corpus if test_error else None
    began = time.perf_counter()
    features = _with_all_transitions(encoded.corpus, vocabulary) if space == "observed, all transitions" else None
    given = {"observed_only": space == "observed", "tol": 1e-5, "time_limit": budget, "threads": 1, **options}
    found = fit(encoded.corpus, rho1=rho1, rho2=rho2, numbers=features, dev=test, **given)
    seconds = time.perf_counter() - began
    if model is not None:
        found.model(vocabulary, template=template, n_columns=encoded.n_columns).save(model)
    return {
        "read_s": read_s,
        "history": [[r.time_s, r.objective, r.passes, r.kkt, r.gap, r.dev_error] for r in found.history],
        "seconds": seconds,
        "stopped_by": found.stopped_by,
        "objective": found.objective,
        "kkt": found.kkt,
        "gap": found.gap,
        "active": len(found.numbers),
    }


def _with_all_transitions(corpus: Corpus, vocabulary: Vocabulary) -> Numbers:
    """The observed features and every pair of labels."""
    from sparsecrf._core import FeatureSet

    bias, y = vocabulary.attributes.find("B"), np.arange(corpus.n_labels)
    assert bias is not None
    pairs = Numbering.of(corpus).bigram(bias, y[:, np.newaxis], y)
    return union(FeatureSet.observed(corpus).numbers, pairs.ravel())


def crfsuite_trainer(clock: Callable[[], float] = time.perf_counter) -> tuple[Any, list[list[float]]]:
    """A trainer, and the history that it fills in, with seconds since the call of `train`, measured by this clock."""
    import pycrfsuite

    history: list[list[float]] = []

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        began = 0.0

        def message(self, message: str) -> None:
            if found := re.search(r"^Loss: ([\d.]+)", message, re.M):
                history.append([clock() - self.began, float(found[1]), len(history) + 1])

        def train(self, path: str) -> float:
            """Returns its seconds."""
            Trainer.began = clock()
            super().train(path)
            return clock() - Trainer.began

    trainer = Trainer(verbose=True)
    trainer.select("lbfgs")
    return trainer, history


def crfsuite_options(rho1: float, rho2: float, iterations: float) -> dict[str, float]:
    """CRFsuite's penalties: c2 |w|^2 without the half; no stopping before the budget of iterations."""
    return {"c1": rho1, "c2": rho2 / 2, "max_iterations": int(iterations), "epsilon": 0.0, "delta": 0.0}


def pycrfsuite(files: Files, model: pathlib.Path, *, rho1: float, rho2: float, budget: float) -> Result:
    trainer, history = crfsuite_trainer()
    for items, labels in sequences(Template.load(files.template), files.train):
        trainer.append(items, labels)
    trainer.set_params(crfsuite_options(rho1, rho2, budget))
    seconds = trainer.train(str(model))
    return {"history": history, "seconds": seconds}


def sklearn_crfsuite(files: Files, model: pathlib.Path, *, rho1: float, rho2: float, budget: float) -> Result:
    import sklearn_crfsuite as library

    items, labels = _whole(files)
    crf = library.CRF(algorithm="lbfgs", model_filename=str(model), **crfsuite_options(rho1, rho2, budget))
    return _timed(lambda: crf.fit(items, labels))


def chaine(files: Files, model: pathlib.Path, *, rho1: float, rho2: float, budget: float) -> Result:
    import chaine as library

    items, labels = _whole(files)
    mappings = [[dict.fromkeys(names, 1.0) for names in sequence] for sequence in items]
    options = {**crfsuite_options(rho1, rho2, budget), "algorithm": "lbfgs", "verbose": 0}
    return _timed(lambda: library.train(mappings, labels, model_filepath=str(model), **options))


def underthesea_core(files: Files, model: pathlib.Path, *, rho1: float, rho2: float, budget: float) -> Result:
    import underthesea_core as library

    items, labels = _whole(files)
    trainer = library.CRFTrainer()
    trainer.set_l1_penalty(rho1)
    trainer.set_l2_penalty(rho2 / 2)
    trainer.set_max_iterations(int(budget))

    print(BEGIN, flush=True)
    return _timed(lambda: trainer.train(items, labels).save(str(model)))


def _timed(train: Callable[[], Any]) -> Result:
    """The result for libraries that report nothing during training."""
    began = time.perf_counter()
    train()
    return {"history": [], "seconds": time.perf_counter() - began}


LIBRARIES: dict[str, Callable[..., Result]] = {
    f.__name__: f for f in (sparsecrf, pycrfsuite, sklearn_crfsuite, chaine, underthesea_core)
}

if __name__ == "__main__":
    main()
