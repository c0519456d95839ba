"""Encodes text files as a folder of shards (shards/folder.py), in one pass and with the memory of one shard."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO, cast

from sparsecrf._core import InputError
from sparsecrf.encoding.encode import PieceEncoder
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.template import Template
from sparsecrf.files.charset import UTF8
from sparsecrf.files.text import PIECE_BYTES, name_of
from sparsecrf.model.file import template_to_json
from sparsecrf.shards.folder import (
    MANIFEST,
    VOCABULARY,
    CorpusFolder,
    ShardEntry,
    read_manifest,
    shard_name,
    write_folder,
)

#: A shard of this many tokens with 20 attributes each takes about 100 MB on disk, and a pass over it a few hundred MB.
SHARD_TOKENS = 1_000_000

_OURS = re.compile(rf"{re.escape(MANIFEST)}|{VOCABULARY}|shard-\d{{5,}}\.corpus|\..*\.tmp")
_BLOCK = 1 << 20

PathLike = str | os.PathLike[str]


def encode_folder(
    path: PathLike,
    sources: Sequence[PathLike],
    template: Template | None = None,
    *,
    format: str = "columns",
    start: bool = True,
    missing: str = "",
    label_sets: str = "",
    ragged: bool = False,
    encoding: str = UTF8,
    labels: Sequence[str] = (),
    shard_tokens: int = SHARD_TOKENS,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> CorpusFolder:
    """Return the folder for these labelled files. It is reused if it was encoded from the same data, otherwise rebuilt.

    The files are column files, or files in another `format`, named as for `--format`. A template generates the
    attributes of column files; without a template, the attributes are the columns themselves and the bias. A folder is
    reused if a hash of the content of the files (not their names), the template and the options matches. `labels` are
    the first labels of the vocabulary, whether or not the files contain them. For `missing`, `label_sets`, `ragged`,
    `encoding` and `threads`, see `encode_files`. A new folder replaces the old one when it is complete. `progress` is
    called with the number of bytes encoded since its last call. If two processes request the same folder, one creates
    it and the other waits.
    """
    recipe = Recipe(
        format,
        start=start,
        missing=missing,
        label_sets=label_sets,
        ragged=ragged,
        encoding=encoding,
        labels=tuple(labels),
        lines=template,
    )
    recipe.reader.check_template(template, "template")
    return encode_shards(path, sources, recipe, shard_tokens, threads=threads, progress=progress)


def encode_shards(
    path: PathLike,
    sources: Sequence[PathLike],
    recipe: Recipe,
    shard_tokens: int = SHARD_TOKENS,
    *,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> CorpusFolder:
    """Like `encode_folder`, with a complete recipe."""
    if shard_tokens < 1:
        raise InputError(f"shard_tokens: expected at least 1, found {shard_tokens}")
    if not sources:
        raise InputError("sources: expected at least one file, found none")
    for source in sources:
        if source == "-" or not os.path.isfile(source):
            raise InputError(f"{name_of(source)}: expected a regular file, which can be read again to detect changes")
    tell = progress or (lambda amount: None)
    target = Path(os.path.realpath(path))
    _check_replaceable(target)
    with locked(target.with_name(f".{target.name}.lock")):
        _remove_leftovers(target)
        manifest = read_manifest(target)
        if manifest is not None and manifest["recipe"] == _hash(recipe, shard_tokens, map(_sha256, sources)):
            return CorpusFolder.load(target)
        with _replacing(target) as made:
            _encode(made, sources, recipe, shard_tokens, threads, tell)
        return CorpusFolder.load(target)


def _hash(recipe: Recipe, shard_tokens: int, digests: Iterable[str]) -> str:
    """A hash of everything that a folder depends on: the recipe and the content of the files."""
    parts = {
        "sparsecrf": version("sparsecrf"),
        "files": list(digests),
        "template": template_to_json(recipe.lines),
        "format": recipe.reader.name,
        "start": recipe.start is not False,
        "missing": recipe.missing,
        "shard_tokens": shard_tokens,
        **({"labels": recipe.labels} if recipe.labels else {}),
        **({"label_sets": recipe.label_sets} if recipe.label_sets else {}),
        **({"ragged": True} if recipe.ragged else {}),
        **({"encoding": recipe.encoding} if recipe.encoding not in (None, UTF8) else {}),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class _Hashed:
    """A file whose content is hashed while it is read, so that the hash covers exactly the encoded bytes."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name, self._file, self._hash = name, file, hashlib.sha256()

    def read(self, size: int) -> bytes:
        block = self._file.read(size)
        self._hash.update(block)
        return block

    def digest(self) -> str:
        return self._hash.hexdigest()


def _sha256(source: PathLike) -> str:
    with open(source, "rb") as file:
        hashed = _Hashed(file, name_of(source))
        while hashed.read(_BLOCK):
            pass
    return hashed.digest()


def _encode(
    folder: Path,
    sources: Sequence[PathLike],
    recipe: Recipe,
    shard_tokens: int,
    threads: int,
    tell: Callable[[int], None],
) -> None:
    vocabulary = recipe.vocabulary()
    encoder = PieceEncoder(recipe, vocabulary, grow=True, threads=threads)
    files = ", ".join(map(name_of, sources))
    shards: list[ShardEntry] = []

    def finish_shard() -> None:
        corpus = encoder.build(files)
        digest = corpus.save(folder / shard_name(len(shards)))
        shards.append(ShardEntry(corpus.n_sequences, corpus.n_tokens, digest))

    digests = []
    # Shards end at the end of a piece, so pieces must not be larger than shards.
    size = min(PIECE_BYTES, max(1, 16 * shard_tokens))
    for source in sources:
        with open(source, "rb") as file:
            hashed = _Hashed(file, name_of(source))
            for piece in encoder.format.pieces(cast("IO[bytes]", hashed), size):
                encoder.add(piece, hashed.name)
                tell(len(piece.data))
                # There is no corpus while all labels are missing, so the shard continues.
                if encoder.n_tokens >= shard_tokens and len(vocabulary.labels) > 0:
                    finish_shard()
        digests.append(hashed.digest())
    if encoder.n_sequences or not shards:
        finish_shard()
    made = _hash(recipe, shard_tokens, digests)
    of = encoder.layout
    write_folder(CorpusFolder(folder, made, vocabulary, of.template, of.n_columns, shards, encoder.survey.record))


def _check_replaceable(folder: Path) -> None:
    """Reject a path that exists, unless it is a folder that contains only files of encoded data."""
    if not folder.parent.is_dir():
        raise InputError(f"{folder}: the parent directory {str(folder.parent)!r} does not exist")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder with encoded data or a new name, found a file")
    for file in folder.iterdir():
        if not _OURS.fullmatch(file.name) or not file.is_file():
            raise InputError(f"{folder}: expected a folder with nothing but encoded data, found {file.name!r} in it")


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Make a new folder. At the end it replaces the old folder; after an error it is removed."""
    new, old = _temporary(target)
    new.mkdir()
    try:
        yield new
        if target.exists():
            target.rename(old)
        new.rename(target)
    finally:
        _remove_leftovers(target)


def _remove_leftovers(target: Path) -> None:
    """Remove temporary folders. Since the caller holds the lock, they were left by an error or a killed process."""
    for folder in _temporary(target):
        shutil.rmtree(folder, ignore_errors=True)


def _temporary(target: Path) -> tuple[Path, Path]:
    """The names of the folder while it is made, and of the old folder while it is replaced."""
    return target.with_name(f".{target.name}.new"), target.with_name(f".{target.name}.old")


_RETRY_S = 0.2


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of this file. The file exists only while a process holds the lock."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _wait(handle)
            # The previous holder may have removed the file. Then lock the new file, as other processes do.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    break
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows cannot remove an open file
            path.unlink()
        os.close(handle)


def _wait(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        while True:
            with suppress(OSError):
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                return
            time.sleep(_RETRY_S)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
