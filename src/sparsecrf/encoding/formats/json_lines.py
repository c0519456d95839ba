"""JSON lines: one sequence per line, given as tokens with labels, or as a text with spans of characters.

    {"tokens": ["Ada", "went", "to", "Oslo"], "labels": ["B-PER", "O", "O", "B-LOC"]}
    {"text": "Ada went to Oslo", "spans": [{"start": 0, "end": 3, "label": "PER"}, [12, 16, "LOC"]]}

One of `TOKENIZERS` cuts a text into tokens; spans become labels B-TYPE, I-TYPE and O, and predicted labels become
spans. All other fields of a record are kept. `annotation_tools.py` handles the tasks of Prodigy and Label Studio.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from sparsecrf._core import InputError
from sparsecrf.compatibility import OptionError
from sparsecrf.encoding.formats.records import Answer, Record, Records, read_records, text_lines
from sparsecrf.files.text import Piece, Source
from sparsecrf.files.words import TOKENIZERS
from sparsecrf.tables import counted
from sparsecrf.warn import warn_caller


class JsonLines(Records):
    """Files with one JSON object per line. `jsonl:KEY` names the field of labels or spans."""

    title = "JSON-lines"
    not_in_labels = "\0"
    suffix = ".jsonl"
    one_line = True
    skipped = b"{}\n"

    def __init__(self, key: str | None = None, tokenizer: str = "words") -> None:
        self.name = "jsonl" if key is None else f"jsonl:{key}"
        self._key = key
        self.core = ("jsonl", key or "labels")
        self.tokenizer: str = tokenizer

    def with_tokenizer(self, name: str) -> JsonLines:
        return JsonLines(self._key, name)

    def variant(self, choice: str, option: str = "format") -> JsonLines:
        if not choice or choice in ("tokens", "text"):
            raise OptionError(f"{option}: expected the field of labels or spans after jsonl:, found {choice!r}")
        return JsonLines(choice)

    def looks_like(self, line: bytes) -> bool | None:
        # A JSON list is not a valid line here, and a single brace may be a token.
        return None if line.lstrip().startswith(b"[") else re.match(rb'\s*\{\s*"', line) is not None

    def records(self, piece: Piece, source: str, labelled: bool) -> Iterator[Record]:
        for number, line in enumerate(text_lines(piece, source), piece.line):
            if line.strip():
                yield self._record(line, number, f"{source}, line {number}", labelled)

    def first_column(self, piece: Piece, source: str) -> Iterator[str]:
        return (row[0] for record in self.records(piece, source, False) for row in record.rows)

    def _record(self, line: str, number: int, where: str, labelled: bool) -> Record:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            array = "; one object per line, not an array of objects" if line.startswith("[") else ""
            raise InputError(f"{where}: expected a JSON object, found {line!r:.60} ({error}){array}") from None
        from sparsecrf.encoding.formats.annotation_tools import record_of_tool

        task = (self._key or "spans", number, where, labelled, self.tokenizer)
        if isinstance(content, dict) and (record := record_of_tool(content, *task)) is not None:
            return record
        if not isinstance(content, dict) or not ("tokens" in content or "text" in content):
            array = "; one object per line, not an array of objects" if isinstance(content, list) else ""
            raise InputError(f'{where}: expected an object with "tokens" or "text", found {line!r:.60}{array}')
        if "tokens" in content:
            return _Tokens(content, self._key or "labels", number, where, labelled)
        return TextRecord(content, *task)

    def text(self, rows: list[list[str]], labels: list[str]) -> str:
        tokens = [row[0] if len(row) == 1 else row for row in rows]
        return json_line({"tokens": tokens, self._key or "labels": labels})


def json_line(content: dict[str, Any]) -> str:
    """A JSON object as a line of text."""
    text = json.dumps(content, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # the text contains half of a surrogate pair, which only JSON's escapes can express
        text = json.dumps(content)
    return text + "\n"


def fail(where: str, field: str, expected: str, found: Any) -> NoReturn:
    """Raise an error about an invalid field of a line."""
    raise InputError(f'{where}, "{field}": expected {expected}, found {json.dumps(found, ensure_ascii=False)[:60]}')


def _is_label(value: Any) -> bool:
    """Whether the value is nonempty text without NUL, at which C programs would cut off a label."""
    return isinstance(value, str) and value != "" and "\0" not in value


class _Tokens(Record):
    """Tokens, each of which is a text or a list of columns, and labels."""

    def __init__(self, content: dict[str, Any], key: str, line: int, where: str, labelled: bool) -> None:
        self.line, self._content, self._key = line, content, key
        tokens = content["tokens"]
        if not isinstance(tokens, list):
            fail(where, "tokens", "a list", tokens)
        self.rows = [[token] if isinstance(token, str) else token for token in tokens]
        for row, token in zip(self.rows, tokens, strict=True):
            if not isinstance(row, list) or not row or not all(isinstance(cell, str) for cell in row):
                fail(where, "tokens", "strings, or lists of columns", token)
        if labelled and key in content:
            labels = content[key]
            if not isinstance(labels, list) or len(labels) != len(tokens):
                fail(where, key, f"a list of {counted(len(tokens), 'label')}, one for each token", labels)
            for label in labels:
                if label is not None and not _is_label(label):
                    fail(where, key, "text labels without NUL, or null for unknown labels", label)
            self.labels = labels

    def filled(self, answer: Answer) -> str:
        made = {**self._content, self._key: answer.labels}
        if answer.probabilities is not None:
            made["probabilities"] = [round(p, 6) for p in answer.probabilities]
        return json_line(made)


class TextRecord(Record):
    """A text and spans of its characters, each {"start", "end", "label"} or [start, end, label]."""

    has_spans = True

    def __init__(
        self, content: dict[str, Any], key: str, line: int, where: str, labelled: bool, tokenizer: str
    ) -> None:
        self.line, self._content, self._key, self._where = line, content, key, where
        text = content["text"]
        if not isinstance(text, str):
            fail(where, "text", "a text", text)
        self._words = self._cut(text, tokenizer)
        self.rows = [[text[a:b]] for a, b in self._words]
        given = content.get(key)
        self._as_lists = isinstance(given, list) and len(given) > 0 and isinstance(given[0], list)
        if labelled and key in content:
            self.labels = self._labels(given)

    def _cut(self, text: str, tokenizer: str) -> list[tuple[int, int]]:
        """The positions where words begin and end."""
        return TOKENIZERS[tokenizer](text)

    def _labels(self, spans: Any) -> list[str | None]:
        """B-TYPE and I-TYPE for the words that spans cover, O for all other words."""
        if not isinstance(spans, list):
            fail(self._where, self._key, "a list of spans", spans)
        labels: list[str | None] = ["O"] * len(self._words)
        for given in spans:
            start, end, kind = self._span(given)
            touched = [t for t, (a, b) in enumerate(self._words) if a < end and start < b]
            if not touched:
                fail(self._where, self._key, "spans that contain at least one word", given)
            if any(labels[t] != "O" for t in touched):
                fail(self._where, self._key, "spans that do not share a word", given)
            if self._words[touched[0]][0] < start or self._words[touched[-1]][1] > end:
                warn_caller("spans: some spans begin or end inside a word; they were extended to whole words")
            labels[touched[0]] = f"B-{kind}"
            labels[touched[0] + 1 : touched[-1] + 1] = [f"I-{kind}"] * (len(touched) - 1)
        return labels

    def _span(self, given: Any) -> tuple[int, int, str]:
        start: Any
        end: Any
        kind: Any
        if isinstance(given, dict):
            start, end, kind = (given.get(key) for key in ("start", "end", "label"))
        else:
            start, end, kind = given if isinstance(given, list) and len(given) == 3 else (None, None, None)
        is_span = type(start) is int and type(end) is int and _is_label(kind)
        if not is_span or not 0 <= start < end <= len(self._content["text"]):
            fail(self._where, self._key, "start, end and label of a span of the text", given)
        return start, end, kind

    def filled(self, answer: Answer) -> str:
        spans: list[Any] = self._spans(answer)
        if self._as_lists:
            spans = [[span["start"], span["end"], span["label"]] for span in spans]
        return json_line({**self._content, self._key: spans})

    def _spans(self, answer: Answer) -> list[dict[str, Any]]:
        """The spans of an answer, in characters."""
        made = []
        for span in answer.spans:
            found = {"start": self._words[span.start][0], "end": self._words[span.end - 1][1], "label": span.type}
            made.append(found if span.probability is None else {**found, "probability": round(span.probability, 6)})
        return made


def read_jsonl(source: Source, key: str | None = None) -> Iterator[tuple[list[Any], list[str | None]]]:
    """Read JSON lines sequence by sequence: tokens and labels.

    A line is {"tokens": ..., "labels": ...}, or {"text": ..., "spans": ...}, whose words get labels B-TYPE, I-TYPE and
    O. `key` is the field of labels or spans, if it has another name. `source` is a path, "-" (standard input) or a file
    open for bytes.
    """
    return read_records(JsonLines(key), source)
