"""What is learnt: data sets with templates and penalties, in files that every tool reads.

The data lie in a folder that is not part of the project ($SPARSECRF_DATA). Affixes and shapes of words are columns of
the files made here, so that a tool needs nothing but the cells of a template to have the same attributes.
"""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sparsecrf import read_columns

DATA = pathlib.Path(os.environ.get("SPARSECRF_DATA", "../shared/data"))
Row = list[str]


@dataclass(frozen=True)
class Task:
    """Files, template and penalties: loss + rho1 |w|_1 + rho2/2 |w|^2. No start label: the peers have none."""

    name: str
    train: str  #: of the data folder; the test file stands beside it
    test: str
    template: str
    rho1: float
    rho2: float
    more: Callable[[str], Row] | None = None  #: columns made of a word, put after the others

    @property
    def plain(self) -> bool:
        """Label pairs have plain transitions only; otherwise they are conditioned on observations too."""
        return "*" not in self.template

    def available(self) -> bool:
        return (DATA / self.train).exists() and (DATA / self.test).exists()

    def prepare(self, folder: pathlib.Path) -> Files:
        """Column files and template in a folder of this task, made if they are not there."""
        files = Files(folder / self.name)
        files.folder.mkdir(parents=True, exist_ok=True)
        files.template.write_text(self.template, encoding="utf-8")
        for source, target in ((self.train, files.train), (self.test, files.test)):
            if not target.exists():
                text = "".join(self._sequences(DATA / source))
                target.write_text(text, encoding="utf-8")
        first = files.test.read_text(encoding="utf-8").split("\n\n", 1)[0]
        files.head.write_text(first + "\n\n", encoding="utf-8")
        return files

    def _sequences(self, path: pathlib.Path) -> Iterator[str]:
        for rows in read_columns(path):
            lines = (" ".join([*row[:-1], *(self.more(row[0]) if self.more else []), row[-1]]) for row in rows)
            yield "\n".join(lines) + "\n\n"


@dataclass(frozen=True)
class Files:
    """Where `prepare` put a task."""

    folder: pathlib.Path

    @property
    def train(self) -> pathlib.Path:
        return self.folder / "train.txt"

    @property
    def test(self) -> pathlib.Path:
        return self.folder / "test.txt"

    @property
    def head(self) -> pathlib.Path:
        """One sequence: to see how long a tool takes to start, and for tools that decode a dev file as they train."""
        return self.folder / "head.txt"

    @property
    def template(self) -> pathlib.Path:
        return self.folder / "template.txt"

    def model(self, tool: str, space: str) -> pathlib.Path:
        """What a tool learnt last on these features."""
        return self.folder / f"{tool} {space}.model"


def affixes(word: str) -> Row:
    """Lower case; prefixes and suffixes of 1 to 4 letters; shape (Xx-0) long and short. A missing one is "_"."""
    prefixes = [word[:n] if len(word) > n else "_" for n in range(1, 5)]
    suffixes = [word[-n:] if len(word) > n else "_" for n in range(1, 5)]
    shape = re.sub(r"[^\W\d_]", lambda m: "X" if m[0].isupper() else "x", re.sub(r"\d", "0", word))
    return [word.lower(), *prefixes, *suffixes, shape, re.sub(r"(.)\1+", r"\1", shape)]


def _lines(prefix: str, cells: list[list[tuple[int, int]]]) -> str:
    texts = ("/".join(f"%x[{row},{column}]" for row, column in cell) for cell in cells)
    return "".join(f"{prefix}{n:02}:{text}\n" for n, text in enumerate(texts))


def _window(column: int, size: int) -> list[list[tuple[int, int]]]:
    return [[(row, column)] for row in range(-size, size + 1)]


# The 19 unigram lines of the usual CRF++ template for chunking.
_CHUNKING = _window(0, 2) + [[(-1, 0), (0, 0)], [(0, 0), (1, 0)]] + _window(1, 2)
_CHUNKING += [[(k, 1), (k + 1, 1)] for k in range(-2, 2)] + [[(k, 1), (k + 1, 1), (k + 2, 1)] for k in range(-2, 1)]
# Columns of the rich set for entities: word, part of speech, chunk, then `affixes`: lower 3, prefixes 4-7, suffixes
# 8-11, shape 12, short shape 13.
_ENTITIES = _window(0, 2) + _window(1, 2) + _window(2, 1) + _window(3, 1) + _window(13, 2)
_ENTITIES += [[(0, column)] for column in range(4, 13)]
_ENTITIES += [[(-1, 0), (0, 0)], [(0, 0), (1, 0)], [(-1, 1), (0, 1)], [(0, 1), (1, 1)]]
_ENTITIES += [[(-1, 13), (0, 13)], [(0, 13), (1, 13)], [(-1, 13), (0, 13), (1, 13)]]
# Word, then `affixes`: lower 1, prefixes 2-5, suffixes 6-9, shape 10, short shape 11.
_TAGGING = _window(0, 2) + _window(11, 1) + [[(0, column)] for column in range(1, 11)]
_TAGGING += [[(-1, 0), (0, 0)], [(0, 0), (1, 0)], [(-1, 8), (0, 8)], [(-1, 8)], [(1, 8)]]

_LETTERS = "*:%x[0,0]\n"
_NGRAMS = [[(k, 0) for k in range(-n, n + 1)] for n in range(3)]


def _tasks() -> Iterator[Task]:
    train, test = "nettalk/train.txt", "nettalk/test.txt"
    yield Task("nettalk-letters", train, test, _LETTERS, 0.1, 0.001)
    yield Task("nettalk-3gram", train, test, "*\n" + _lines("*", _NGRAMS[:2]), 0.2, 0.001)
    yield Task("nettalk-5gram", train, test, "*\n" + _lines("*", _NGRAMS), 0.2, 0.001)
    yield Task("nettalk-stress", "nettalk/train.stress.txt", "nettalk/test.stress.txt", _LETTERS, 0.1, 0.001)
    train, test = "conll2003/train.txt", "conll2003/test.txt"
    yield Task("conll2003", train, test, _lines("*", [[(0, column)] for column in range(3)]), 1.0, 0.001)
    rich = _lines("U", _ENTITIES) + "B\n"
    yield Task("conll2003-rich", train, test, rich, 1.0, 0.1, affixes)
    yield Task("conll2003-rich-l2", train, test, rich, 0.0, 1.0, affixes)
    train, test = "conll2000/train.txt", "conll2000/test.txt"
    yield Task("conll2000", train, test, _lines("U", _CHUNKING) + "B\n", 1.0, 1.0)
    yield Task("conll2000-l2", train, test, _lines("U", _CHUNKING) + "B\n", 0.0, 1.0)
    yield Task("conll2000-star", train, test, "*\n" + _lines("*", _CHUNKING), 1.0, 1.0)
    train, test = "ewt/train.txt", "ewt/test.txt"
    yield Task("ewt", train, test, _lines("U", _TAGGING) + "B\n", 1.0, 0.1, affixes)
    yield Task("ewt-l2", train, test, _lines("U", _TAGGING) + "B\n", 0.0, 1.0, affixes)


TASKS = {task.name: task for task in _tasks()}
