"""Saves the state of a training run to a file, so that a run that was stopped or killed can be resumed bit for bit.

The file is in safetensors format (files/container.py). It contains the arrays of the point and of the solver. Its
metadata contains `run` (the identity of the run: corpus, penalties, solver; no other run may resume from it) and
`state` (counters and history).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.files.atomic import remove_leftovers, write_atomically
from sparsecrf.files.container import pack, unpack
from sparsecrf.training.dual import Mixture
from sparsecrf.training.heldout import Best
from sparsecrf.training.history import Record
from sparsecrf.training.ngrams import NgramSpace
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.solver import Lowest, Point, State
from sparsecrf.warn import warn_caller

FORMAT, VERSION = "sparsecrf checkpoint", 3
_SOLVER = "solver."  # prefix of the solver's own arrays


class Checkpoint:
    """The checkpoint file of a run. A run resumes only from a checkpoint with the same entries in `run`. `ngrams`: the
    label n-grams of its data, if any."""

    def __init__(
        self, path: str | os.PathLike[str], every: float, run: Mapping[str, Any], ngrams: NgramSpace | None = None
    ) -> None:
        if not every >= 0:
            raise InputError(f"checkpoint_every: expected a number of seconds >= 0, found {every}")
        self.path, self.every, self.run, self.ngrams = Path(path), every, dict(run), ngrams
        if not os.access(self.path.parent, os.W_OK) or self.path.is_dir():
            raise InputError(f"checkpoint: expected a file in a writable directory, found {self.path}")
        remove_leftovers(self.path)
        self._last = time.perf_counter()

    def due(self) -> bool:
        return time.perf_counter() - self._last >= self.every

    def save(self, state: State) -> None:
        """Write the state. On failure, warn and continue; saving is retried at the next checkpoint."""
        try:
            write_atomically(self.path, self._packed(state))
        except (OSError, MemoryError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "too little memory"
            kept = "and the file is from an earlier iteration" if self.path.exists() else "and the file does not exist"
            warn_caller(
                f"{self.path}: the checkpoint could not be written ({reason}), {kept}; training continues",
                RuntimeWarning,
            )
        self._last = time.perf_counter()

    def _packed(self, state: State) -> bytes:
        point = state.point
        arrays = {"numbers": point.known.numbers, "w": point.w, "g": point.g}
        arrays |= {_SOLVER + name: array for name, array in state.solver.items()}
        counters: dict[str, Any] = {"loss": point.loss}
        counters |= {name: getattr(state, name) for name in ("iteration", "screened", "stalled", "passes", "elapsed")}
        counters |= {"history": [asdict(record) for record in state.history], "values": state.values}
        if isfinite(state.promise):
            counters["promise"] = state.promise
        if self.ngrams is not None:  # the numbers of label n-grams are indices into the table of this run
            table = self.ngrams.first(state.n_ngrams)
            arrays |= {f"ngrams.{name}": array for name, array in table._asdict().items()}
        if state.best is not None:
            arrays |= {"best.numbers": state.best.numbers, "best.w": state.best.w}
            counters["best"] = {"error": state.best.error, "iteration": state.best.iteration}
        if state.lowest is not None:
            arrays |= {"lowest.numbers": state.lowest.numbers, "lowest.w": state.lowest.w}
            counters["lowest"] = state.lowest.value
        if state.mixture is not None:
            arrays |= {"mixture.numbers": state.mixture.numbers, "mixture.G": state.mixture.G}
            counters["mixture"] = {"bound": state.mixture.bound, "entropy": state.mixture.entropy}
        metadata = {"run": json.dumps(self.run), "state": json.dumps(counters)}
        # The container stores arrays in their memory layout.
        arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        return pack(FORMAT, VERSION, metadata, arrays)

    def load(self, objective: Objective) -> State | None:
        """The state in the file; None if there is no file yet."""
        if not self.path.exists():
            return None
        metadata, found = unpack(self.path.read_bytes(), str(self.path), FORMAT, VERSION)
        try:
            run, state = json.loads(metadata["run"]), json.loads(metadata["state"])
            # Copies: a solver may write to its arrays.
            arrays = {name: np.array(array.data).reshape(array.shape) for name, array in found.items()}
            self._check_run(run)
            if self.ngrams is not None:
                self._take_over(self.ngrams, Ngrams(*(arrays[f"ngrams.{name}"] for name in Ngrams._fields)))
                arrays = {name: array for name, array in arrays.items() if not name.startswith("ngrams.")}
            return _state(objective, state, arrays)
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, InputError) and str(error).startswith(str(self.path)):
                raise
            raise InputError(
                f"{self.path}: expected the state of a training run, found other content ({error})"
            ) from error

    def _take_over(self, ngrams: NgramSpace, table: Ngrams) -> None:
        """Put the label n-grams of the file first in the table of the data, in the same order as in the saved run."""
        numbers = ngrams.numbers(table)
        if not np.array_equal(numbers, ngrams.numbering.first_ngram + np.arange(len(numbers))):
            raise InputError(
                f"{self.path}: this TrainingData object contains label n-grams from another run; create a new object"
            )

    def _check_run(self, found: Any) -> None:
        if not isinstance(found, dict):
            raise TypeError("the run is not a JSON object")
        for name in sorted(self.run.keys() | found.keys()):
            expected, given = self.run.get(name), found.get(name)
            if expected != given:
                raise InputError(f"{self.path}: expected a checkpoint with {name} {expected}, found {name} {given}")


def _state(objective: Objective, state: Any, arrays: Mapping[str, NDArray[Any]]) -> State:
    """Build the state from counters and arrays. Missing entries and wrong types are errors, since a complete file may
    still be invalid."""

    def vectors(prefix: str, *names: str) -> list[NDArray[Any]]:
        """The feature numbers, and arrays with one value per feature. G has two values per feature, or one if they are
        equal."""
        numbers = arrays[f"{prefix}numbers"]
        if numbers.dtype != np.int64 or numbers.ndim != 1:
            raise TypeError(f"{prefix}numbers: {numbers.dtype}{list(numbers.shape)}")
        found = [numbers, *(arrays[prefix + name] for name in names)]
        for name, array in zip(names, found[1:], strict=True):
            expected = [(1, *numbers.shape), (2, *numbers.shape)] if name == "G" else [numbers.shape]
            if array.dtype != np.float64 or array.shape not in expected:
                raise TypeError(f"{prefix}{name}: {array.dtype}{list(array.shape)} for {list(expected[-1])}")
        return found

    numbers, w, g = vectors("", "w", "g")
    point = Point(objective.working_set(numbers), w, _number(state["loss"]), g)
    best = lowest = mixture = None
    if "best" in state:
        best_of = state["best"]
        best = Best(_number(best_of["error"]), _count(best_of["iteration"]), *vectors("best.", "w"))
    if "lowest" in state:
        lowest_numbers, lowest_w = vectors("lowest.", "w")
        lowest = Lowest(lowest_numbers, lowest_w, _number(state["lowest"]))
    if "mixture" in state:
        mixture_of = state["mixture"]
        mixture = Mixture(_number(mixture_of["bound"]), _number(mixture_of["entropy"]), *vectors("mixture.", "G"))
    if len(state["values"]) != len(state["history"]):
        raise ValueError(f"{len(state['values'])} objectives for {len(state['history'])} iterations")
    for known in (best, lowest, mixture):
        if known is not None:
            objective.working_set(known.numbers)  # rejects invalid feature numbers
    return State(
        point,
        _count(state["iteration"]),
        _count(state["screened"]),
        _count(state["stalled"]),
        _number(state["passes"]),
        _number(state["elapsed"]),
        [_record(record) for record in state["history"]],
        [_number(value) for value in state["values"]],
        {name[len(_SOLVER) :]: array for name, array in arrays.items() if name.startswith(_SOLVER)},
        best,
        lowest,
        mixture,
        promise=_number(state.get("promise", inf)),  # files of earlier versions lack this entry
    )


def _record(found: Any) -> Record:
    record = Record(**found)
    for name, value in asdict(record).items():
        if value is not None or name not in ("gap", "kkt", "dev_error"):
            _number(value)
    return record


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{value!r:.40} is not a number")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise TypeError(f"{value!r:.40} is not a count")
    return value
