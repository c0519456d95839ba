"""A library that trains, in a process of its own: `python -m benchmarks.peers.library NAME TASK FOLDER MODEL OPTIONS`.

Prints a JSON object as its last line: the history, as far as the library tells, and the seconds of training, without
reading and without making attributes.
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
from benchmarks.peers.tasks import TASKS, Files, Task

from sparsecrf import Corpus, Vocabulary
from sparsecrf.training.feature_sets import Numbers

Result = dict[str, Any]
BEGIN = "training begins"  #: said by those whose output is a history
Items = list[list[str]]  #: the attributes of each token


def main() -> None:
    name, task, folder, model, options = sys.argv[1:]
    files = Files(pathlib.Path(folder))
    print(json.dumps(LIBRARIES[name](TASKS[task], files, pathlib.Path(model), **json.loads(options))))


def sequences(task: Task, files: Files) -> Iterator[tuple[Items, list[str]]]:
    """Attributes and labels. The line B has no attribute: these libraries always have plain transitions."""
    from sparsecrf import Template, read_columns

    template = Template(task.template)
    for rows in read_columns(files.train):
        made = template.attributes([row[:-1] for row in rows])
        yield [[name for name in names if name != "B"] for names in made], [row[-1] for row in rows]


# ---- Each returns {"history": [[seconds, objective, iterations], ...], "seconds": of training}


def sparsecrf(
    task: Task, files: Files, model: pathlib.Path, *, budget: float, solver: str, threads: int, space: str
) -> Result:
    from sparsecrf import Template, fit
    from sparsecrf.encoding.encode import encode_columns

    vocabulary, template = Vocabulary(start=False), Template(task.template)
    encoded = encode_columns([files.train], vocabulary, template, grow=True)
    limits = {"tol": 1e-5, "time_limit": budget, "threads": threads}
    began = time.perf_counter()
    features = _with_all_transitions(encoded.corpus, vocabulary) if space == "observed, all transitions" else None
    found = fit(
        encoded.corpus,
        rho1=task.rho1,
        rho2=task.rho2,
        solver=solver,
        observed_only=space == "observed",
        features=features,
        **limits,
    )
    seconds = time.perf_counter() - began
    found.model(vocabulary, template=template, n_columns=encoded.n_columns).save(model)
    return {"history": [[r.time_s, r.objective, r.passes] for r in found.history], "seconds": seconds}


def _with_all_transitions(corpus: Corpus, vocabulary: Vocabulary) -> Numbers:
    """The observed features and every pair of labels."""
    from sparsecrf._core import FeatureSet
    from sparsecrf.training.feature_sets import union

    Y, X, bias = corpus.n_labels, corpus.n_attributes, vocabulary.attributes.find("B")
    assert bias is not None
    pairs = X * Y + bias * (Y + 1) * Y + np.arange(Y * Y)
    return union(FeatureSet.observed(corpus).numbers, pairs)


def pycrfsuite(task: Task, files: Files, model: pathlib.Path, *, budget: float) -> Result:
    import pycrfsuite

    history: list[list[float]] = []

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        began = 0.0

        def message(self, message: str) -> None:
            if found := re.search(r"^Loss: ([\d.]+)", message, re.M):
                history.append([time.perf_counter() - self.began, float(found[1]), len(history) + 1])

    trainer = Trainer(verbose=True)
    for items, labels in sequences(task, files):
        trainer.append(items, labels)
    trainer.select("lbfgs")
    trainer.set_params(_penalties(task, budget))
    Trainer.began = time.perf_counter()
    trainer.train(str(model))
    return {"history": history, "seconds": time.perf_counter() - Trainer.began}


def _penalties(task: Task, budget: float) -> dict[str, float]:
    """CRFsuite's: c2 |w|^2 without the half; no stopping before the budget of iterations."""
    return {"c1": task.rho1, "c2": task.rho2 / 2, "max_iterations": int(budget), "epsilon": 0.0, "delta": 0.0}


def sklearn_crfsuite(task: Task, files: Files, model: pathlib.Path, *, budget: float) -> Result:
    import sklearn_crfsuite as library

    items, labels = map(list, zip(*sequences(task, files), strict=True))
    crf = library.CRF(algorithm="lbfgs", model_filename=str(model), **_penalties(task, budget))
    return _timed(lambda: crf.fit(items, labels))


def chaine(task: Task, files: Files, model: pathlib.Path, *, budget: float) -> Result:
    import chaine as library

    items, labels = map(list, zip(*sequences(task, files), strict=True))
    mappings = [[dict.fromkeys(names, 1.0) for names in sequence] for sequence in items]
    options = {**_penalties(task, budget), "algorithm": "lbfgs", "verbose": 0}
    return _timed(lambda: library.train(mappings, labels, model_filepath=str(model), **options))


def underthesea_core(task: Task, files: Files, model: pathlib.Path, *, budget: float) -> Result:
    import underthesea_core as library

    items, labels = map(list, zip(*sequences(task, files), strict=True))
    trainer = library.CRFTrainer()
    trainer.set_l1_penalty(task.rho1)
    trainer.set_l2_penalty(task.rho2 / 2)
    trainer.set_max_iterations(int(budget))

    print(BEGIN, flush=True)
    return _timed(lambda: trainer.train(items, labels).save(str(model)))


def _timed(train: Callable[[], Any]) -> Result:
    """For libraries that tell nothing on the way."""
    began = time.perf_counter()
    train()
    return {"history": [], "seconds": time.perf_counter() - began}


LIBRARIES: dict[str, Callable[..., Result]] = {
    f.__name__: f for f in (sparsecrf, pycrfsuite, sklearn_crfsuite, chaine, underthesea_core)
}

if __name__ == "__main__":
    main()
