"""The state of a training run in a file, so that a run that was stopped or killed goes on to the same bits.

A safetensors file (io/container.py): arrays of the point and of the solver, and as metadata `run` (what the run is:
corpus, penalties, solver; another run must not continue it) and `state` (counters and history).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.dual import Mixture
from sparsecrf.heldout import Best
from sparsecrf.io.atomic import remove_leftovers, write_atomically
from sparsecrf.io.container import pack, unpack
from sparsecrf.objective import Objective
from sparsecrf.solvers.state import Lowest, State
from sparsecrf.solvers.working_set import Point, Record

_FORMAT, _VERSION = "sparsecrf checkpoint", 2
_SOLVER = "solver."  # before the names of the solver's own arrays


class Checkpoint:
    """The file of one run. `run` says which: only a checkpoint with the same entries is continued."""

    def __init__(self, path: str | os.PathLike[str], every: float, run: Mapping[str, Any]) -> None:
        if not every >= 0:
            raise InputError(f"checkpoint_every: expected a number of seconds >= 0, found {every}")
        self.path, self.every, self.run = Path(path), every, dict(run)
        if not os.access(self.path.parent, os.W_OK) or self.path.is_dir():
            raise InputError(f"checkpoint: expected a file in a directory that can be written to, found {self.path}")
        remove_leftovers(self.path)
        self._last = time.perf_counter()

    def due(self) -> bool:
        return time.perf_counter() - self._last >= self.every

    def save(self, state: State) -> None:
        point = state.point
        arrays = {"numbers": point.known.numbers, "w": point.w, "g": point.g}
        arrays |= {_SOLVER + name: array for name, array in state.solver.items()}
        counters: dict[str, Any] = {
            "loss": point.loss,
            "iteration": state.iteration,
            "screened": state.screened,
            "stalled": state.stalled,
            "passes": state.passes,
            "elapsed": state.elapsed,
            "history": [asdict(record) for record in state.history],
        }
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
        # The container takes arrays as they lie in memory.
        arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        write_atomically(self.path, pack(_FORMAT, _VERSION, metadata, arrays))
        self._last = time.perf_counter()

    def load(self, objective: Objective) -> State | None:
        """The state in the file; None if there is no file yet."""
        if not self.path.exists():
            return None
        metadata, arrays = self._read()
        self._check_run(json.loads(metadata["run"]))
        state = json.loads(metadata["state"])
        known = objective.working_set(arrays["numbers"])
        own = {name[len(_SOLVER) :]: array for name, array in arrays.items() if name.startswith(_SOLVER)}
        best = None
        if "best" in state:
            best = Best(numbers=arrays["best.numbers"], w=arrays["best.w"], **state["best"])
        lowest = None
        if "lowest" in state:
            lowest = Lowest(arrays["lowest.numbers"], arrays["lowest.w"], state["lowest"])
        mixture = None
        if "mixture" in state:
            mixture = Mixture(numbers=arrays["mixture.numbers"], G=arrays["mixture.G"], **state["mixture"])
        return State(
            Point(known, arrays["w"], state["loss"], arrays["g"]),
            state["iteration"],
            state["screened"],
            state["stalled"],
            state["passes"],
            state["elapsed"],
            [Record(**record) for record in state["history"]],
            own,
            best,
            lowest,
            mixture,
        )

    def _read(self) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
        metadata, found = unpack(memoryview(self.path.read_bytes()), str(self.path), _FORMAT, _VERSION)
        # Copies: a solver may write to its arrays.
        return metadata, {name: np.array(array.data).reshape(array.shape) for name, array in found.items()}

    def _check_run(self, found: dict[str, Any]) -> None:
        for name in sorted(self.run.keys() | found.keys()):
            expected, given = self.run.get(name), found.get(name)
            if expected != given:
                raise InputError(f"{self.path}: expected a checkpoint with {name} {expected}, found {name} {given}")
