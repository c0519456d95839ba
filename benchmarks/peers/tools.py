"""Who learns: each tool as a command that trains so many iterations, and what its output says about the way there.

Programs are looked for on PATH, libraries among the installed modules; a tool that is not here says so.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.peers.library import BEGIN
from benchmarks.peers.process import Finished
from benchmarks.peers.tasks import Files, Task

#: [seconds of training, objective as the tool says, iterations or passes]
History = list[tuple[float, float, float]]


@dataclass(frozen=True)
class Tool:
    """A tool with one of its solvers."""

    name: str
    #: all: every feature that can be formed; observed: those that occur in the data; "observed, all transitions"
    space: str
    form: str  #: of its model files: sparsecrf, crfsuite, wapiti, crf++
    needs: str  #: a program (program NAME) or a module
    suits: Callable[[Task], bool]
    #: trains on files for so many iterations, or seconds if `by_time`, and writes a model
    command: Callable[[Task, Files, float, pathlib.Path], list[Any]]
    history: Callable[[Finished], History] = field(default=lambda done: [])
    by_time: bool = False
    in_parts: bool = True  #: also trains for parts of the budget, to see the test score on the way
    model_suffix: str = ""  #: of the file to be read, where a tool writes two
    #: labels a column file with a model (CRFsuite: the file with attributes beside it), to standard output
    label: Callable[[pathlib.Path, pathlib.Path], list[Any]] | None = None
    label_needs: str | None = None  #: as `needs`, if it is another

    def missing(self) -> str | None:
        """Why it cannot take part; None if it can."""
        return self._missing(self.needs)

    def missing_label(self) -> str | None:
        return self._missing(self.label_needs or self.needs)

    @staticmethod
    def _missing(needs: str) -> str | None:
        kind, _, name = needs.rpartition(" ")
        if kind:
            return None if shutil.which(name) else f"no {name} on PATH"
        return None if importlib.util.find_spec(name) else f"no module {name}"

    def version(self) -> str:
        kind, _, name = self.needs.rpartition(" ")
        if not kind:
            return importlib.metadata.version(_PACKAGES.get(name, name))
        if name == "wapiti":  # the others have no such option that ends by itself
            text = subprocess.run([name, "--version"], capture_output=True, text=True)
            found = re.search(r"v?([\d.]+\d\w*)", text.stdout + text.stderr)
            return found[1] if found else "unknown"
        return "on PATH"


_PACKAGES = {
    "pycrfsuite": "python-crfsuite",
    "sklearn_crfsuite": "sklearn-crfsuite",
    "underthesea_core": "underthesea-core",
}


def _l1(task: Task) -> bool:
    return task.rho1 > 0


def _plain(task: Task) -> bool:
    return task.plain


def _any(task: Task) -> bool:
    return True


# ---- sparsecrf and the Python libraries: a process of library.py


def library(name: str, **options: Any) -> Callable[[Task, Files, float, pathlib.Path], list[Any]]:
    def command(task: Task, files: Files, budget: float, model: pathlib.Path) -> list[Any]:
        given = json.dumps({"budget": budget, **options})
        return [sys.executable, "-m", "benchmarks.peers.library", name, task.name, files.folder, model, given]

    return command


def _told(done: Finished) -> History:
    """What library.py prints last."""
    return [(row[0], row[1], row[2]) for row in json.loads(done.lines[-1][1])["history"]]


def ours(solver: str, space: str = "all", threads: int = 1) -> Tool:
    name = f"sparsecrf {solver}" + (f", {threads} threads" if threads > 1 else "")
    return Tool(
        name,
        space,
        "sparsecrf",
        "sparsecrf",
        # In the observed space against those who know no other.
        _plain if space != "all" else (_any if solver in ("auto", "lbfgs") else _l1),
        library("sparsecrf", solver=solver, threads=threads, space=space),
        _told,
        by_time=True,
        in_parts=solver == "auto" and threads == 1,
        label=_label(threads) if solver == "auto" else None,
    )


def _label(threads: int) -> Callable[[pathlib.Path, pathlib.Path], list[Any]]:
    program = [sys.executable, "-m", "sparsecrf", "label", "-q", "--threads", threads]
    return lambda model, data: [*program, "-m", model, data]


def _printed(done: Finished) -> History:
    """Iterations as they are printed, by the time at which the lines came."""
    began = next(t for t, line in done.lines if line == BEGIN)
    losses = [(t - began, float(line.split()[1])) for t, line in done.lines if line.startswith("Loss: ")]
    return [(t, loss, n) for n, (t, loss) in enumerate(losses)]


# ---- Programs


def _wapiti_label(model: pathlib.Path, data: pathlib.Path) -> list[Any]:
    return ["wapiti", "label", "-m", model, data]


def _crfpp_label(model: pathlib.Path, data: pathlib.Path) -> list[Any]:
    return ["crf_test", "-m", model, data]


def _crfsuite_label(model: pathlib.Path, data: pathlib.Path) -> list[Any]:
    return ["crfsuite", "tag", "-m", model, data.with_suffix(".crfsuite")]


def _wapiti(algorithm: str) -> Callable[[Task, Files, float, pathlib.Path], list[Any]]:
    def command(task: Task, files: Files, budget: float, model: pathlib.Path) -> list[Any]:
        penalties = ["-1", task.rho1, "-2", task.rho2]
        limits = ["-e", 0, "-i", int(budget), "-t", 1]
        data = ["-p", files.template, "-d", files.head, files.train, model]
        return ["wapiti", "train", "-a", algorithm, *penalties, *limits, *data]

    return command


def _wapiti_history(done: Finished) -> History:
    """Its own seconds, without reading; the stochastic solver and bcd know no objective (NA)."""
    rows = re.findall(r"^\s*\[\s*(\d+)\]\s+obj=(\S+)\s.*time=[\d.]+s/([\d.]+)s", done.text, re.M)
    return [(float(t), float(value.replace("NA", "nan")), float(n)) for n, value, t in rows]


def _crfpp(algorithm: str) -> Callable[[Task, Files, float, pathlib.Path], list[Any]]:
    def command(task: Task, files: Files, budget: float, model: pathlib.Path) -> list[Any]:
        penalty = task.rho1 if algorithm == "CRF-L1" else task.rho2
        limits = ["-m", int(budget), "-e", "1e-12", "-p", 1]
        return ["crf_learn", "-t", "-a", algorithm, "-c", 1 / penalty, *limits, files.template, files.train, model]

    return command


def _crfpp_history(done: Finished) -> History:
    """It says no times: a line comes when an iteration is done; training begins after its count of features."""
    rows = [(t, re.match(r"iter=(\d+) .*obj=(\S+)", line)) for t, line in done.lines]
    began = max((t for t, line in done.lines if line.startswith(("Number of features", "shrinking size"))), default=0.0)
    return [(t - began, float(found[2]), float(found[1])) for t, found in rows if found]


def _crfpp_suits(task: Task) -> bool:
    """One penalty or the other, not both; and no `*` lines. 16 vectors of all features must fit into the memory."""
    return task.plain and (task.rho1 == 0 or task.rho2 == 0)


TOOLS = [
    ours("auto"),
    ours("auto", "observed"),
    ours("auto", "observed, all transitions"),
    ours("auto", threads=2),
    ours("owlqn"),
    ours("sbcd"),
    ours("lbfgs"),
    ours("sgd-l1"),
    Tool(
        "Wapiti l-bfgs",
        "all",
        "wapiti",
        "program wapiti",
        _any,
        _wapiti("l-bfgs"),
        _wapiti_history,
        label=_wapiti_label,
    ),
    Tool(
        "Wapiti sgd-l1", "all", "wapiti", "program wapiti", _l1, _wapiti("sgd-l1"), _wapiti_history, label=_wapiti_label
    ),
    Tool("Wapiti bcd", "all", "wapiti", "program wapiti", _l1, _wapiti("bcd"), _wapiti_history),
    Tool("Wapiti rprop", "all", "wapiti", "program wapiti", _any, _wapiti("rprop"), _wapiti_history),
    Tool(
        "CRF++",
        "all",
        "crf++",
        "program crf_learn",
        _crfpp_suits,
        _crfpp("CRF-L2"),
        _crfpp_history,
        model_suffix=".txt",
        label=_crfpp_label,
    ),
    Tool(
        "python-crfsuite",
        "observed",
        "crfsuite",
        "pycrfsuite",
        _plain,
        library("pycrfsuite"),
        _told,
        label=_crfsuite_label,
        label_needs="program crfsuite",
    ),
    Tool("sklearn-crfsuite", "observed", "crfsuite", "sklearn_crfsuite", _plain, library("sklearn_crfsuite")),
    Tool("chaine", "observed", "crfsuite", "chaine", _plain, library("chaine")),
    Tool(
        "underthesea-core",
        "observed, all transitions",
        "crfsuite",
        "underthesea_core",
        _plain,
        library("underthesea_core"),
        _printed,
    ),
]
#: Peers that only label, and so take no part in training.
LABEL_ONLY = {"pycrfpp": "CRF++'s library: labels only", "crfs": "labels only", "libwapiti": "labels only"}
