"""Running text, one sequence per line, without labels: `label` cuts it into tokens and writes JSON lines with spans."""

from __future__ import annotations

from collections.abc import Iterator

from sparsecrf._core import InputError
from sparsecrf.encoding.formats.json_lines import TextRecord
from sparsecrf.encoding.formats.records import Record, Records, text_lines
from sparsecrf.files.text import Piece


class PlainText(Records):
    """Lines of text, which only `label` reads, since they cannot contain labels."""

    name = "text"
    title = "plain-text"
    not_in_labels = "\0"
    one_line = True
    skipped = b"{}\n"

    def __init__(self, tokenizer: str = "words") -> None:
        self.tokenizer: str = tokenizer

    def with_tokenizer(self, name: str) -> PlainText:
        return PlainText(name)

    def records(self, piece: Piece, source: str, labelled: bool) -> Iterator[Record]:
        if labelled:
            raise InputError(
                f"{source}, line {piece.line}: expected labelled data, found plain text without labels; use columns "
                "or JSON lines (--format columns, --format jsonl)"
            )
        for number, line in enumerate(text_lines(piece, source), piece.line):
            content = {"text": line}
            yield TextRecord(content, "spans", number, f"{source}, line {number}", False, self.tokenizer)

    def text(self, rows: list[list[str]], labels: list[str]) -> str:
        raise InputError("plain text cannot contain labels; convert to jsonl instead")
