"""Finds where chunks begin and end in label sequences, by conlleval's rules or strictly by a scheme.

For all schemes except grobid and runs, a label is O or LETTER-TYPE; the type is everything after the first hyphen and
may be missing. B begins a chunk, I continues it, E ends it, and S is a chunk of one token; L, U and M are other names
for E, S and I. Well-formed data can be read in only one way. The schemes differ in how they treat labels at invalid
positions:

conlleval  Whether a chunk begins or ends depends on the labels on both sides, so every label sequence can be read: an I
           after O or after another type begins a chunk. One table serves IOB1, IOB2, IOE1, IOE2, IOBES and BILOU, since
           no pair of labels has different meanings in two of them. It is the table in the script of the CoNLL shared
           tasks (version 2004-01-26), which reads B, I, E, O, "." (as O) and the brackets (chunks of one token); S is
           added here. There is one difference: at a B after an E of the same type, as in IOBES, the script continues
           the chunk, and this table begins a new chunk.
iob1       Like conlleval, for B, I and O only.
iob2       A chunk is a B and every I of its type that follows directly. An I anywhere else is in no chunk.
iobes      A chunk is an S, or a B, any number of I and an E, all of one type. Any other label is in no chunk.
grobid     A field <x> is an I-<x> and every <x> that follows directly; an <x> after anything else also begins a field.
           GROBID's models use these labels. <other> and O are in no field.
runs       Every run of equal labels other than O is a field, for labels that do not mark where fields begin.
auto       conlleval if the labels are chunk labels (see `are_chunk_labels`), otherwise none. For spans, auto never
           means none: see `span_scheme`.
none       Labels do not encode chunks. For spans, every token whose label is not O is a span.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import chain, pairwise

from sparsecrf._core import InputError


class Scheme(str, Enum):
    """The encoding of chunks in labels."""

    AUTO = "auto"
    CONLLEVAL = "conlleval"
    IOB1 = "iob1"
    IOB2 = "iob2"
    IOBES = "iobes"
    GROBID = "grobid"
    RUNS = "runs"
    NONE = "none"

    @classmethod
    def of(cls, name: str | Scheme) -> Scheme:
        try:
            return cls(name)
        except ValueError:
            expected = ", ".join(scheme.value for scheme in cls)
            raise InputError(f"scheme: expected one of {expected}, found {name!r:.60}") from None


# Bits of a mark, which tell what happens at a boundary between two tokens, before the first token or after the last.
END, START = 1, 2

OUTSIDE = frozenset("O.")
SYNONYMS = {"L": "E", "U": "S", "M": "I"}
# The letters on both sides of a boundary at which a chunk ends or begins although the type is the same. The CoNLL
# script lacks the second group of each set: E followed by B, and all pairs with S.
ENDING = frozenset({"BB", "BO", "IB", "IO", "EE", "EI", "EO"} | {"EB", "BS", "IS", "ES"})
STARTING = frozenset({"BB", "IB", "OB", "OI", "OE", "EE", "EI"} | {"EB", "SB", "SI", "SE"})
WHOLE = frozenset("[]S")  # chunks of one token, regardless of the labels next to them

# Types that mark tokens outside all fields, for schemes of fields.
_OUTSIDE_FIELDS = {Scheme.GROBID: frozenset({"O", "<other>"}), Scheme.RUNS: frozenset("O")}

# The letters that the other schemes use.
ALPHABETS = {Scheme.IOB1: "BIO", Scheme.IOB2: "BIO", Scheme.IOBES: "BIESO"}
#: The schemes that `recode` can write.
CODES = tuple(scheme.value for scheme in ALPHABETS)
LETTERS = frozenset("BIMELSUO")


def split_label(label: str) -> tuple[str, str]:
    """The letter (by its usual name) and the type; a label without a hyphen has no type."""
    letter, _, kind = label.partition("-")
    return SYNONYMS.get(letter, letter), kind


def are_chunk_labels(gold: Iterable[str], predicted: Iterable[str]) -> bool:
    """Whether these distinct labels encode chunks, for `auto`.

    With types: every gold label is O or a letter of the schemes with a type, and not all labels are O. Without types:
    every gold label is a letter of the schemes, and B occurs together with I or O; otherwise, single letters could be
    ordinary labels, such as phonemes. If one gold label fits no scheme, such as NN, there are no chunks. Predicted
    labels decide only if all gold labels are O.
    """
    gold = set(gold)
    if all(_is_typed(label) for label in gold - OUTSIDE):
        return any(_is_typed(label) for label in gold.union(predicted))
    letters = {split_label(label)[0] for label in gold}
    return gold <= LETTERS and "B" in letters and not letters.isdisjoint("IO")


def span_scheme(labels: Iterable[str]) -> Scheme:
    """The scheme that `auto` means for spans, given the labels of a model: conlleval if they encode chunks, grobid if
    they have the forms <x> and I-<x>, otherwise runs of equal labels."""
    labels = set(labels)
    if are_chunk_labels(labels, ()):
        return Scheme.CONLLEVAL
    in_brackets = [label for label in labels - {"O"} if re.fullmatch("(I-)?<.*>", label)]
    begins = any(label.startswith("I-") for label in in_brackets)
    return Scheme.GROBID if begins and len(in_brackets) == len(labels - {"O"}) else Scheme.RUNS


def _is_typed(label: str) -> bool:
    letter, kind = split_label(label)
    return letter in {*"BIES[]"} and kind != ""


def recode(labels: Sequence[str], to: str | Scheme, scheme: str | Scheme = Scheme.CONLLEVAL) -> list[str]:
    """The labels of one sequence with the same chunks in the scheme `to`: iob1, iob2 or iobes.

    Models trained on iobes labels, which mark where chunks end, may find more chunks; recode their predictions to the
    scheme of your data.
    """
    target, reader = Scheme.of(to), ChunkReader(scheme)
    if target not in ALPHABETS:
        raise InputError(f"to: expected one of {', '.join(CODES)}, found {target.value}")
    if reader.scheme in (Scheme.AUTO, Scheme.NONE):
        raise InputError(f"scheme: expected a scheme whose labels encode chunks, found {reader.scheme.value}")
    if reader.scheme is Scheme.CONLLEVAL:
        _check_chunk_labels(labels)
        labels = ["O" if label in OUTSIDE else label for label in labels]
    made: list[str] = []
    kind: str | None = None  # type of the chunk of the previous token
    marks = reader.marks(labels)
    for t, label in enumerate(labels):
        before, begins, ends = kind, bool(marks[t] & START), bool(marks[t + 1] & END)
        if begins:
            kind = reader.type_of(label)
        elif marks[t] & END:
            kind = None
        if kind is None:
            made.append("O")
            continue
        if target is Scheme.IOBES:
            letter = ("S" if ends else "B") if begins else ("E" if ends else "I")
        elif target is Scheme.IOB2:
            letter = "B" if begins else "I"
        else:  # write B only directly after a chunk of the same type
            letter = "B" if begins and before == kind else "I"
        made.append(f"{letter}-{kind}" if kind else letter)
    return made


def _check_chunk_labels(labels: Sequence[str]) -> None:
    for t, label in enumerate(labels):
        if not (isinstance(label, str) and (label in OUTSIDE or label in LETTERS or _is_typed(label))):
            raise InputError(f"position {t}: expected a chunk label (O, B-TYPE, I-TYPE, ...), found {label!r:.60}")


class ChunkReader:
    """Finds the chunks of label sequences; caches the parts of labels, and the marks of label pairs."""

    def __init__(self, scheme: str | Scheme = Scheme.CONLLEVAL) -> None:
        self.scheme = Scheme.of(scheme)
        self._pairs = _Pairs()
        self._split = _Split(self.scheme)
        self.outside = _OUTSIDE_FIELDS.get(self.scheme, frozenset("O"))  #: types of labels that are in no span

    def type_of(self, label: str) -> str:
        if self.scheme is Scheme.GROBID:
            return label.removeprefix("I-")
        return label if self.scheme in (Scheme.RUNS, Scheme.NONE) else self._split[label][1]

    def marks(self, labels: Sequence[str]) -> list[int]:
        """The marks (END, START) at each of the T + 1 boundaries; the chunk that starts at t has the type of label
        t."""
        if self.scheme in ALPHABETS:
            self._check(labels)
        if self.scheme is Scheme.IOB2:
            return _iob2([self._split[label] for label in labels])
        if self.scheme is Scheme.IOBES:
            return _iobes([self._split[label] for label in labels])
        if self.scheme in _OUTSIDE_FIELDS:
            return self._fields(labels)
        if self.scheme is Scheme.NONE:
            return [0] * (len(labels) + 1)
        pairs = self._pairs
        return [pairs[pair] for pair in zip(chain(("O",), labels), chain(labels, ("O",)), strict=True)]

    def _fields(self, labels: Sequence[str]) -> list[int]:
        """The marks for fields. A field continues while the type stays the same and no label begins a new field."""
        outside, grobid = self.outside, self.scheme is Scheme.GROBID
        types = [None if (kind := self.type_of(label)) in outside else kind for label in labels]
        marks = [0] * (len(labels) + 1)
        for t, (before, after) in enumerate(pairwise([None, *types, None])):
            begins = grobid and t < len(labels) and labels[t].startswith("I-")
            if before is not None and (before != after or begins):
                marks[t] |= END
            if after is not None and (before != after or begins):
                marks[t] |= START
        return marks

    def _check(self, labels: Sequence[str]) -> None:
        try:
            for label in labels:
                self._split[label]
        except InputError as error:
            raise InputError(f"token {labels.index(label) + 1}: {error}") from None


class _Split(dict[str, tuple[str, str]]):
    """Splits labels into letter and type; rejects labels that do not belong to the scheme."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme, self.alphabet = scheme, ALPHABETS.get(scheme)

    def __missing__(self, label: str) -> tuple[str, str]:
        parts = split_label(label)
        if self.alphabet is not None and (len(parts[0]) != 1 or parts[0] not in self.alphabet):
            expected = ", ".join(f"{letter}-TYPE" for letter in self.alphabet if letter != "O")
            raise InputError(f"expected a label in the {self.scheme.value} scheme ({expected} or O), found {label!r}")
        self[label] = parts
        return parts


class _Pairs(dict[tuple[str, str], int]):
    """Caches the mark between two labels, by conlleval's rules."""

    def __missing__(self, pair: tuple[str, str]) -> int:
        (before, type_before), (after, type_after) = map(split_label, pair)
        changes = type_before != type_after
        mark = 0
        if before not in OUTSIDE and (changes or before in WHOLE or before + after in ENDING):
            mark |= END
        if after not in OUTSIDE and (changes or after in WHOLE or before + after in STARTING):
            mark |= START
        self[pair] = mark
        return mark


def _iob2(parts: list[tuple[str, str]]) -> list[int]:
    marks = [0] * (len(parts) + 1)
    current: str | None = None  # type of the chunk of the previous token
    for t, (letter, kind) in enumerate(parts):
        if letter == "I" and kind == current:
            continue
        if current is not None:
            marks[t] |= END
        current = kind if letter == "B" else None
        if current is not None:
            marks[t] |= START
    if current is not None:
        marks[-1] |= END
    return marks


def _iobes(parts: list[tuple[str, str]]) -> list[int]:
    marks = [0] * (len(parts) + 1)
    begun: tuple[int, str] | None = None  # start and type of a chunk that is complete only if it ends properly
    for t, (letter, kind) in enumerate(parts):
        if letter == "S":
            marks[t] |= START
            marks[t + 1] |= END
        if letter == "B":
            begun = t, kind
        elif begun is None or letter not in "IE" or kind != begun[1]:
            begun = None
        elif letter == "E":
            marks[begun[0]] |= START
            marks[t + 1] |= END
            begun = None
    return marks
