"""`sparsecrf demo` on CMUdict: it aligns words, trains along a path, labels unseen words, and shows the results."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparsecrf import Vocabulary
from sparsecrf._core import FeatureSet
from sparsecrf.contrib.datasets.align import SILENT
from sparsecrf.contrib.datasets.cmudict import parse
from sparsecrf.contrib.datasets.fetch import contents
from sparsecrf.contrib.datasets.registry import find
from sparsecrf.contrib.demo.letters import (
    Part,
    Task,
    attributes,
    conditions_pairs,
    make_task,
    phonemes,
    pronunciations,
)
from sparsecrf.contrib.demo.screen import path_progress, path_table, table, what_next, write_files
from sparsecrf.contrib.plots.predictions import labelled
from sparsecrf.model import Model
from sparsecrf.path import PathWarning, one_standard_error, path

#: Every fit of the path uses the default tolerance, so that it has as many weights as the model from `fit`.
PATH_OPTIONS: dict[str, Any] = {"n_rho": 14, "rho2": 0.01}

#: Words that no dictionary contains.
INVENTED = ("frabjous", "slithy", "vorpal", "snickersnack", "gardish", "plonkation", "quivelry")

NEXT = {
    "the whole dictionary, aligned, as column files": "sparsecrf data fetch cmudict -o cmu",
    "a model of all words (takes minutes)": "sparsecrf train cmu/train.txt -t cmu/template.txt -m sounds.safetensors",
    "its errors": "sparsecrf eval cmu/test.txt -m sounds.safetensors",
}


def run(n_words: int, seed: int, folder: FilePath) -> None:
    """Run the whole demo: results go to standard output, progress to standard error, and files into a folder. The model
    is the sparsest within one standard error of the best on the dev words."""
    console = Console(highlight=False)
    dictionary = parse(contents(find("cmudict"))["cmudict.dict"].decode("utf-8"))
    task = make_task(dictionary, n_words, seed)
    console.print(_alignment(task))
    began = time.perf_counter()
    vocabulary = Vocabulary(bigrams=conditions_pairs)
    corpus = task.train.encode(vocabulary, grow=True)
    dev = task.dev.encode(vocabulary)
    with path_progress(PATH_OPTIONS["n_rho"]) as callback, warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)  # rho1 of the fit with the lowest error; the chosen fit is sparser
        found = path(corpus, dev=dev, callback=callback, **PATH_OPTIONS)
    if found[-1].stopped_by == "interrupt":
        raise KeyboardInterrupt
    errors = np.asarray(found.errors)
    standard_errors = np.sqrt(errors * (100 - errors) / dev.n_tokens)
    chosen = one_standard_error(errors, standard_errors)
    console.print(path_table(found, errors.tolist(), chosen, console))
    model, every = found[chosen].model(vocabulary), FeatureSet.all_virtual(corpus)
    note = f"{model.n_active:,} of {every.n_unigram + every.n_bigram:,} possible weights are nonzero"
    inputs = [attributes(spelling) for spelling, _ in task.test.words]
    labels = labelled(model, inputs)
    console.print(_errors(task.test, labels, f"{note}; the path took {time.perf_counter() - began:.0f} s"))
    console.print(_words(task.test, labels))
    known = {spelling for spelling, _ in dictionary}
    console.print(_invented(model, [word for word in INVENTED if word not in known]))
    console.print(what_next(NEXT))
    test = zip(inputs, task.test.labels, strict=True)
    console.print(write_files(folder, model, replace(found, standard_errors=standard_errors), test))


def _alignment(task: Task) -> Table:
    """A few words with the labels of their letters."""
    n = len(task.train.words)
    made = table(f"Alignment of the letters and sounds of {n:,} words by EM; {SILENT} is silent", "word", "")
    for (spelling, _), labels in zip(task.examples.words, task.examples.labels, strict=True):
        made.add_row(spelling, " ".join(labels))
    return made


def _errors(part: Part, found: Sequence[Sequence[str]], note: str) -> Table:
    """Token and word error on words that were not used in training."""
    rows = list(zip(part.words, part.labels, found, strict=True))
    letters = [a != b for _, labels, mine in rows for a, b in zip(labels, mine, strict=True)]
    words = [phonemes(mine) != tuple(sounds) for (_, sounds), _, mine in rows]
    numbers = ("wrong", "of", "error")
    made = table("The chosen model on unseen words", "", *numbers, numbers=numbers, caption=note)
    for name, wrong in (("letters (tokens)", letters), ("words (any sound)", words)):
        error = f"{100 * sum(wrong) / len(wrong):.1f} %"
        made.add_row(name, f"{sum(wrong):,}", f"{len(wrong):,}", Text(error, "bold"))
    return made


def _words(part: Part, found: Sequence[Sequence[str]], n_right: int = 6, n_wrong: int = 4) -> Table:
    """The first correct and the first wrong words that fit on a line."""
    title = f"The first {n_right} correct and the first {n_wrong} wrong words"
    made = table(title, "word", "predicted", "", "dictionary")
    rows = [(*word, phonemes(mine)) for word, mine in zip(part.words, found, strict=True) if len(word[0]) <= 11]
    for spelling, _, mine in islice((row for row in rows if row[2] == tuple(row[1])), n_right):
        made.add_row(spelling, " ".join(mine), Text("right", "green"), "")
    for spelling, sounds, mine in islice((row for row in rows if row[2] != tuple(row[1])), n_wrong):
        made.add_row(spelling, " ".join(mine), Text("wrong", "red"), " ".join(sounds))
    return made


def _invented(model: Model, spellings: Sequence[str]) -> Table:
    """The best pronunciations of words that the model has never seen."""
    made = table("Words that are not in the dictionary", "word", "predicted", "probability", numbers=("probability",))
    for spelling in spellings:
        for k, (sounds, p) in enumerate(pronunciations(model, spelling, 2)):
            made.add_row("" if k else spelling, " ".join(sounds), f"{100 * p:.0f} %")
    return made
