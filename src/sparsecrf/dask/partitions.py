"""Partitions of labelled sequences: Dask bags, delayed or plain lists, or files; and how a worker reads one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from typing import IO, Any, NamedTuple, cast

from dask.bag import Bag
from dask.delayed import Delayed
from distributed import Future

from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.dask.cluster import Cluster
from sparsecrf.encoding.encode import encode_files
from sparsecrf.encoding.formats import COLUMNS, Format
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Bigrams, Vocabulary
from sparsecrf.estimators.labelled import LabelledData, weights_of
from sparsecrf.estimators.labels import LabelNames
from sparsecrf.estimators.sequences import beside, sequences


@dataclass(frozen=True)
class How:
    """How tokens become attributes."""

    template: Template | None = None
    bigrams: Bigrams = "bias"
    start: bool = True
    missing: str = ""  #: label that means none, in files
    format: Format = COLUMNS  #: of files
    labels: tuple[str, ...] = ()  #: the first ones, whether or not the files have them

    def vocabulary(self, files: bool) -> Vocabulary:
        """A new one."""
        made_by_template = self.template is not None or (files and self.format.takes_template)
        return Vocabulary(Template.conditions_pairs if made_by_template else self.bigrams, self.start)


class Names(NamedTuple):
    """What partitions tell of themselves before they can be encoded."""

    labels: StringTable
    attributes: StringTable
    kind: type[str] | type[int] | type[bool] | None  #: of the labels
    n_columns: int  #: of a line, the label included, or of a row of columns; 0: no columns
    n_features: int | None  #: columns of every matrix
    partition: int  #: the first of them


@dataclass(frozen=True)
class Sequences:
    """Python objects."""

    X: Any
    y: Any
    weight: Any = None

    @classmethod
    def of(cls, X: Any, y: Any, weight: Any) -> Sequences:
        """Partitions may be iterators, which can be read once; without y they hold pairs (tokens, labels)."""
        X, y, weight = (None if part is None else _listed(part) for part in (X, y, weight))
        if y is None:
            pairs = [pair for pair in X if isinstance(pair, tuple) and len(pair) == 2]
            if len(pairs) != len(X):
                raise InputError("expected pairs (tokens, labels) where there is no y, found something else")
            X, y = [tokens for tokens, _ in pairs], [labels for _, labels in pairs]
        if len(X) == 0:
            raise InputError("expected sequences, found none")
        return cls(X, y, weight)

    def names(self, how: How, k: int) -> Names:
        data = LabelledData.encode(
            self.X, self.y, self.weight, template=how.template, bigrams=how.bigrams, start=how.start
        )
        tables = data.vocabulary.labels, data.vocabulary.attributes
        return Names(*tables, data.names.kind, data.n_columns, data.n_features, k)

    def encode(self, how: How, vocabulary: Vocabulary, n_columns: int) -> Corpus:
        return vocabulary.encode(
            sequences(self.X, columns=how.template is not None),
            LabelNames().of(beside(self.y, None, "y")),
            **weights_of(self.weight, None),
            template=how.template,
            skip_empty=True,
        )


@dataclass(frozen=True)
class File:
    """A file, read where it is worked on. `url`: a path, or anything that fsspec opens."""

    url: str

    def names(self, how: How, k: int) -> Names:
        vocabulary = how.vocabulary(True)
        n_columns = self._encoded(how, vocabulary, True, 0)[1]
        return Names(vocabulary.labels, vocabulary.attributes, str, n_columns, None, k)

    def encode(self, how: How, vocabulary: Vocabulary, n_columns: int) -> Corpus:
        return self._encoded(how, vocabulary, False, n_columns)[0]

    def _encoded(self, how: How, vocabulary: Vocabulary, grow: bool, n_columns: int) -> tuple[Corpus, int]:
        if "://" not in self.url:
            return self._read(self.url, how, vocabulary, grow, n_columns)
        import fsspec

        with fsspec.open(self.url, "rb") as file:
            return self._read(cast(IO[bytes], _Named(file, self.url)), how, vocabulary, grow, n_columns)

    @staticmethod
    def _read(source: Any, how: How, vocabulary: Vocabulary, grow: bool, n_columns: int) -> tuple[Corpus, int]:
        found = encode_files(
            how.format, [source], vocabulary, how.template, n_columns=n_columns, grow=grow, missing=how.missing
        )
        return found.corpus, found.n_columns


class _Named:
    """A file that errors can name."""

    def __init__(self, file: Any, name: str) -> None:
        self.read, self.name = file.read, name


def is_files(X: Any) -> bool:
    """A path, URL or pattern, or a list of them."""
    given = [X] if isinstance(X, (str, os.PathLike)) else X
    return isinstance(given, (list, tuple)) and len(given) > 0 and all(isinstance(x, (str, os.PathLike)) for x in given)


def files_of(X: Any) -> list[str]:
    """The files that paths, URLs and patterns name; those of a pattern in the order of their names."""
    found: list[str] = []
    for given in [X] if isinstance(X, (str, os.PathLike)) else X:
        name = os.fspath(given)
        if "://" in name:
            import fsspec

            system, path = fsspec.core.url_to_fs(name)
            names = [system.unstrip_protocol(p) for p in sorted(system.glob(path))] if has_magic(path) else [name]
        else:
            # Workers may have another current directory.
            names = [os.path.abspath(p) for p in (sorted(glob(name)) if has_magic(name) else [name])]
        if not names:
            raise InputError(f"{name}: expected files of that pattern, found none")
        found += names
    return found


def partitions_of(cluster: Cluster, X: Any, what: str) -> list[Any]:
    """The partitions of a bag, or of a list of delayed, of futures or of lists: as futures."""
    if isinstance(X, Bag):
        X = X.to_delayed()
    if not isinstance(X, (list, tuple)):
        raise InputError(f"{what}: expected a bag, or a list of partitions, found {type(X).__name__}")
    if len(X) == 0:
        raise InputError(f"{what}: expected partitions, found none")
    delayed = iter(cluster.client.compute([part for part in X if isinstance(part, Delayed)]))
    return [
        next(delayed) if isinstance(part, Delayed) else part if isinstance(part, Future) else cluster.share(part)
        for part in X
    ]


def in_step(parts: Mapping[str, Sequence[Any] | None]) -> int:
    """The number of partitions, which all of these must have."""
    sizes = {name: len(part) for name, part in parts.items() if part is not None}
    if len(set(sizes.values())) > 1:
        raise InputError(f"expected as many partitions in each, found {sizes}")
    return next(iter(sizes.values()))


def _listed(part: Any) -> Any:
    return part if hasattr(part, "__len__") else list(part)


def merge_names(answers: list[Names]) -> Names:
    """The names of all in the order of the partitions: the ids that one pass over them would give."""
    first, *others = answers
    labels, attributes, kind = first.labels.copy(), first.attributes.copy(), first.kind
    for other in others:
        for what, expected, found in (
            ("labels of", kind or other.kind, other.kind or kind),
            ("columns:", first.n_columns, other.n_columns),
            ("matrices of columns:", first.n_features, other.n_features),
        ):
            if expected != found:
                text = [x.__name__ if isinstance(x, type) else x for x in (expected, found)]
                where = f"as in partition {first.partition}"
                raise InputError(f"partition {other.partition}: expected {what} {text[0]} {where}, found {text[1]}")
        kind = kind or other.kind
        labels.intern_all(other.labels)
        attributes.intern_all(other.attributes)
    return Names(labels, attributes, kind, first.n_columns, first.n_features, first.partition)
