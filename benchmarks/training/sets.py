"""The tasks that training is measured on, encoded as the peers encode them: no start label.

The data lie in a folder that is not part of the project ($SPARSECRF_DATA); a task whose files are missing is skipped.
"""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass

from sparsecrf import Corpus, Template, Vocabulary
from sparsecrf.encoding.encode import encode_columns

DATA = pathlib.Path(os.environ.get("SPARSECRF_DATA", "../shared/data"))


@dataclass(frozen=True)
class Task:
    """Files, penalties, and the template that makes attributes of them."""

    name: str
    folder: str
    rho1: float
    rho2: float
    template: str

    def available(self) -> bool:
        return (DATA / self.folder / "train.txt").exists()

    def encode(self, *parts: str) -> list[Corpus]:
        """One corpus a part; the first defines attributes and labels."""
        vocabulary, template = Vocabulary(start=False), Template(self.template)
        return [
            encode_columns([DATA / self.folder / f"{part}.txt"], vocabulary, template, grow=part == parts[0]).corpus
            for part in parts
        ]


def _line(prefix: str, number: int, cells: list[tuple[int, int]]) -> str:
    return f"{prefix}{number:02}:" + "/".join(f"%x[{row},{column}]" for row, column in cells) + "\n"


# The offsets of the 19 unigram lines of the usual CRF++ template for chunking: (row, column) of each cell.
CHUNKING = [[(k, 0)] for k in range(-2, 3)] + [[(-1, 0), (0, 0)], [(0, 0), (1, 0)]]
CHUNKING += [[(k, 1)] for k in range(-2, 3)] + [[(k, 1), (k + 1, 1)] for k in range(-2, 2)]
CHUNKING += [[(k, 1), (k + 1, 1), (k + 2, 1)] for k in range(-2, 1)]

LETTERS = "*:%x[0,0]\n"
NGRAMS = "*\n" + "".join(_line("*", n, [(k, 0) for k in range(-n, n + 1)]) for n in range(3))
COLUMNS = "".join(_line("*", column, [(0, column)]) for column in range(3))
CHUNKS = "".join(_line("U", n, cells) for n, cells in enumerate(CHUNKING)) + "B\n"

TASKS = {
    task.name: task
    for task in (
        Task("nettalk-letters", "nettalk", 0.1, 0.001, LETTERS),
        Task("nettalk-5gram", "nettalk", 0.2, 0.001, NGRAMS),
        Task("conll2003", "conll2003", 1.0, 0.001, COLUMNS),
        Task("conll2000", "conll2000", 1.0, 1.0, CHUNKS),
    )
}
