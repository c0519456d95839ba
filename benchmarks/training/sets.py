"""The tasks that training is measured on, encoded as the peers encode them: no start label, unigram bias where named.

The data lie in a folder that is not part of the project ($SPARSECRF_DATA); a task whose files are missing is skipped.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sparsecrf._core import Corpus, Encoder, StringTable

Rows = list[list[str]]  # the columns of each token of a sequence
DATA = pathlib.Path(os.environ.get("SPARSECRF_DATA", "../shared/data"))


@dataclass(frozen=True)
class Task:
    """Files, penalties, and the attributes of a position: `both` condition labels and pairs, `unigram` labels only."""

    name: str
    folder: str
    rho1: float
    rho2: float
    both: Callable[[Rows, int], list[str]]
    unigram: Callable[[Rows, int], list[str]] = lambda rows, t: []
    plain_transitions: bool = False  #: the template B alone: pairs of labels, whatever the observations

    def available(self) -> bool:
        return (DATA / self.folder / "train.txt").exists()

    def encode(self, *parts: str) -> list[Corpus]:
        """One corpus a part; the first defines attributes and labels, labels that only others have go with them."""
        attributes, labels = StringTable(), StringTable()
        for part in parts:
            for rows in read(DATA / self.folder / f"{part}.txt"):
                for row in rows:
                    labels.intern(row[-1])
        corpora = []
        for part in parts:
            encoder = Encoder(
                attributes=attributes,
                labels=labels,
                bigram=lambda name: name.startswith("*"),
                bias="*" if self.plain_transitions else "",
                start=False,
                grow=part == parts[0],
            )
            for rows in read(DATA / self.folder / f"{part}.txt"):
                tokens = [self.both(rows, t) + self.unigram(rows, t) for t in range(len(rows))]
                encoder.add(tokens, [row[-1] for row in rows])
            corpora.append(encoder.build())
        return corpora


def read(path: pathlib.Path) -> Iterator[Rows]:
    rows: Rows = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if columns := line.split():
                rows.append(columns)
            elif rows:
                yield rows
                rows = []
    if rows:
        yield rows


def cell(rows: Rows, t: int, column: int) -> str:
    """Beyond the ends of a sequence stand _B-1, _B-2 and _B+1, _B+2."""
    if t < 0:
        return f"_B{t}"
    return rows[t][column] if t < len(rows) else f"_B+{t - len(rows) + 1}"


def letters(rows: Rows, t: int) -> list[str]:
    return [f"*{rows[t][0]}"]


def ngrams(rows: Rows, t: int) -> list[str]:
    window = [cell(rows, t + k, 0) for k in range(-2, 3)]
    return ["*", f"*1:{window[2]}", f"*3:{'/'.join(window[1:4])}", f"*5:{'/'.join(window)}"]


def columns(rows: Rows, t: int) -> list[str]:
    return [f"*{column}:{value}" for column, value in enumerate(rows[t][:-1])]


# The offsets of the 19 unigram lines of the usual CRF++ template for chunking: (row, column) of each cell.
CHUNKING = [[(k, 0)] for k in range(-2, 3)] + [[(-1, 0), (0, 0)], [(0, 0), (1, 0)]]
CHUNKING += [[(k, 1)] for k in range(-2, 3)] + [[(k, 1), (k + 1, 1)] for k in range(-2, 2)]
CHUNKING += [[(k, 1), (k + 1, 1), (k + 2, 1)] for k in range(-2, 1)]


def chunking(rows: Rows, t: int) -> list[str]:
    return [f"{n}:{'/'.join(cell(rows, t + row, column) for row, column in cells)}" for n, cells in enumerate(CHUNKING)]


TASKS = {
    task.name: task
    for task in (
        Task("nettalk-letters", "nettalk", 0.1, 0.001, letters),
        Task("nettalk-5gram", "nettalk", 0.2, 0.001, ngrams),
        Task("conll2003", "conll2003", 1.0, 0.001, columns),
        Task("conll2000", "conll2000", 1.0, 1.0, lambda rows, t: [], chunking, plain_transitions=True),
    )
}
