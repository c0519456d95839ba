"""The tasks of all benchmarks: one table of data sets with templates and penalties.

The data are in a folder outside of the project ($SPARSECRF_DATA), or anywhere else: `Task.of_folder` makes a task from
a folder that has train.txt, test.txt and a CRF++ template (--data FOLDER on the command line). `prepare` writes files
that every tool reads. Affixes and shapes of words are columns of these files, so that every tool can make the same
attributes with plain template cells.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sparsecrf import read_columns

DATA = pathlib.Path(os.environ.get("SPARSECRF_DATA", "../shared/data"))
Row = list[str]


@dataclass(frozen=True)
class Task:
    """Files, template and penalties: loss + rho1 |w|_1 + rho2/2 |w|^2. There is no start label, because the other tools
    have none."""

    name: str
    train: pathlib.Path
    test: pathlib.Path
    template: str
    rho1: float
    rho2: float
    more: Callable[[str], Row] | None = None  #: columns computed from a word, appended to the others

    @classmethod
    def of_folder(cls, folder: pathlib.Path, rho1: float, rho2: float) -> Task:
        """train.txt, test.txt and template of a folder; its name, followed by `-l2` if there is no l1 penalty."""
        template = (folder / "template").read_text(encoding="utf-8")
        name = folder.resolve().name + ("" if rho1 > 0 else "-l2")
        return cls(name, folder / "train.txt", folder / "test.txt", template, rho1, rho2)

    @property
    def plain(self) -> bool:
        """Whether label pairs have plain transitions only; otherwise they are conditioned on observations too."""
        return not re.search(r"^(\*|B[^\n]*%)", self.template, re.MULTILINE)

    def available(self) -> bool:
        """Whether its files exist; prints a message if they do not."""
        missing = [str(path) for path in (self.train, self.test) if not path.exists()]
        if missing:
            print(f"{self.name}: left out, no {' and no '.join(missing)} ($SPARSECRF_DATA)", flush=True)
        return not missing

    def prepare(self, folder: pathlib.Path) -> Files:
        """Make column files and template in a folder for this task, unless they exist."""
        files = Files(folder / self.name)
        files.folder.mkdir(parents=True, exist_ok=True)
        files.template.write_text(self.template, encoding="utf-8")
        for source, target in ((self.train, files.train), (self.test, files.test)):
            if not target.exists():
                target.write_text("".join(self._sequences(source)), encoding="utf-8")
        first = files.test.read_text(encoding="utf-8").split("\n\n", 1)[0]
        files.head.write_text(first + "\n\n", encoding="utf-8")
        return files

    def _sequences(self, path: pathlib.Path) -> Iterator[str]:
        for rows in read_columns(path):
            lines = (" ".join([*row[:-1], *(self.more(row[0]) if self.more else []), row[-1]]) for row in rows)
            yield "\n".join(lines) + "\n\n"


class Files:
    """The files that `prepare` made for a task."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.train = folder / "train.txt"
        self.test = folder / "test.txt"
        #: One sequence: to measure how long a tool takes to start, and for tools that decode a dev file during
        #: training.
        self.head = folder / "head.txt"
        self.template = folder / "template.txt"

    def model(self, tool: str, space: str) -> pathlib.Path:
        """The last model that a tool trained on these features."""
        return self.folder / f"{tool} {space}.model"

    def repeated(self, tokens: int, name: str) -> tuple[pathlib.Path, int]:
        """Write the test file, repeated until it has at least this many tokens, to a file of that name; also returns
        its number of tokens."""
        text = self.test.read_text(encoding="utf-8")
        n = sum(1 for line in text.splitlines() if line)
        copies = -(-tokens // n)
        path = self.folder / f"{name}.txt"
        path.write_text(text * copies, encoding="utf-8")
        return path, n * copies


def affixes(word: str) -> Row:
    """The lowercase form; prefixes and suffixes of 1 to 4 letters; the long and the short shape (Xx-0). A missing value
    is "_"."""
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

LETTERS = "*:%x[0,0]\n"
NGRAMS = "*\n" + _lines("*", [[(k, 0) for k in range(-n, n + 1)] for n in range(3)])
COLUMNS = _lines("*", [[(0, column)] for column in range(3)])
CHUNKS = _lines("U", _CHUNKING) + "B\n"
_RICH = _lines("U", _ENTITIES) + "B\n"
_TAGS = _lines("U", _TAGGING) + "B\n"


def first_lines(template: str, n: int) -> str:
    return "".join(template.splitlines(keepends=True)[:n])


def _task(
    name: str,
    folder: str,
    template: str,
    rho1: float,
    rho2: float,
    more: Callable[[str], Row] | None = None,
    ending: str = ".txt",
) -> Task:
    train, test = (DATA / folder / f"{part}{ending}" for part in ("train", "test"))
    return Task(name, train, test, template, rho1, rho2, more)


TASKS = {
    task.name: task
    for task in (
        _task("nettalk-letters", "nettalk", LETTERS, 0.1, 0.001),
        _task("nettalk-3gram", "nettalk", first_lines(NGRAMS, 3), 0.2, 0.001),
        _task("nettalk-5gram", "nettalk", NGRAMS, 0.2, 0.001),
        _task("nettalk-stress", "nettalk", LETTERS, 0.1, 0.001, ending=".stress.txt"),
        _task("conll2003", "conll2003", COLUMNS, 1.0, 0.001),
        _task("conll2003-rich", "conll2003", _RICH, 1.0, 0.1, affixes),
        _task("conll2003-rich-l2", "conll2003", _RICH, 0.0, 1.0, affixes),
        _task("conll2000", "conll2000", CHUNKS, 1.0, 1.0),
        _task("conll2000-l2", "conll2000", CHUNKS, 0.0, 1.0),
        _task("conll2000-star", "conll2000", "*\n" + _lines("*", _CHUNKING), 1.0, 1.0),
        _task("ewt", "ewt", _TAGS, 1.0, 0.1, affixes),
        _task("ewt-l2", "ewt", _TAGS, 0.0, 1.0, affixes),
    )
}


# ---- The choice on a command line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments TASK ... and --data FOLDER."""
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"some of {', '.join(TASKS)}")
    parser.add_argument(
        "--data",
        action="append",
        type=pathlib.Path,
        default=[],
        metavar="FOLDER",
        help="a task of one's own: train.txt, test.txt and a CRF++ template named `template`; may be repeated",
    )
    parser.add_argument("--rho1", type=float, default=1.0, help="of those tasks (default 1)")
    parser.add_argument("--rho2", type=float, default=0.1, help="of those tasks (default 0.1)")


def chosen(options: argparse.Namespace, default: Iterable[str] = TASKS) -> list[Task]:
    """The named tasks and the tasks of folders; if there are neither, the default. Tasks without data are left out."""
    if unknown := [name for name in options.tasks if name not in TASKS]:
        raise SystemExit(f"expected tasks among {', '.join(TASKS)}, found {', '.join(unknown)}")
    own = [Task.of_folder(folder, options.rho1, options.rho2) for folder in options.data]
    named = options.tasks or ([] if own else default)
    return [task for task in [*(TASKS[name] for name in named), *own] if task.available()]
