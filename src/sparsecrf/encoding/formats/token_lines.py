"""Token lines: one sentence per line, with spaces between tokens; a label follows its token after a slash, Oslo/LOC."""

from __future__ import annotations

from collections.abc import Iterator

from sparsecrf._core import InputError
from sparsecrf.encoding.formats.records import Answer, Record, Records, read_records, text_lines
from sparsecrf.files.text import Piece, Source


class TokenLines(Records):
    """Lines of the form word/LABEL word/LABEL ... Training, evaluation and `label --force` require labels."""

    name = "tokens"
    title = "token-line"
    one_line = True

    def records(self, piece: Piece, source: str, labelled: bool) -> Iterator[Record]:
        for number, line in enumerate(text_lines(piece, source), piece.line):
            yield _Line(line.split(), number, f"{source}, line {number}", labelled)

    def text(self, rows: list[list[str]], labels: list[str]) -> str:
        for row, label in zip(rows, labels, strict=True):
            if len(row) != 1 or row[0].split() != [row[0]] or label.split() != [label] or "/" in label:
                raise InputError(
                    "expected one word without whitespace and a label without whitespace or slashes, found "
                    f"{' '.join(row)!r:.60} and {label!r:.60}"
                )
        return " ".join(f"{row[0]}/{label}" for row, label in zip(rows, labels, strict=True)) + "\n"


class _Line(Record):
    def __init__(self, tokens: list[str], line: int, where: str, labelled: bool) -> None:
        self.line, self._tokens = line, tokens
        self.rows = [[token] for token in tokens]
        if labelled:
            parts = [token.rpartition("/") for token in tokens]
            for (word, _, label), token in zip(parts, tokens, strict=True):
                if not word or not label:
                    raise InputError(f"{where}: expected a word, a slash and its label, found {token!r:.60}")
            self.rows, self.labels = [[word] for word, _, _ in parts], [label for _, _, label in parts]

    def filled(self, answer: Answer) -> str:
        probabilities = answer.probabilities
        more = [""] * len(self._tokens) if probabilities is None else [f"/{p:.6f}" for p in probabilities]
        each = zip(self._tokens, answer.labels, more, strict=True)
        return " ".join(f"{token}/{label}{said}" for token, label, said in each) + "\n"


def read_tokens(source: Source) -> Iterator[tuple[list[str], list[str | None]]]:
    """Read token lines (word/LABEL word/LABEL ...) sentence by sentence: words and labels."""
    return read_records(TokenLines(), source)
