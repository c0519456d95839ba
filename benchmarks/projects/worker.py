"""Runs one project with one of the two libraries, in its own process: python -m benchmarks.projects.worker

    train    PROJECT FOLDER TOOL OUT           trains on 4/5 and labels the rest; OUT.model, OUT.json
    label    PROJECT FOLDER TOOL MODEL OUT     labels the rest by a model of either library
    models   PROJECT FOLDER TOOL OUT           the models that the project's tests need, in the folder OUT
    test     PROJECT FOLDER TOOL               its tests, in a folder that has its models

TOOL is `original` or `compat`. Prints one line of JSON. $SPARSECRF_PROJECTS_PART=N: trains on one sequence of N.
"""

from __future__ import annotations

import doctest
import importlib
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.common import peak_mb
from benchmarks.projects.packages import PACKAGES, Package, Sequence, use


def main() -> None:
    task, name, folder, tool, *rest = sys.argv[1:]
    if tool == "compat":
        from sparsecrf.contrib import compat

        compat.install()
        compat.Trainer.model_format = "crfsuite"  # so that the other one can open it
    package = PACKAGES[name]
    found = TASKS[task](package, use(package, Path(folder)), *map(Path, rest))
    print(json.dumps(found))


def train(package: Package, project: Path, out: Path) -> dict[str, Any]:
    data = _with_labels(package, project)
    before = peak_mb()
    seconds = _trained(package, [item for k, item in enumerate(data) if k % 5], out.with_suffix(".model"))
    after = peak_mb()
    found = label(package, project, out.with_suffix(".model"), out, data)
    size = out.with_suffix(".model").stat().st_size
    return {**found, "cpu_s": seconds, "peak_mb": after, "before_mb": before, "model_bytes": size}


def label(
    package: Package, project: Path, model: Path, out: Path, data: list[Sequence] | None = None
) -> dict[str, Any]:
    """The labels of the held-out sequences, and how many of them are correct."""
    answers, right, tokens = [], 0, 0
    tagger = _tagger(model)
    for features, labels in (_with_labels(package, project) if data is None else data)[::5]:
        answers.append(tagger.tag(features))
        right += sum(y == z for y, z in zip(labels, answers[-1], strict=True))
        tokens += len(labels)
    out.with_suffix(".json").write_text(json.dumps(answers))
    return {"accuracy": 100 * right / tokens, "tokens": tokens}


def models(package: Package, project: Path, out: Path) -> dict[str, Any]:
    for name, data in package.models.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        _trained(package, data(project), out / name)
    return {}


def test(package: Package, project: Path) -> dict[str, Any]:
    """Tests by outcome."""
    if package.tests[0].startswith(f"{package.folder}."):
        return _doctests(package.tests[0])
    import pytest

    class Counts:
        def __init__(self) -> None:
            self.outcomes: dict[str, int] = {}
            self.failed: list[str] = []

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" or report.outcome != "passed":
                self.outcomes[report.outcome] = self.outcomes.get(report.outcome, 0) + 1
                self.failed += [report.nodeid] if report.outcome == "failed" else []

    counts = Counts()
    os.chdir(project)
    pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", *package.tests], plugins=[counts])
    return {"outcomes": counts.outcomes, "failed": counts.failed}


def _doctests(name: str) -> dict[str, Any]:
    """The doctests of a module, including those that it skips."""
    import tempfile

    module = importlib.import_module(name)
    text = re.sub(r" *# doctest: \+SKIP", "", Path(str(module.__file__)).read_text(encoding="utf-8"))
    found = doctest.DocTestParser().get_doctest(text, dict(vars(module)), name, None, 0)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        done = doctest.DocTestRunner().run(found)
    return {"outcomes": {"passed": done.attempted - done.failed, "failed": done.failed}, "failed": []}


def _with_labels(package: Package, project: Path) -> list[Sequence]:
    data = package.data(project)
    if package.shipped:
        tagger = _tagger(project / package.shipped)
        data = [(features, tagger.tag(features)) for features, _ in data if features]
    return data


def _tagger(model: Path) -> Any:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    return tagger


def _trained(package: Package, data: list[Sequence], model: Path) -> float:
    """CPU seconds of `append` and `train`."""
    import pycrfsuite

    began = time.process_time()
    trainer = pycrfsuite.Trainer(verbose=False, params=package.params)
    for features, labels in data[:: int(os.environ.get("SPARSECRF_PROJECTS_PART", "1"))]:
        trainer.append(features, labels)
    trainer.train(str(model))
    return time.process_time() - began


TASKS: dict[str, Any] = {"train": train, "label": label, "models": models, "test": test}

if __name__ == "__main__":
    main()
