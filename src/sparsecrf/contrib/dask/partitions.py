"""Partitions of labelled sequences (Dask bags, delayed or plain lists, files and parts of files), and their readers on
workers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from typing import IO, Any, NamedTuple, cast

from dask.bag import Bag
from dask.delayed import Delayed
from distributed import Future

from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.contrib.dask.cluster import Cluster
from sparsecrf.encoding.encode import PieceEncoder
from sparsecrf.encoding.formats import Format
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.estimators.reading import read_partition, read_sequences
from sparsecrf.files.text import PIECE_BYTES, name_of

#: Larger files are split into partitions of about this many bytes.
PARTITION_BYTES = 1 << 25
_NEAR_BYTES = 1 << 12  # bytes searched first for the end of a sequence


class Names(NamedTuple):
    """The properties of all partitions that encoding needs."""

    labels: StringTable
    attributes: StringTable
    kind: type[str] | type[int] | type[bool] | None  #: type of the labels
    n_columns: int  #: number of columns of a line, including the label, or of a row of columns; 0 if there are none
    n_features: int | None  #: number of columns of every matrix
    partition: int  #: the first partition with these properties
    of_files: bool = False  #: whether columns are compared later, when lines are encoded and line numbers are known


@dataclass(frozen=True)
class Sequences:
    """A partition of Python objects."""

    X: Any
    y: Any
    weight: Any = None

    @classmethod
    def of(cls, X: Any, y: Any, weight: Any) -> Sequences:
        """Make a partition from objects. They may be iterators, which can be read only once; without y they hold pairs
        (tokens, labels)."""
        X, y, weight = (None if part is None else _listed(part) for part in (X, y, weight))
        if y is None:
            pairs = [pair for pair in X if isinstance(pair, tuple) and len(pair) == 2]
            if len(pairs) != len(X):
                raise InputError("expected pairs (tokens, labels), because y is not given, found other elements")
            X, y = [tokens for tokens, _ in pairs], [labels for _, labels in pairs]
        if len(X) == 0:
            raise InputError("expected sequences, found none")
        return cls(X, y, weight)

    def names(self, recipe: Recipe, k: int) -> Names:
        data = read_sequences(self.X, self.y, self.weight, recipe=recipe)
        tables = data.vocabulary.labels, data.vocabulary.attributes
        return Names(*tables, data.names.kind, data.n_columns, data.n_features, k)

    def encode(self, recipe: Recipe, vocabulary: Vocabulary, n_columns: int) -> Corpus:
        return read_partition(self.X, self.y, self.weight, vocabulary, recipe)


@dataclass(frozen=True)
class File:
    """A file, or a part of one, that the worker reads. `url`: a path, or anything that fsspec opens."""

    url: str
    begin: int = 0
    end: int | None = None  #: the byte after the last one; None means the end of the file

    def names(self, recipe: Recipe, k: int) -> Names:
        vocabulary = recipe.vocabulary()
        read = self._read(recipe, vocabulary, True, 0)
        return Names(vocabulary.labels, vocabulary.attributes, str, read.layout.n_columns, None, k, True)

    def encode(self, recipe: Recipe, vocabulary: Vocabulary, n_columns: int) -> Corpus:
        return self._read(recipe, vocabulary, False, n_columns).build(self.name)

    @property
    def name(self) -> str:
        """The name of the file in errors."""
        return name_of(self.url)

    def _read(self, recipe: Recipe, vocabulary: Vocabulary, grow: bool, n_columns: int) -> PieceEncoder:
        try:
            return self._from_line(1 if self.begin == 0 else 2, recipe, vocabulary, grow, n_columns)
        except InputError:
            if self.begin == 0:
                raise
        # Read the file again, only to find the line number for the message.
        return self._from_line(1 + self._lines_before(), recipe, vocabulary, grow, n_columns)

    def _from_line(
        self, first_line: int, recipe: Recipe, vocabulary: Vocabulary, grow: bool, n_columns: int
    ) -> PieceEncoder:
        encoder = PieceEncoder(recipe, vocabulary, n_columns=n_columns, grow=grow)
        with _opened(self.url) as file:
            for piece in encoder.format.pieces(cast(IO[bytes], _Part(file, self, first_line))):
                encoder.add(piece, self.name)
        if encoder.n_sequences == 0:
            raise InputError(f"{self.name}: expected at least one sequence, found none")
        return encoder

    def _lines_before(self) -> int:
        with _opened(self.url) as file:
            before = _Part(file, File(self.url, 0, self.begin), 1)
            return sum(block.count(b"\n") for block in iter(lambda: before.read(PIECE_BYTES), b""))


class _Part:
    """The bytes of one part of a file, read as a separate file, with a name for error messages."""

    def __init__(self, file: IO[bytes], part: File, first_line: int) -> None:
        self._file, self.name, self.first_line = file, part.name, first_line
        self._left = None if part.end is None else part.end - part.begin
        if part.begin > 0:
            file.seek(part.begin)

    def read(self, size: int) -> bytes:
        if self._left is None:
            return self._file.read(size)
        found = self._file.read(min(size, self._left))
        self._left -= len(found)
        return found


@contextmanager
def _opened(url: str) -> Iterator[IO[bytes]]:
    if "://" not in url:
        with open(url, "rb") as file:
            yield file
        return
    import fsspec

    with fsspec.open(url, "rb") as file:
        yield cast(IO[bytes], file)


def parts_of(url: str, format: Format, size: int) -> list[File]:
    """Split a file into parts of at most about `size` bytes that end at the end of a sequence. The file is one part if
    it cannot be opened here, or cannot be read from the middle."""
    ends = [0]
    try:
        with _opened(url) as file:
            n_bytes = file.seek(0, os.SEEK_END)
            n_parts = -(-n_bytes // size)
            text = _next_text(file, 0)
            for at in (n_bytes * k // n_parts for k in range(1, n_parts)):
                end = _next_end(file, at, format, size) if at > ends[-1] else None
                end = None if end is None else _next_text(file, end)  # so that no part consists only of blank lines
                if end is not None and text is not None and text < end:
                    ends.append(end)
    except (OSError, ValueError):
        return [File(url)]
    return [File(url, begin, end) for begin, end in zip(ends, [*ends[1:], None], strict=True)]


def _next_end(file: IO[bytes], at: int, format: Format, most: int) -> int | None:
    """The end of a sequence soon after byte `at`: the end of the first piece from the next line on. None if no sequence
    ends within `most` bytes."""
    file.seek(at - 1)
    file.readline()
    begin = file.tell()
    near = File("", begin, begin + max(most, _NEAR_BYTES))
    # Do not begin at the first line, which pieces() treats specially.
    first = next(format.pieces(cast(IO[bytes], _Part(file, near, first_line=2)), _NEAR_BYTES, inside=True), None)
    return None if first is None or begin + len(first.data) == near.end else begin + len(first.data)


def _next_text(file: IO[bytes], at: int) -> int | None:
    """The start of the next nonblank line, searching from the beginning of a line; None at the end."""
    file.seek(at)
    begin = at  # start of the line
    while block := file.read(PIECE_BYTES):
        n_blank = len(block) - len(block.lstrip(b" \t\n\v\f\r"))
        if (feed := block.rfind(b"\n", 0, n_blank)) >= 0:
            begin = at + feed + 1
        if n_blank < len(block):
            return begin
        at += len(block)
    return None


def is_files(X: Any) -> bool:
    """Whether X is a path, URL or pattern, or a list of these."""
    given = [X] if isinstance(X, (str, os.PathLike)) else X
    return isinstance(given, (list, tuple)) and len(given) > 0 and all(isinstance(x, (str, os.PathLike)) for x in given)


def files_of(X: Any) -> list[str]:
    """The files named by paths, URLs and patterns; the files of a pattern are sorted by name."""
    found: list[str] = []
    for given in [X] if isinstance(X, (str, os.PathLike)) else X:
        name = os.fspath(given)
        if "://" in name:
            import fsspec

            system, path = fsspec.core.url_to_fs(name)
            names = [system.unstrip_protocol(p) for p in sorted(system.glob(path))] if has_magic(path) else [name]
        else:
            # Workers may have a different current directory.
            names = [os.path.abspath(p) for p in (sorted(glob(name)) if has_magic(name) else [name])]
        if not names:
            raise InputError(f"{name}: no file matches this pattern")
        found += names
    return found


def partitions_of(cluster: Cluster, X: Any, what: str) -> list[Any]:
    """The partitions of a bag, or of a list of delayed objects, futures or lists, as futures."""
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
    """The number of partitions, which must be the same for all arguments."""
    sizes = {name: len(part) for name, part in parts.items() if part is not None}
    if len(set(sizes.values())) > 1:
        raise InputError(f"expected the same number of partitions in {', '.join(sizes)}, found {sizes}")
    return next(iter(sizes.values()))


def _listed(part: Any) -> Any:
    return part if hasattr(part, "__len__") else list(part)


def merge_names(answers: list[Names]) -> Names:
    """The names from all partitions, with the same numbers as in a single pass over the partitions."""
    first, *others = answers
    labels, attributes, kind = first.labels.copy(), first.attributes.copy(), first.kind
    for other in others:
        for what, expected, found in (
            ("labels of", kind or other.kind, other.kind or kind),
            ("columns:", first.n_columns, first.n_columns if first.of_files else other.n_columns),
            ("matrices of columns:", first.n_features, other.n_features),
        ):
            if expected != found:
                text = [x.__name__ if isinstance(x, type) else x for x in (expected, found)]
                where = f"as in partition {first.partition}"
                raise InputError(f"partition {other.partition}: expected {what} {text[0]} {where}, found {text[1]}")
        kind = kind or other.kind
        labels.intern_all(other.labels)
        attributes.intern_all(other.attributes)
    return first._replace(labels=labels, attributes=attributes, kind=kind)
