"""Wapiti's models: the model file, and the text of `wapiti dump`.

The model file is text, except for names, which may be arbitrary bytes:

    #mdl#TYPE#N            TYPE 0 maxent, 1 memm, 2 crf (old files: #mdl#N); N weights follow at the end
    #rdr#P/C/U             P lines of the template; U not 0: names of attributes have a u that the data lacks
    LENGTH:line,           each of them
    #qrk#Y  LENGTH:name,   labels, by id
    #qrk#X  LENGTH:name,   attributes, by id; the first letter determines what they condition: u labels, b pairs, * both
    K=WEIGHT               weight number K, as C writes it: %a (0x1.8p+0), in other versions %le or %f (1.5e+00, 1.5)

Weights are numbered attribute by attribute: first Y weights of labels (u, *), then Y * Y weights of pairs, previous
label first (b, *).
"""

from __future__ import annotations

import re
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.contrib.convert.exporting import Tool, exported
from sparsecrf.contrib.convert.importing import assemble, number_of, text_of
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.template_lines import lines_of
from sparsecrf.files.charset import BYTES, UTF8_TEXT, Charset
from sparsecrf.lazy import np
from sparsecrf.model import Model

_MEMM, _CRF = 1, 2
_TOOL = Tool("Wapiti", boundary="wapiti", before="_x-1", unigram="u", bigram="b", has_both=True)
#: Escapes for attributes in which a byte-based template has split a character.
_PIECES = Charset(BYTES)


class _Reader:
    """A position in the bytes of a model file."""

    def __init__(self, data: bytes, source: str, charset: Charset) -> None:
        self.data, self.source, self.charset, self.at = data, source, charset, 0

    def fail(self, expected: str) -> InputError:
        found = self.data[self.at : self.at + 40]
        return InputError(f"{self.source}: expected {expected} at byte {self.at}, found {found!r}")

    def line(self, pattern: bytes, expected: str) -> list[int]:
        """Read a line that matches this pattern, and return the numbers in it."""
        match = re.compile(pattern + rb"\n").match(self.data, self.at)
        if match is None:
            raise self.fail(expected)
        self.at = match.end()
        return [int(number) for number in match.groups() if number is not None]

    def strings(self, n: int, what: str, *, bytes_allowed: bool = False) -> list[str]:
        """Read `n` texts. `bytes_allowed`: escape invalid UTF-8 as a byte-based template does."""
        made = []
        for k in range(n):
            match = re.compile(rb"(\d{1,10}):").match(self.data, self.at)
            end = match.end() + int(match[1]) if match else 0
            if match is None or self.data[end : end + 2] != b",\n":
                raise self.fail(f"{what} {k} of {n} as LENGTH:text,")
            raw = self.data[match.end() : end]
            where = f"{self.source}: {what} {k}"
            charset = _PIECES if bytes_allowed and self.charset.is_utf8 else self.charset
            made.append(text_of(raw, where, charset))
            self.at = end + 2
        return made


def from_model(data: bytes, source: str, charset: Charset = UTF8_TEXT) -> Model:
    """Read a model from the content of a model file."""
    file = _Reader(data, source, charset)
    *kind, n_weights = file.line(rb"#mdl#(?:(\d{1,4})#)?(\d{1,18})", "#mdl#TYPE#NUMBER")
    if kind == [_MEMM]:
        raise InputError(
            f"{source}: expected a model of type crf or maxent, found memm, which is normalised differently"
        )
    n_lines, _, *unigrams_only = file.line(rb"#rdr#(\d{1,9})/(\d{1,9})(?:/(\d))?", "#rdr#LINES/COLUMNS/AUTO")
    lines = file.strings(n_lines, "line of the template")
    labels = file.strings(file.line(rb"#qrk#(\d{1,9})", "#qrk#LABELS")[0], "label")
    attributes = file.strings(
        file.line(rb"#qrk#(\d{1,9})", "#qrk#ATTRIBUTES")[0], "attribute", bytes_allowed=bool(lines)
    )
    kinds = _kinds(attributes, source)
    numbers, w = _weights(file, n_weights)

    # The first weight of each attribute with labels, and with pairs.
    Y = len(labels)
    sizes = np.stack([np.where(kinds != ord("b"), Y, 0), np.where(kinds != ord("u"), Y * Y, 0)], axis=1)
    first = np.concatenate([[0], sizes.sum(axis=1).cumsum()])
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < first[-1]:
        raise InputError(f"{source}: expected weights numbered below {first[-1]}, found {numbers.max()}")
    x = np.searchsorted(first, numbers, side="right") - 1
    cell = numbers - first[x]
    is_unigram = cell < sizes[x, 0]
    pair = (cell - sizes[x, 0])[~is_unigram]
    unigram = np.stack([x[is_unigram], cell[is_unigram]], axis=1)
    bigram = np.stack([x[~is_unigram], pair // max(Y, 1), pair % max(Y, 1)], axis=1)
    template = _template(lines, source, charset)
    if unigrams_only == [1]:
        if any(line[:1] != "u" for line in lines):
            raise InputError(f"{source}: expected only u lines in the template of a maxent model, found other lines")
        attributes = [name[1:] for name in attributes]
    cells = (unigram, w[is_unigram]), (bigram, w[~is_unigram])
    return assemble(source, labels, attributes, *cells, tool="wapiti", template=template)


def _kinds(attributes: list[str], source: str) -> Any:
    """The first letter of each attribute, as a number."""
    for name in attributes:
        if name[:1] not in ("u", "b", "*"):
            raise InputError(f"{source}: expected attributes that begin with u, b or *, found {name!r}")
    return np.frombuffer("".join(name[0] for name in attributes).encode(), dtype=np.uint8)


def _weights(file: _Reader, n: int) -> tuple[Any, Any]:
    """The numbers and weights in the remaining lines of the file."""
    lines = file.data[file.at :].split()
    if len(lines) != n:
        raise InputError(f"{file.source}: expected {n} weights, found {len(lines)}")
    numbers, w = np.empty(n, dtype=np.int64), np.empty(n)
    for k, line in enumerate(lines):
        try:
            number, weight = line.decode("ascii").split("=")
            numbers[k], w[k] = int(number), _weight(weight)
        except (ValueError, OverflowError) as error:
            raise InputError(f"{file.source}: weight {k}: expected NUMBER=WEIGHT, found {line[:40]!r}") from error
    return numbers, w


def _weight(text: str) -> float:
    """Parse a number as written by C: it is hexadecimal only after 0x."""
    if "_" in text:  # Python would allow underscores
        raise ValueError(text)
    return float.fromhex(text) if "x" in text.lower() else float(text)


def _template(lines: list[str], source: str, charset: Charset) -> Template | None:
    """The template; None if it has no lines, which means that the data contain the attributes themselves."""
    if not lines:
        return None
    template = Template("".join(f"{line}\n" for line in lines), "wapiti", f"{source}: template", bytes=True)
    if not (charset.is_utf8 or charset.is_bytes) and _has_expressions(template):
        raise InputError(
            f"{source}: the template contains regular expressions, which Wapiti matches against bytes: expected the "
            f"encoding utf-8 or bytes, found {charset.name}"
        )
    return template


def _has_expressions(template: Template) -> bool:
    return any(macro.regex is not None for line in lines_of(template) for macro in line.macros)


def from_dump(data: bytes, source: str, charset: Charset = UTF8_TEXT) -> Model:
    """Read a model from the text of `wapiti dump`: attribute TAB previous label or # TAB label TAB weight.

    Labels are in order of first occurrence; labels without any weight are lost.
    """
    labels: dict[str, int] = {}
    attributes: dict[str, int] = {}
    rows: list[tuple[str, str, str, str, float]] = []
    for number, line in enumerate(text_of(data, source, charset).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{source}, line {number}"
        columns = line.rstrip("\r").split("\t")
        if len(columns) != 4 or columns[0][:1] not in ("u", "b", "*"):
            raise InputError(
                f"{where}: expected a line of `wapiti dump` (attribute, previous label, label, weight) "
                f"or a model file that begins with #mdl#, found {line[:60]!r}"
            )
        name, previous, label, weight = columns
        rows.append((where, name, previous, label, number_of(weight, where)))
        labels.setdefault(label, len(labels))
        if name[0] == "b":
            labels.setdefault(previous, len(labels))
        attributes.setdefault(name, len(attributes))
    if not rows:
        raise InputError(f"{source}: expected a model file (#mdl#...) or a dump of Wapiti, found no weights")
    unigram, unigram_w, bigram, bigram_w = [], [], [], []
    for where, name, previous, label, w in rows:
        if name[0] == "*" and previous == "#" and "#" in labels:
            raise InputError(f"{where}: a label named # is ambiguous in a dump: convert the model file itself")
        if name[0] == "u" or (name[0] == "*" and previous == "#"):
            unigram.append((attributes[name], labels[label]))
            unigram_w.append(w)
        else:
            bigram.append((attributes[name], labels.setdefault(previous, len(labels)), labels[label]))
            bigram_w.append(w)
    return assemble(source, list(labels), list(attributes), (unigram, unigram_w), (bigram, bigram_w), tool="wapiti")


def to_model(model: Model, charset: Charset = UTF8_TEXT) -> bytes:
    """The content of a model file. Weights are written with all digits."""
    template = model.template
    if template is not None and not template.bytes and _has_expressions(template):
        raise InputError(
            "template: Wapiti matches regular expressions against bytes: expected a model trained with --recipe "
            "bytes=true, found a model that matches them against characters"
        )
    made, Y = exported(model, _TOOL), len(model.labels)
    kinds = _kinds(made.attributes, "model")
    # First weight of each attribute, as in `from_model`.
    unigrams = np.where(kinds != ord("b"), Y, 0)
    first = np.concatenate([[0], (unigrams + np.where(kinds != ord("u"), Y * Y, 0)).cumsum()])
    x, y = made.unigram.T
    of_labels = first[x] + y
    x, previous, y = made.bigram.T
    of_pairs = first[x] + unigrams[x] + Y * previous + y
    numbers, w = np.concatenate([of_labels, of_pairs]), np.concatenate([made.unigram_w, made.bigram_w])
    order = np.argsort(numbers)
    last_column = 0 if template is None else max(0, template.n_columns - 1)
    cut = template is not None and template.bytes and charset.is_utf8
    parts = [f"#mdl#{_CRF}#{len(w)}\n#rdr#{len(made.lines)}/{last_column}/0\n".encode()]
    parts += [_netstring(charset.raw(line)) for line in made.lines]
    for names, of in ((model.labels, charset), (made.attributes, _PIECES if cut else charset)):
        parts += [f"#qrk#{len(names)}\n".encode(), *(_netstring(of.raw(name)) for name in names)]
    parts += [f"{k}={v.hex()}\n".encode() for k, v in zip(numbers[order].tolist(), w[order].tolist(), strict=True)]
    return b"".join(parts)


def _netstring(raw: bytes) -> bytes:
    return f"{len(raw)}:".encode() + raw + b",\n"
