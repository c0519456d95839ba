"""The training tools: for each, a command that trains for a number of iterations, and a reader of its output.

Programs are looked for on PATH, libraries among the installed modules; a missing tool is reported.
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.common import Finished, module
from benchmarks.library import BEGIN
from benchmarks.tasks import Files, Task

#: [seconds of training, objective reported by the tool, iterations or passes]
History = list[tuple[float, float, float]]
#: trains on files for a number of iterations or seconds, and writes a model
Train = Callable[[Task, Files, float, pathlib.Path], list[Any]]
#: labels a column file with a model, to standard output
Label = Callable[[pathlib.Path, pathlib.Path], list[Any]]


def missing(needs: str) -> str | None:
    """Why this program (program NAME) or module cannot be used; None if it is available."""
    kind, _, name = needs.rpartition(" ")
    if kind:
        return None if shutil.which(name) else f"no {name} on PATH"
    return None if importlib.util.find_spec(name) else f"no module {name}"


@dataclass(frozen=True)
class Tool:
    """A tool with one of its solvers."""

    name: str
    #: all: every feature that can be formed; observed: those that occur in the data; "observed, all transitions"
    space: str
    form: str  #: of its model files: sparsecrf, crfsuite, wapiti, crf++
    needs: str  #: a program (program NAME) or a module
    suits: Callable[[Task], bool]
    command: Train  #: for this many iterations, or seconds if `by_time`
    history: Callable[[Finished], History] = field(default=lambda done: [])
    by_time: bool = False
    in_parts: bool = True  #: also trains for fractions of the budget, to follow the test score
    model_suffix: str = ""  #: of the file to be read, where a tool writes two
    label: Label | None = None  #: CRFsuite: the file with attributes next to the given one
    label_needs: str | None = None  #: as `needs`, if labelling needs something else

    def missing(self) -> str | None:
        """Why the tool cannot take part; None if it can."""
        return missing(self.needs)

    def missing_label(self) -> str | None:
        return missing(self.label_needs or self.needs)


def _l1(task: Task) -> bool:
    return task.rho1 > 0


def _plain(task: Task) -> bool:
    return task.plain


def _any(task: Task) -> bool:
    return True


# ---- sparsecrf and the Python libraries: a process of library.py


def library(name: str, **options: Any) -> Train:
    def command(task: Task, files: Files, budget: float, model: pathlib.Path) -> list[Any]:
        given = json.dumps({"rho1": task.rho1, "rho2": task.rho2, "budget": budget, **options})
        return module("library", name, files.folder, model, given)

    return command


def _told(done: Finished) -> History:
    """The last line that library.py prints."""
    return [(row[0], row[1], row[2]) for row in done.answer["history"]]


def ours(solver: str, space: str = "all", threads: int = 1) -> Tool:
    name = f"sparsecrf {solver}" + (f", {threads} threads" if threads > 1 else "")
    return Tool(
        name,
        space,
        "sparsecrf",
        "sparsecrf",
        # In the observed space, compared with tools that support no other.
        _plain if space != "all" else (_any if solver in ("auto", "lbfgs") else _l1),
        library("sparsecrf", solver=solver, threads=threads, space=space),
        _told,
        by_time=True,
        in_parts=solver == "auto" and threads == 1,
        label=_label(threads) if solver == "auto" else None,
    )


def _label(threads: int) -> Label:
    program = [sys.executable, "-m", "sparsecrf", "label", "-q", "--threads", threads]
    return lambda model, data: [*program, "-m", model, data]


def _printed(done: Finished) -> History:
    """Iterations as printed, with the times at which the lines arrived."""
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


def wapiti(algorithm: str, *, compact: bool = False, whole_dev: bool = False) -> Train:
    """Trains Wapiti. Its time includes decoding a dev file: one sequence, or the whole test file if its errors are
    needed."""

    def command(task: Task, files: Files, budget: float, model: pathlib.Path) -> list[Any]:
        penalties = ["-1", task.rho1, "-2", task.rho2]
        limits = ["-e", 0, "-i", int(budget), "-t", 1, *(["-c"] if compact else [])]
        data = ["-p", files.template, "-d", files.test if whole_dev else files.head, files.train, model]
        return ["wapiti", "train", "-a", algorithm, *penalties, *limits, *data]

    return command


def wapiti_rows(done: Finished) -> list[tuple[float, float, float, int, float]]:
    """What Wapiti prints for each iteration: seconds, without reading; the objective (NA for the stochastic solver and
    bcd); number; active features; and the percentage of wrong tokens in the dev file."""
    pattern = r"^\s*\[\s*(\d+)\]\s+obj=(\S+)\s+act=\s*(\d+)\s+err=\s*([\d.]+)%.*time=[\d.]+s/([\d.]+)s"
    return [
        (float(t), float(value.replace("NA", "nan")), float(n), int(active), float(error))
        for n, value, active, error, t in re.findall(pattern, done.text, re.M)
    ]


def _wapiti_history(done: Finished) -> History:
    return [row[:3] for row in wapiti_rows(done)]


def crfpp(algorithm: str) -> Train:
    def command(task: Task, files: Files, budget: float, model: pathlib.Path) -> list[Any]:
        penalty = task.rho1 if algorithm == "CRF-L1" else task.rho2
        limits = ["-m", int(budget), "-e", "1e-12", "-p", 1]
        return ["crf_learn", "-t", "-a", algorithm, "-c", 1 / penalty, *limits, files.template, files.train, model]

    return command


def _crfpp_history(done: Finished) -> History:
    """CRF++ prints no times: a line appears when an iteration is done, and training begins after it has printed the
    number of features."""
    rows = [(t, re.match(r"iter=(\d+) .*obj=(\S+)", line)) for t, line in done.lines]
    began = max((t for t, line in done.lines if line.startswith(("Number of features", "shrinking size"))), default=0.0)
    return [(t - began, float(found[2]), float(found[1])) for t, found in rows if found]


def _crfpp_suits(task: Task) -> bool:
    """Whether CRF++ can train on a task. It supports one penalty or the other, not both, and no `*` lines; 16 vectors
    over all features must fit into memory."""
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
        wapiti("l-bfgs"),
        _wapiti_history,
        label=_wapiti_label,
    ),
    Tool(
        "Wapiti sgd-l1", "all", "wapiti", "program wapiti", _l1, wapiti("sgd-l1"), _wapiti_history, label=_wapiti_label
    ),
    Tool("Wapiti bcd", "all", "wapiti", "program wapiti", _l1, wapiti("bcd"), _wapiti_history),
    Tool("Wapiti rprop", "all", "wapiti", "program wapiti", _any, wapiti("rprop"), _wapiti_history),
    Tool(
        "CRF++",
        "all",
        "crf++",
        "program crf_learn",
        _crfpp_suits,
        crfpp("CRF-L2"),
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
BY_NAME = {f"{tool.name}, {tool.space}": tool for tool in TOOLS}
#: Peers that only label and cannot train.
LABEL_ONLY = {"pycrfpp": "CRF++'s library: labels only", "crfs": "labels only", "libwapiti": "labels only"}
