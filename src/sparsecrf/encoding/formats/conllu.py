"""CoNLL-U files of treebanks: ten columns separated by tabs, comments before each sentence.

The token is the FORM. The label is one column (upos, xpos or feats) or two, upos+feats (NOUN|Number=Sing). Lines of
multiword tokens (1-2) and of empty nodes (1.1) have no label; `label` copies them and comments unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sparsecrf._core import InputError
from sparsecrf.compatibility import OptionError
from sparsecrf.encoding.formats.records import Answer, Record, Records, read_records, text_lines
from sparsecrf.files.text import Piece, Source

_UPOS, _XPOS, _FEATS, _MISC, _N = 3, 4, 5, 9, 10


def _upos_feats(cells: list[str]) -> str:
    return cells[_UPOS] if cells[_FEATS] == "_" else f"{cells[_UPOS]}|{cells[_FEATS]}"


def _fill_upos_feats(cells: list[str], label: str) -> None:
    cells[_UPOS], _, feats = label.partition("|")
    cells[_FEATS] = feats or "_"


def _column(k: int) -> tuple[Callable[[list[str]], str], Callable[[list[str], str], None]]:
    def fill(cells: list[str], label: str) -> None:
        cells[k] = label

    return lambda cells: cells[k], fill


#: Possible labels, each with functions that read it from the cells of a line and write it to the cells.
_LABELS = {
    "upos": _column(_UPOS),
    "xpos": _column(_XPOS),
    "feats": _column(_FEATS),
    "upos+feats": (_upos_feats, _fill_upos_feats),
}


class Conllu(Records):
    """Files with the annotation of Universal Dependencies."""

    title = "CoNLL-U"
    not_in_labels = "\t\r\n\0"
    suffix = ".conllu"
    default_features = "tagging"

    def __init__(self, label: str | None = None) -> None:
        self.name = "conllu" if label is None else f"conllu:{label}"
        self.label = label or "upos"
        self.core = ("conllu", self.label)

    def variant(self, choice: str, option: str = "format") -> Conllu:
        if choice not in _LABELS:
            raise OptionError(f"{option}: expected conllu:{'|'.join(_LABELS)}, found conllu:{choice}")
        return Conllu(choice)

    def looks_like(self, line: bytes) -> bool:
        cells = line.split()  # split at any whitespace, since a file may have lost its tabs
        return len(cells) >= _N and cells[0].split(b"-")[0].isdigit()

    def records(self, piece: Piece, source: str, labelled: bool) -> Iterator[Record]:
        lines, first = list[str](), piece.line
        for number, line in enumerate([*text_lines(piece, source), ""], piece.line):
            if line.strip():
                first = first if lines else number
                lines.append(line)
            elif lines:
                yield _Sentence(lines, first, self.label, source, labelled)
                lines = []

    def text(self, rows: list[list[str]], labels: list[str]) -> str:
        _, fill = _LABELS[self.label]
        lines = []
        for k, (row, label) in enumerate(zip(rows, labels, strict=True), 1):
            if len(row) != 1 or not row[0] or any(c in row[0] + label for c in "\t\r\n"):
                raise InputError(
                    "expected a token of one word and a label, both without tabs and line breaks, found "
                    f"{' '.join(row)!r:.60} and {label!r:.60}"
                )
            cells = [str(k), row[0], *["_"] * (_N - 2)]
            fill(cells, label)
            lines.append("\t".join(cells) + "\n")
        return "".join(lines) + "\n"


class _Sentence(Record):
    def __init__(self, lines: list[str], first: int, label: str, source: str, labelled: bool) -> None:
        self.line, self._lines, self._label = first, lines, label
        self._words: dict[int, list[str]] = {}  # cells of the lines that are words, by index in `lines`
        for k, line in enumerate(lines):
            if line.startswith("#"):
                continue
            cells, where = line.split("\t"), f"{source}, line {first + k}"
            if len(cells) != _N:
                raise InputError(f"{where}: expected {_N} columns separated by tabs, found {len(cells)}: {line!r:.60}")
            number = cells[0]
            if number.isdecimal():
                if int(number) != len(self._words) + 1:
                    raise InputError(f"{where}: expected word number {len(self._words) + 1}, found {number:.60}")
                if not cells[1]:
                    raise InputError(
                        f"{where}: expected a FORM in the second column, found an empty cell: {line!r:.60}"
                    )
                self._words[k] = cells
            elif not number.replace("-", ".", 1).replace(".", "", 1).isdecimal():
                raise InputError(f"{where}: expected the number of a word (3, 3-4 or 3.1), found {number!r:.60}")
        self.rows = [[cells[1]] for cells in self._words.values()]
        if labelled:
            read, is_feats = _LABELS[label][0], label == "feats"  # in this column, _ means no features
            # In other columns, _ means that the word is not annotated.
            self.labels = [
                None if (name := read(cells)) == "_" and not is_feats else name for cells in self._words.values()
            ]

    def filled(self, answer: Answer) -> str:
        lines, fill = list(self._lines), _LABELS[self._label][1]
        for t, (k, cells) in enumerate(self._words.items()):
            made = list(cells)
            fill(made, answer.labels[t])
            if answer.probabilities is not None:
                others = [item for item in made[_MISC].split("|") if item != "_" and not item.startswith("Prob=")]
                made[_MISC] = "|".join([*others, f"Prob={answer.probabilities[t]:.6f}"])
            lines[k] = "\t".join(made)
        return "\n".join(lines) + "\n\n"


def read_conllu(source: Source, label: str = "upos") -> Iterator[tuple[list[str], list[str | None]]]:
    """Read a CoNLL-U file sentence by sentence: its words (FORM) and their labels.

    `label` is upos, xpos, feats, or upos+feats (NOUN|Number=Sing). Multiword tokens and empty nodes are left out; a
    missing label (_) is None. `source` is a path, "-" (standard input) or a file open for bytes.
    """
    return read_records(Conllu().variant(label, "label"), source)
