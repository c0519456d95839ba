"""Labels with parts. `NOUN|Case=Nom|Number=Sing` shares `Case=Nom` with other labels, so these labels can share
weights.

A unigram feature combines an attribute with a label, (x, y), or with a part, (x, j); the score of a label is the sum of
its own weights and the weights of its parts. A part of only one label would duplicate that label, and a part of all
labels would have no effect, so neither is kept. A part with the same name as a label is written in brackets.

Labels may also have classes, a partition by their first part (the part of speech). A label without parts, or the only
one with its first part, forms a class by itself. Pair features then combine an attribute with two labels, (x, y', y),
or with two classes, (x, c', c).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sparsecrf._core import InputError
from sparsecrf._core import LabelParts as Rows
from sparsecrf.compatibility import Capabilities, Named, OptionError, Trait
from sparsecrf.lazy import np

#: The name of a rule, a separator, a mapping of labels to their parts, or a function of a label.
LabelPartsChoice = str | Mapping[str, Iterable[str]] | Callable[[str], Iterable[str]]

#: Rules by name; any other string of punctuation is a separator.
RULES = ("bio", "ud")


#: Capabilities of features of label parts, and of pairs of classes.
PARTS = Capabilities(frozenset({Trait.PARTS}), refuses={Trait.DENSE: "these condition whole labels", Trait.LISTED: ""})
CLASS_PAIRS = Capabilities(
    frozenset({Trait.CLASS_PAIRS}),
    needs={Trait.PARTS: "the first part of a label determines its class"},
    refuses={Trait.NGRAMS: "", Trait.SEVERAL_SHARDS: ""},
)


class LabelParts(NamedTuple):
    """The parts of labels: their names, and the parts of each label."""

    names: tuple[str, ...]  #: [P]
    of_labels: tuple[tuple[int, ...], ...]  #: [Y] the parts of each label, in ascending order
    #: [Y] the class of each label: Y + j for part j, or the label's own number if it forms a class by itself; empty
    #: without classes
    classes: tuple[int, ...] = ()

    @classmethod
    def of(cls, labels: Iterable[str], asked: LabelPartsChoice, *, classes: bool = False) -> LabelParts | None:
        """The parts of these labels by the rule `asked`; None if no part is shared by some but not all of them. With
        `classes`, labels with the same first part form a class; there are no classes if all labels share their first
        part, or no two labels do."""
        found: dict[str, list[int]] = {}
        first: dict[str, list[int]] = {}  # the labels by first part
        labels, parts_of = list(labels), _function(asked)
        n_labels = len(labels)
        for y, label in enumerate(labels):
            for k, part in enumerate(dict.fromkeys(_checked(parts_of(label), label))):
                found.setdefault(part, []).append(y)
                if k == 0:
                    first.setdefault(part, []).append(y)
        together = {part for part, having in first.items() if classes and 1 < len(having) < n_labels}
        shared = {part: having for part, having in found.items() if 1 < len(having) < n_labels or part in together}
        rows: list[list[int]] = [[] for _ in range(n_labels)]
        class_of = list(range(n_labels))
        for j, (part, having) in enumerate(shared.items()):
            for y in having:
                rows[y].append(j)
            for y in first[part] if part in together else ():
                class_of[y] = n_labels + j
        if not shared:
            return None
        return cls(_names(shared, {*labels}), tuple(map(tuple, rows)), tuple(class_of) if together else ())

    @property
    def core(self) -> Rows:
        """The parts in the form that the core accepts."""
        ptr = np.cumsum([0, *map(len, self.of_labels)], dtype=np.int64)
        part = np.array([j for row in self.of_labels for j in row], dtype=np.int32)
        return Rows(len(self.names), ptr, part, np.array(self.classes, dtype=np.int32) if self.classes else None)

    @property
    def sizes(self) -> list[int]:
        """The number of labels with each part."""
        sizes = [0] * len(self.names)
        for row in self.of_labels:
            for j in row:
                sizes[j] += 1
        return sizes

    @property
    def class_cells(self) -> tuple[int, ...]:
        """The classes, in ascending order."""
        return tuple(sorted({*self.classes}))

    @property
    def class_sizes(self) -> list[int]:
        """The number of labels in each class."""
        counts = Counter(self.classes)
        return [counts[cell] for cell in self.class_cells]

    def n_class_pairs(self, start: bool) -> int:
        """The number of class pairs with features: all except pairs of two single-label classes. `start` includes
        pairs after the start label."""
        n, single = len(self.class_cells), sum(cell < len(self.classes) for cell in self.class_cells)
        return n * n - single * single + (n - single if start else 0)

    def to_json(self) -> dict[str, Any]:
        rows: dict[str, Any] = {"names": list(self.names), "of_labels": [list(row) for row in self.of_labels]}
        return {**rows, "classes": list(self.classes)} if self.classes else rows


def _names(parts: Iterable[str], labels: set[str]) -> tuple[str, ...]:
    """Names of parts that differ from labels and from each other, in brackets if necessary."""
    taken = labels.copy()
    made = []
    for part in parts:
        while part in taken:
            part = f"[{part}]"
        taken.add(part)
        made.append(part)
    return tuple(made)


def check_asked(asked: object) -> None:
    """Reject an invalid value of label_parts."""
    if isinstance(asked, str):
        if asked in RULES or (asked and not any(c.isalnum() or c.isspace() for c in asked)):
            return
    elif isinstance(asked, Mapping) or callable(asked):
        return
    raise OptionError(
        Named("label_parts"),
        f": expected a separator such as '|', {' or '.join(map(repr, RULES))}, a mapping or a function, "
        f"found {asked!r}",
    )


def _function(asked: LabelPartsChoice) -> Callable[[str], Iterable[str]]:
    check_asked(asked)
    if isinstance(asked, Mapping):
        table = asked
        return lambda label: table.get(label, ())
    if not isinstance(asked, str):
        return asked
    if asked == "ud":
        return _ud
    if asked == "bio":
        return _bio
    separator = asked
    return lambda label: [part for part in label.split(separator) if part]


def _ud(label: str) -> Sequence[str]:
    """The parts of `NOUN|Case=Nom|Number=Sing`: the part of speech, and every feature with its value; `_` means no
    features."""
    return [part for part in label.split("|") if part not in ("", "_")]


def _bio(label: str) -> Sequence[str]:
    """The parts of `B-PER`: the kind of span, and whether the token begins or continues a span."""
    tag, separator, kind = label.partition("-")
    return [tag, f"-{kind}"] if separator else []


def _checked(parts: Iterable[str], label: str) -> Iterable[str]:
    if isinstance(parts, str) or not isinstance(parts, Iterable):
        raise InputError(f"label_parts: expected a list of parts of {label!r}, found {parts!r}")
    for part in parts:
        if not isinstance(part, str):
            raise InputError(f"label_parts: expected strings as parts of {label!r}, found {part!r}")
        yield part
