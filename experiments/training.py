"""One training run, and the numbers that tables need from it: the job behind most experiments."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import Job, Result
from experiments.data import TASKS, Corpora, read
from sparsecrf import Corpus, Fit, fit
from sparsecrf.training.heldout import token_error

#: Algorithm 2 of the paper: one block for each attribute, even if groups of attributes would be cheaper.
BLOCKWISE: dict[str, Any] = {"solver": "sbcd", "solver_options": {"groups": False}}


def job(
    task: str, *, minutes: float = 0.5, heat: bool = False, watch: bool = False, start: bool = True, **options: Any
) -> Job:
    """A job that trains on a task with the options of `fit`. `heat`: return the sizes of weights; `watch`: test at
    every iteration."""
    extra: dict[str, bool] = {name: True for name, given in (("heat", heat), ("watch", watch)) if given}
    extra |= {} if start else {"start": False}
    return Job("experiments.training:train", {"task": task, "options": options, **extra}, TASKS[task].files, minutes)


def train(
    data: Path, *, task: str, options: dict[str, Any], heat: bool = False, watch: bool = False, start: bool = True
) -> Result:
    """How the run ended, its history and its errors. Seconds are for training alone, unless the test part is
    watched."""
    corpora = read(data, task, start=start)
    found = fit_alone(corpora.train, dev=corpora.test if watch else None, **options)
    result = {
        **ending(found),
        "train_error": token_error(corpora.train, found.numbers, found.w, threads=1),
        "test_error": token_error(corpora.test, found.numbers, found.w, threads=1),
        "virtual": corpora.virtual_features,
        "labels": corpora.train.n_labels,
        "history": history(found),
    }
    return {**result, "heat": heat_maps(found, corpora)} if heat else result


def fit_alone(corpus: Corpus, **options: Any) -> Fit:
    """`fit` on one thread, timed in processor seconds, so that other work on the machine does not count. Raises if the
    fit is interrupted.
    """
    began, spent = time.process_time(), list[float]()
    found = fit(corpus, threads=1, callback=lambda record: spent.append(time.process_time() - began), **options)
    if found.stopped_by == "interrupt":
        raise KeyboardInterrupt
    history = [replace(record, time_s=s) for record, s in zip(found.history, spent, strict=True)]
    return replace(found, history=history)


def ending(found: Fit) -> Result:
    last = found.history[-1]
    n_unigram = int((found.numbers < found.corpus.n_attributes * found.corpus.n_labels).sum())
    return {
        "time_s": last.time_s,
        "iterations": last.iter,
        "passes": last.passes,
        "objective": found.objective,
        "kkt": found.kkt,
        "gap": found.gap,
        "stopped_by": found.stopped_by,
        "active_unigram": n_unigram,
        "active_bigram": len(found.numbers) - n_unigram,
    }


def history(found: Fit) -> list[dict[str, Any]]:
    keep = ("iter", "time_s", "passes", "objective", "kkt", "active_unigram", "active_bigram", "dev_error")
    return [{name: getattr(record, name) for name in keep} for record in found.history]


def active(result: Result) -> int:
    return int(result["active_unigram"] + result["active_bigram"])


def heat_maps(found: Fit, corpora: Corpora) -> dict[str, Any]:
    """|mu[x, y]| and the sum over y', including the start label, of |lambda[x, y', y]|, by label and attribute."""
    Y, X = corpora.train.n_labels, corpora.train.n_attributes
    first = X * Y
    size = np.abs(found.w)
    is_pair = found.numbers >= first
    mu, pairs = np.zeros((X, Y)), np.zeros((X, Y + 1, Y))
    mu.ravel()[found.numbers[~is_pair]] = size[~is_pair]
    pairs.ravel()[found.numbers[is_pair] - first] = size[is_pair]
    names = corpora.vocabulary
    return {
        "mu": mu.T.tolist(),
        "lambda": pairs.sum(axis=1).T.tolist(),
        "labels": [names.labels[k] for k in range(Y)],
        "attributes": [names.attributes[k].split(":")[-1] for k in range(X)],
    }
