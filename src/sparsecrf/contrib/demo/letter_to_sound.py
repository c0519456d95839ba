"""`sparsecrf demo` on CMUdict: align, train along a path, label unseen words, and show the results."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from rich.console import Console
from rich.rule import Rule

from sparsecrf import Model, Vocabulary, fit
from sparsecrf._core import FeatureSet
from sparsecrf.contrib.datasets.cmudict import parse
from sparsecrf.contrib.datasets.fetch import contents
from sparsecrf.contrib.datasets.registry import find
from sparsecrf.contrib.demo import screen
from sparsecrf.contrib.demo.files import write_files
from sparsecrf.contrib.demo.letters import Task, answers, attributes, conditions_pairs, make_task
from sparsecrf.contrib.demo.progress import path_progress
from sparsecrf.path import Path, PathWarning, one_standard_error, path
from sparsecrf.progress import note, progress

#: One thread: the task is small, and waiting threads are slow on a busy machine. Every point is fitted to the default
#: tolerance, so that it has as many weights as the model that `fit` would give.
PATH_OPTIONS: dict[str, Any] = {"n_rho": 14, "rho2": 0.01, "threads": 1}

#: Words that are in no dictionary.
INVENTED = ("frabjous", "slithy", "vorpal", "snickersnack", "gardish", "plonkation", "quivelry")

NEXT = {
    "the whole dictionary, aligned, as column files": "sparsecrf data fetch cmudict -o cmu",
    "a model of all of it (minutes)": "sparsecrf train cmu/train.txt -t cmu/template.txt -m sounds.safetensors",
    "its errors": "sparsecrf eval cmu/test.txt -m sounds.safetensors",
}


@dataclass(frozen=True)
class Trained:
    """The path and the model that was chosen from it."""

    path: Path
    errors: list[float]  #: percent of the letters of the dev words
    chosen: int
    model: Model
    possible: int  #: features that could have a weight
    seconds: float

    @property
    def active(self) -> list[int]:
        return [len(found.w) for found in self.path]


def run(n_words: int, seed: int, folder: FilePath) -> None:
    """The whole demo; results on standard output, progress on standard error, files into a folder."""
    console = Console(highlight=False)
    dictionary = parse(contents(find("cmudict"))["cmudict.dict"].decode("utf-8"))
    console.print(Rule("sparsecrf demo: letters to sounds", style="dim"), "")
    began = time.perf_counter()
    task = make_task(dictionary, n_words, seed)
    console.print(screen.alignment(task, time.perf_counter() - began))
    trained = train(task)
    console.print(screen.path(trained.active, trained.errors, trained.path.rho1.tolist(), trained.chosen, console))
    found = list(answers(trained.model, task.test))
    console.print(screen.errors(task.test, found, trained.model.n_active, trained.possible, trained.seconds))
    console.print(screen.words(task.test, found))
    console.print(screen.unsure(task.test, trained.model, console))
    known = {spelling for spelling, _ in dictionary}
    console.print(screen.invented(trained.model, [word for word in INVENTED if word not in known]))
    console.print(screen.what_next(NEXT))
    tokens = (attributes(spelling) for spelling, _ in task.test.words)
    test = zip(tokens, task.test.labels, strict=True)
    console.print(write_files(folder, trained.model, trained.path, test))


def train(task: Task) -> Trained:
    """Follow the path, and choose the sparsest model within one standard error of the best on the dev words."""
    began = time.perf_counter()
    vocabulary = Vocabulary(bigrams=conditions_pairs)
    corpus = task.train.encode(vocabulary, grow=True)
    dev = task.dev.encode(vocabulary)
    with path_progress(PATH_OPTIONS["n_rho"]) as callback, warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)  # rho1 of the best fit; the chosen one is sparser
        found = path(corpus, dev=dev, callback=callback, **PATH_OPTIONS)
    if found[-1].stopped_by == "interrupt":
        raise KeyboardInterrupt
    errors = np.asarray(found.errors)
    standard_errors = np.sqrt(errors * (100 - errors) / dev.n_tokens)
    chosen = one_standard_error(errors, standard_errors)
    with progress("the chosen one", None) as advance:
        final = fit(
            corpus,
            rho1=found[chosen].rho1,
            rho2=found[chosen].rho2,
            init=found[chosen],
            threads=1,
            callback=lambda record: advance(note=note(record)),
        )
    if final.stopped_by == "interrupt":
        raise KeyboardInterrupt
    every = FeatureSet.all_virtual(corpus)
    return Trained(
        path=replace(found, standard_errors=standard_errors),
        errors=errors.tolist(),
        chosen=chosen,
        model=final.model(vocabulary),
        possible=every.n_unigram + every.n_bigram,
        seconds=time.perf_counter() - began,
    )
