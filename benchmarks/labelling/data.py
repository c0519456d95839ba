"""The tasks of the labelling benchmark: all tasks of benchmarks/tasks.py and three that are defined here."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from benchmarks.tasks import DATA, TASKS, Task

from sparsecrf import read_columns
from sparsecrf.encoding.presets import preset


class RawTokens(Task):
    """Only the word and the label."""

    def _sequences(self, path: pathlib.Path) -> Iterator[str]:
        for rows in read_columns(path):
            yield "".join(f"{row[0]} {row[-1]}\n" for row in rows) + "\n"


@dataclass(frozen=True)
class ManyLabels(Task):
    """The last two letters of the word refine its label, like endings in a language with rich morphology. Training uses
    only the first sentences, because a pass takes a minute in tools with a dense transition matrix."""

    rare: int = 5  #: endings that occur with a label less often than this do not refine it
    sentences: int = 1_000

    def _sequences(self, path: pathlib.Path) -> Iterator[str]:
        counts = _endings(self.train)
        for i, text in enumerate(super()._sequences(path)):
            if path == self.train and i == self.sentences:
                return
            rows = [line.split() for line in text.splitlines() if line]
            for row in rows:
                pair = row[-1], row[0].lower()[-2:]
                row[-1] = "-".join(pair) if counts[pair] >= self.rare else row[-1]
            yield "".join(" ".join(row) + "\n" for row in rows) + "\n"


@lru_cache
def _endings(path: pathlib.Path) -> Counter[tuple[str, str]]:
    return Counter((row[-1], row[0].lower()[-2:]) for rows in read_columns(path) for row in rows)


def _files(folder: str) -> tuple[pathlib.Path, pathlib.Path]:
    return DATA / folder / "train.txt", DATA / folder / "test.txt"


_EWT = TASKS["ewt"]
#: By name, with the number of tokens to label.
LABELLED: dict[str, tuple[Task, int]] = {
    task.name: (task, tokens)
    for task, tokens in (
        (TASKS["conll2003"], 1_000_000),
        (TASKS["conll2000"], 1_000_000),
        (RawTokens("words", *_files("conll2003"), preset("words"), 1.0, 0.1), 500_000),
        (Task("documents", *_files("conll2003"), preset("documents"), 1.0, 0.1), 500_000),
        (TASKS["nettalk-5gram"], 500_000),
        (_EWT, 500_000),
        (ManyLabels("many-labels", *_files("ewt"), _EWT.template, 1.0, 0.1, _EWT.more), 20_000),
    )
}
