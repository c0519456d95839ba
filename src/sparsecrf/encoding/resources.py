"""Resources of templates: lexicons, clusters and word classes, stored in a model or referred to by a checksum."""

from __future__ import annotations

import base64
import hashlib
import os
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from sparsecrf import _core
from sparsecrf._core import InputError

Path: TypeAlias = str | os.PathLike[str]
#: The sources of a lexicon: a file, entries, pairs of an entry and a class, or a mapping of entries to classes.
LexiconSource: TypeAlias = Path | Iterable[str | tuple[str, str]] | Mapping[str, str | Iterable[str]]
#: The sources of a table: a file, or a mapping of words to classes.
TableSource: TypeAlias = Path | Mapping[str, str]
_LARGEST = 2**62  # bytes of content
_MOST_TIMES = 64  # maximum ratio of unpacked to packed size


class Resource(_core.Resource):
    """A lexicon, clusters of words, or classes of words, which template lines look up by `%d[row,column,NAME]`.

    `Resource.lexicon`, `Resource.clusters` and `Resource.classes_of_words` make a resource from a file or from Python
    objects. A model keeps the content of a resource; with `store=False`, it keeps the path of the file and a checksum
    of its content, and cannot be loaded without the same file.
    """

    def __init__(self, name: str, kind: str, content: bytes, source: str, *, path: str | None = None) -> None:
        """`path`: the file that a model refers to; None if it stores the content."""
        super().__init__(name, kind, content, source)
        self.path = path
        self.sha256 = hashlib.sha256(content).hexdigest()

    @classmethod
    def lexicon(cls, name: str, source: LexiconSource, *, store: bool = True) -> Resource:
        """A lexicon of names of one or more words.

        The source is a file with one entry per line, optionally followed by a tab and its class; a list of entries or
        of pairs (entry, class); or a mapping of entries to one or more classes.
        """
        return cls.made(name, "lexicon", source, store)

    @classmethod
    def clusters(cls, name: str, source: TableSource, *, store: bool = True) -> Resource:
        """Word clusters; the prefixes of their names denote larger clusters.

        The source is the file of a Brown clustering program or of `sparsecrf data clusters` (path, word, count), a file
        with word and class on each line, or a mapping of words to classes.
        """
        return cls.made(name, "clusters", source, store)

    @classmethod
    def classes_of_words(cls, name: str, source: TableSource, *, store: bool = True) -> Resource:
        """A table of words and classes: a file with a word and its class on each line, or a mapping of words to
        classes."""
        return cls.made(name, "classes", source, store)

    @classmethod
    def made(cls, name: str, kind: str, source: Any, store: bool = True) -> Resource:
        if isinstance(source, (str, os.PathLike)):
            content = _read(source, f"{kind} {name}")
            path = None if store else os.path.abspath(source)
            return cls(name, kind, content, os.fspath(source), path=path)
        if not store:
            raise InputError(f"{kind} {name}: expected a file for store=False, found {type(source).__name__}")
        return cls(name, kind, "".join(_lines(source, f"{kind} {name}")).encode(), f"{kind} {name}")

    def to_json(self) -> dict[str, Any]:
        """The entry that a model stores."""
        record: dict[str, Any] = {"name": self.name, "kind": self.kind, "sha256": self.sha256}
        if self.path is not None:
            return record | {"path": self.path}
        content = self.content
        small = zlib.compress(content, 9)
        if len(content) // _MOST_TIMES > len(small):  # a reader would reject this ratio, so it is stored unpacked
            small = zlib.compress(content, 0)
        packed = base64.b64encode(small).decode("ascii")
        return record | {"bytes": len(content), "content": packed}

    @classmethod
    def from_json(cls, record: Any, where: str) -> Resource:
        """Restore a resource from a model's entry. `where` is the model's file; if a resource file has moved, it is
        searched for next to the model."""
        texts = {"name", "kind", "sha256", "path"} if isinstance(record, dict) and "path" in record else _STORED
        if (
            not isinstance(record, dict)
            or record.keys() != texts | ({"bytes"} if texts is _STORED else set())
            or not all(isinstance(record[name], str) for name in texts)
            or type(record.get("bytes", 0)) is not int
            or not 0 <= record.get("bytes", 0) < _LARGEST
        ):
            raise InputError(f"{where}: expected the record of a resource, found {str(record)[:80]}")
        name, kind, path = record["name"], record["kind"], record.get("path")
        if path is None:
            content, source = _unpacked(record, where), f"{where}: {kind} {name}"
        else:
            path = where_it_is(path, where)
            content, source = _read(path, f"{where}: {kind} {name}"), path
        found = cls(name, kind, content, source, path=path)
        if found.sha256 != record["sha256"]:
            raise InputError(
                f"{source}: expected the file that the model was trained with, with the SHA-256 checksum "
                f"{record['sha256']}, found a different file"
            )
        return found

    def __reduce__(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        return type(self), (self.name, self.kind, self.content, f"{self.kind} {self.name}"), {"path": self.path}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resource) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}: {len(self):,} entries, {len(self.classes):,} classes>"

    def _key(self) -> tuple[str, str, str]:
        return self.name, self.kind, self.sha256


_STORED = {"name", "kind", "sha256", "content"}


def checked(given: Any, option: str = "resources") -> list[Resource]:
    """The resources that the user passed, as a checked list."""
    made = [] if given is None else [given] if isinstance(given, Resource) else list(given)
    for resource in made:
        if not isinstance(resource, Resource):
            raise InputError(
                f"{option}: expected Resource.lexicon(...), .clusters(...) or the like, found {resource!r:.60}"
            )
    return made


def _read(path: Path, what: str) -> bytes:
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe could block
        raise InputError(f"{what}: expected {os.fspath(path)} to be a regular file")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{what}: expected the file {os.fspath(path)}, found none: {error.strerror}") from error


def where_it_is(path: str, model: str) -> str:
    """The path, or a file with the same name next to the model."""
    beside = os.path.join(os.path.dirname(model), os.path.basename(path))
    return beside if not os.path.exists(path) and os.path.exists(beside) else path


def _unpacked(record: dict[str, Any], where: str) -> bytes:
    """The unpacked content, never more than the stated size."""
    try:
        packed, unpacker = base64.b64decode(record["content"], validate=True), zlib.decompressobj()
        if record["bytes"] // _MOST_TIMES > len(packed):
            raise ValueError(f"{record['bytes']} bytes from {len(packed)}")
        content = unpacker.decompress(packed, record["bytes"] + 1)
        if not unpacker.eof or unpacker.unused_data:  # the stream ends with its checksum
            raise ValueError("a stream of the wrong length")
    except (ValueError, zlib.error) as error:
        raise InputError(f"{where}: expected the packed content of {record['name']!r:.40}, found {error}") from error
    return content


def _lines(source: Any, where: str) -> Iterable[str]:
    """Convert Python objects to the lines of a file."""
    if isinstance(source, Mapping):
        pairs: Any = ((x, c) for x, cs in source.items() for c in ([cs] if isinstance(cs, str) else cs))
    elif isinstance(source, Iterable):
        pairs = ((x,) if isinstance(x, str) else x for x in source)
    else:
        raise InputError(f"{where}: expected a file, a list or a mapping, found {type(source).__name__}")
    for pair in pairs:
        if not all(isinstance(text, str) and not set(text) & set("\t\n\r") for text in pair):
            raise InputError(f"{where}: expected text without tabs and line breaks, found {pair!r:.80}")
        yield "\t".join(pair) + "\n"
