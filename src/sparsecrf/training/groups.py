"""Groupings of features by attribute, template line, label or the tree of label strings, and user-defined groupings.

A `Grouping` gives every feature a key at each of its levels, fine to coarse; features with the same key form a group,
and the key -1 means no group. Each group lies inside a group of the next level (`forest.py`). Keys are computed on
demand, so groups can span the whole virtual space: unlisted features are zero and add nothing to a norm.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.compatibility import Capabilities, Trait
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.template_groups import by_line, by_prefix
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats
from sparsecrf.training.group_penalty import GroupPenalty
from sparsecrf.training.penalty import PenaltyKind, Strengths

Keys = NDArray[np.int64]


class Cells(NamedTuple):
    """Attributes and labels of features, in the order of their numbers."""

    numbering: Numbering
    attribute: Keys  #: [K] x
    label: Keys  #: [K] the last label; Y + j stands for part j of labels
    previous: Keys  #: [K] the label before it; Y stands for the start, Y + 1 + j for part j, and -1 for no label
    ngrams: Ngrams  #: label n-grams of the last features, if any
    order: int | None  #: maximum number of labels of a feature
    both: NDArray[np.bool_]  #: [X] whether an attribute conditions both single labels and label pairs
    part_names: tuple[str, ...]  #: [P]

    @classmethod
    def of(cls, data: TrainingData, numbers: Keys) -> Cells:
        numbering = data.numbering
        unigram, start, inner = data.oracle.masses(absolute=True)
        both = (unigram > 0) & (start + inner > 0)
        n = int(np.searchsorted(numbers, numbering.first_ngram))
        short, ngrams = numbers[:n], Ngrams.none()
        x, y, previous = numbering.attribute(short), numbering.label(short), numbering.previous(short)
        if n < len(numbers):
            assert data.ngrams is not None
            ngrams = data.ngrams.of(numbers[n:])
            ends = np.cumsum(ngrams.length)
            x, y = np.append(x, ngrams.attribute), np.append(y, ngrams.labels[ends - 1])
            previous = np.append(previous, ngrams.labels[ends - 2])
        part_names = () if data.parts is None else data.parts.names
        return cls(numbering, x, y, previous, ngrams, data.order, both, part_names)

    def strings(self) -> list[tuple[int, ...]]:
        """The labels of each feature."""
        n = len(self.label) - len(self.ngrams.attribute)
        pairs = zip(self.previous[:n].tolist(), self.label[:n].tolist(), strict=True)
        return [(y,) if before < 0 else (before, y) for before, y in pairs] + self.ngrams.strings()


class Grouping(PenaltyKind):
    """A penalty over groups defined by a rule."""

    capabilities = Capabilities(
        frozenset({Trait.GROUPS}),
        refuses={Trait.NO_L1: "rho1 also scales the norms of the groups", Trait.ORDER_FACTOR: ""},
    )

    def make(self, strengths: Strengths, data: TrainingData) -> GroupPenalty:
        return GroupPenalty(strengths.rho1, strengths.rho2, self, strengths.group_weight, data)

    def keys(self, cells: Cells) -> dict[str, Keys]:
        """Map the name of each level, fine to coarse, to the key of every feature."""
        raise NotImplementedError

    def keys_of(self, data: TrainingData, numbers: Keys) -> dict[str, Keys]:
        """Like `keys`, for features given by number."""
        return self.keys(Cells.of(data, numbers))

    def weights_of(self, keys: Keys, usual: Floats) -> Floats:
        """The weights of groups, given the default weights."""
        return usual

    def description(self) -> bytes:
        """The settings that define the penalty besides the keys."""
        return b""


class ByAttribute(Grouping):
    """All features of an attribute form a group, which is kept or dropped as a whole."""

    name = "group:attribute"

    def keys(self, cells: Cells) -> dict[str, Keys]:
        return {"attributes": cells.attribute}


class ByLabel(Grouping):
    """All features of a label form a group; pairs and longer strings belong to the group of their last label."""

    name = "group:label"

    def keys(self, cells: Cells) -> dict[str, Keys]:
        return {"labels": cells.label}


class ByLine(Grouping):
    """All features of a template line form a group; without a template, all features whose attributes have the same
    prefix before `:` or `=`."""

    name = "group:line"

    def __init__(self, line: Keys | None = None) -> None:
        self.line = line  #: [X] the line of each attribute; None: see `named`

    def named(self, vocabulary: Vocabulary, template: Template | None) -> ByLine:
        names = [vocabulary.attributes[x] for x in range(len(vocabulary.attributes))]
        return ByLine((by_prefix(names) if template is None else by_line(names, template))[1].astype(np.int64))

    def keys(self, cells: Cells) -> dict[str, Keys]:
        if self.line is None:
            raise InputError(f"penalty: {self.name} needs the names of attributes: see `named`")
        return {"lines": self.line[cells.attribute]}


class Tree(Grouping):
    """Groups label strings by suffix. For every attribute x and label y, the pairs that end in y form a group; if x
    also conditions single labels, this group lies inside a group that also contains the single label:

        { lambda[x, ., y] }  inside  { mu[x, y], lambda[x, ., y] }

    With longer n-grams, the same applies to every string s that can be extended:

        { strings that end in s, but not s }  inside  { s and these }
    """

    name = "tree"

    def keys(self, cells: Cells) -> dict[str, Keys]:
        last = cells.attribute * cells.numbering.cells + cells.label
        longer = {} if cells.order == 2 else _below(cells)
        return {
            **longer,
            "pairs of a label": np.where(cells.previous >= 0, last, -1),
            "labels of an attribute": np.where(cells.both[cells.attribute], last, -1),
        }


def _below(cells: Cells) -> dict[str, Keys]:
    """The two levels for strings s of two or more labels: the longer strings that end in s, without and with s
    itself."""
    strings, x = cells.strings(), cells.attribute.tolist()
    found: dict[str, Keys] = {}
    number: dict[Any, int] = {}  # the index of each pair (x, s)
    for n in range(max(map(len, strings), default=0), 1, -1):
        with_s = np.array(
            [number.setdefault((x[k], s[-n:]), len(number)) if len(s) >= n else -1 for k, s in enumerate(strings)],
            dtype=np.int64,
        )
        above = np.array([len(s) > n for s in strings], dtype=np.bool_)
        if above.any():
            found[f"strings after {n} labels"] = np.where(above, with_s, -1)
        if cells.order is None or n < cells.order:
            found[f"strings of {n} labels"] = with_s
    return found


class OwnGroups(Grouping):
    """Groups defined by a user's function of attribute and labels."""

    def __init__(self, groups: FeatureGroups, vocabulary: Vocabulary) -> None:
        self.groups, self.name = groups, groups.name
        self._attributes = vocabulary.attributes
        self._labels = [vocabulary.labels[k] for k in range(len(vocabulary.labels))]
        self._number: dict[tuple[Hashable, ...], int] = {}
        self.paths: list[tuple[Hashable, ...]] = []  #: groups by key

    def keys(self, cells: Cells) -> dict[str, Keys]:
        last, before = [*self._labels, *cells.part_names], [*self._labels, None, *cells.part_names]
        paths = [
            self._path(self._attributes[x], (*(before[y] for y in labels[:-1]), last[labels[-1]]))
            for x, labels in zip(cells.attribute.tolist(), cells.strings(), strict=True)
        ]
        levels = {}
        for depth in range(max(map(len, paths), default=0), 0, -1):
            keys = [self._key(path[:depth]) if len(path) >= depth else -1 for path in paths]
            levels[f"groups of depth {depth}"] = np.array(keys, dtype=np.int64)
        return levels

    def weights_of(self, keys: Keys, usual: Floats) -> Floats:
        given = self.groups.weights
        return np.array([given.get(self.paths[k], w) for k, w in zip(keys.tolist(), usual, strict=True)])

    def description(self) -> bytes:
        return repr(sorted(map(repr, self.groups.weights.items()))).encode()

    def _path(self, attribute: str, labels: tuple[str | None, ...]) -> tuple[Hashable, ...]:
        path = self.groups.path(attribute, labels)
        if isinstance(path, str) or not isinstance(path, Sequence):
            raise InputError(f"groups of {attribute!r}: expected a list of groups, largest first, found {path!r:.80}")
        return tuple(path)

    def _key(self, path: tuple[Hashable, ...]) -> int:
        if path not in self._number:
            self._number[path] = len(self.paths)
            self.paths.append(path)
        return self._number[path]


class FeatureGroups(Grouping):
    """User-defined groups of features, for `penalty=`.

    Parameters
    ----------
    path : a function of an attribute and its labels (one for a feature of a single label, two for a pair, None for
        the start; if labels have parts, a part may replace a label) that returns the groups of this feature, largest
        first, as a list of any hashable values, which is empty for a feature in no group. A group is identified by the
        list up to and including it, so groups are nested or disjoint.
    weights : maps groups, each identified by that list as a tuple, to their weights. The default weight is the square
        root of the number of the group's features that occur in the data.
    name : the name of the penalty in model files.
    """

    def __init__(
        self,
        path: Callable[[str, tuple[str | None, ...]], Sequence[Hashable]],
        weights: Mapping[tuple[Hashable, ...], float] | None = None,
        name: str = "groups",
    ) -> None:
        self.path, self.weights, self.name = path, dict(weights or {}), name
        for group, weight in self.weights.items():
            if not (np.isfinite(weight) and weight >= 0):
                raise InputError(f"weights: expected finite numbers >= 0, found {weight!r} for {group!r}")

    def named(self, vocabulary: Vocabulary, template: Template | None) -> OwnGroups:
        return OwnGroups(self, vocabulary)

    def keys(self, cells: Cells) -> dict[str, Keys]:
        raise InputError("penalty: this grouping needs the names of features: see `named`")
