"""Converts the files of other projects to sequences of columns, with the label last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sparsecrf._core import InputError

Row = tuple[str, ...]
#: Maps file contents by name to the sequences of train, dev and test.
Reader = Callable[[Mapping[str, bytes]], Mapping[str, Sequence[Sequence[Row]]]]

_CONLLU_FIELDS = {"form": 1, "lemma": 2, "upos": 3, "xpos": 4}
_PARTS = ("train", "dev", "test")


def conllu(*columns: str) -> Reader:
    """A reader of train, dev and test files in CoNLL-U, in that order. Rows consist of these fields of every syntactic
    word.

    Comments, multiword tokens (1-2) and empty nodes (1.1) are left out. A space within a form becomes `_`.
    """
    fields = [_CONLLU_FIELDS[name] for name in columns]

    def row(place: str, line: str) -> Row | None:
        values = line.split("\t")
        if len(values) != 10:
            raise InputError(f"{place}: expected 10 fields separated by tabs, found {len(values)}")
        if not values[0].isdigit():
            return None
        return tuple(values[k].replace(" ", "_") for k in fields)

    return _three_parts(row, comments=True)


def token_and_label() -> Reader:
    """A reader of train, dev and test files, in that order. Lines are token, tab, label; a line without a token ends a
    sequence."""

    def row(place: str, line: str) -> Row | None:
        values = tuple(line.split("\t"))
        if len(values) != 2 or not all(values) or any(value != "".join(value.split()) for value in values):
            raise InputError(f"{place}: expected a token, a tab and a label, found {line[:60]!r}")
        return values

    return _three_parts(row, comments=False)


def column_text(sequences: Sequence[Sequence[Row]]) -> str:
    """A column file: tabs between columns, a blank line after each sequence."""
    return "".join("".join("\t".join(row) + "\n" for row in sequence) + "\n" for sequence in sequences)


def _three_parts(row: Callable[[str, str], Row | None], *, comments: bool) -> Reader:
    def read(files: Mapping[str, bytes]) -> dict[str, list[list[Row]]]:
        return {
            part: _sequences(name, data.decode("utf-8"), row, comments)
            for part, (name, data) in zip(_PARTS, files.items(), strict=True)
        }

    return read


def _sequences(name: str, text: str, row: Callable[[str, str], Row | None], comments: bool) -> list[list[Row]]:
    sequences: list[list[Row]] = [[]]
    # Do not use splitlines, since tokens may contain form feeds and similar characters.
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if comments and line.startswith("#"):
            continue
        if not line.strip():
            sequences.append([])
        elif (found := row(f"{name}, line {number}", line)) is not None:
            sequences[-1].append(found)
    return [sequence for sequence in sequences if sequence]
