"""Encoded corpora on disk, for training on data that do not fit into memory.

A folder, written once by `encode_folder` (shards/encode_folder.py) and reused as long as the data are the same,
contains:

    shard-00000.corpus ...  whole sequences, in the order of the data (`Corpus.save`); read into memory when opened
    vocabulary              labels and attributes by id (files/container.py)
    manifest.json           a hash of what it was made from; the template; counts and digests of the other files

While the data are read, ids are added but never changed, so ids in early shards stay valid. A shard is opened with the
final counts. Every file is checked against the manifest, and the manifest against its own digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sparsecrf._core import Corpus, InputError, usable_memory
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.files.atomic import write_atomically
from sparsecrf.files.container import pack, unpack
from sparsecrf.model.file import names, strings, template_from_json, template_to_json
from sparsecrf.shards import Shards
from sparsecrf.shards.dataset import Dataset
from sparsecrf.shards.manifest import check_manifest

FORMAT, VERSION = "sparsecrf corpus folder", 1
MANIFEST, VOCABULARY = "manifest.json", "vocabulary"
_VOCABULARY_FORMAT = "sparsecrf vocabulary"

#: Memory of a shard including its oracle: bytes per byte of its file, and bytes per attribute of the vocabulary (28
#: were measured when attributes dominate).
_PER_BYTE, _PER_ATTRIBUTE = 3, 32


def shard_name(k: int) -> str:
    return f"shard-{k:05d}.corpus"


@dataclass(frozen=True)
class ShardEntry:
    """The manifest entry of one shard."""

    sequences: int
    tokens: int
    digest: int  #: the digest that `Corpus.save` returned


@dataclass(frozen=True)
class CorpusFolder:
    """A corpus on disk. As many shards as fit are held in memory."""

    path: Path
    recipe: str  #: hash of the recipe and the data
    vocabulary: Vocabulary
    template: Template | None  #: None if the files contained attributes
    n_columns: int  #: number of columns of each line, including the label; 0 for CRFsuite's format, and if lines differ
    shards: Sequence[ShardEntry]
    tokenizer: Mapping[str, Any] = field(default_factory=dict)  #: see `Dataset`

    @property
    def n_labels(self) -> int:
        return len(self.vocabulary.labels)

    @property
    def n_attributes(self) -> int:
        return len(self.vocabulary.attributes)

    @property
    def n_sequences(self) -> int:
        return sum(shard.sequences for shard in self.shards)

    @property
    def n_tokens(self) -> int:
        return sum(shard.tokens for shard in self.shards)

    @property
    def n_bytes(self) -> int:
        """Size on disk in bytes."""
        return sum(file.stat().st_size for file in self.path.iterdir())

    def open(self, k: int) -> Corpus:
        """Read shard k into memory; later changes of its file have no effect."""
        shard, file = self.shards[k], self.path / shard_name(k)
        try:
            counts = {"n_labels": self.n_labels, "n_attributes": self.n_attributes}
            corpus = Corpus.open(file, **counts, digest=shard.digest, copy=True)
        except InputError as error:
            raise self._not_as_loaded(str(error)) from error
        except FileNotFoundError:
            raise self._not_as_loaded(f"{file}: expected a shard, found no file") from None
        found = corpus.n_sequences, corpus.n_tokens
        if found != (shard.sequences, shard.tokens):
            expected = f"{shard.sequences} sequences with {shard.tokens} tokens in all"
            raise damaged(self.path, f"{file}: expected {expected}, found {found[0]} sequences with {found[1]}")
        return corpus

    def _not_as_loaded(self, what: str) -> InputError:
        """The error for a shard that cannot be opened because it is damaged or the folder has been replaced."""
        entries = read_manifest(self.path)
        if entries is not None and entries["recipe"] != self.recipe:
            return InputError(
                f"{self.path}: expected the folder to be unchanged since this run began, found a folder that another "
                "run has rebuilt from other data or with other options; give each run its own folder"
            )
        return damaged(self.path, what)

    def in_shards(self, threads: int = 0, memory: int | None = None) -> Shards:
        """The data for `fit`, as shards; `threads` threads work on one shard at a time.

        The first shards stay in memory as far as `memory` bytes suffice, by default a quarter of the memory that this
        process can use; all other shards are read again for each query."""
        left, n_kept = usable_memory() // 4 if memory is None else memory, 0
        for k in range(len(self.shards)):
            file = self.path / shard_name(k)
            left -= _PER_BYTE * (file.stat().st_size if file.exists() else 0) + _PER_ATTRIBUTE * self.n_attributes
            if left < 0:
                break
            n_kept += 1
        return Shards.in_process(self.openers(), threads=threads, n_kept=n_kept)

    def dataset(self, recipe: Recipe, threads: int = 0, memory: int | None = None) -> Dataset:
        """The data with the recipe that encoded them; for `threads` and `memory`, see `in_shards`."""
        shards = self.in_shards(threads, memory)
        n_columns = max(0, self.n_columns - 1)
        return Dataset(self.vocabulary, shards, recipe, self.template, n_columns, tokenizer=self.tokenizer)

    def openers(self) -> list[Callable[[], Corpus]]:
        """A function for each shard that opens it."""
        return [partial(self.open, k) for k in range(len(self.shards))]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CorpusFolder:
        """Load the folder at this path; its shards are checked when they are opened."""
        folder = Path(path)
        entries = read_manifest(folder)
        if entries is None:
            raise InputError(f"{folder}: expected a folder of encoded data, found no {MANIFEST} in it")
        try:
            return _load(folder, entries)
        except InputError as error:
            raise damaged(folder, str(error)) from error


def damaged(folder: Path, what: str) -> InputError:
    """The error for a folder that cannot be used, with advice."""
    return InputError(f"{what}; delete the folder {folder} to rebuild it")


def write_folder(folder: CorpusFolder) -> None:
    """Write everything except the shards into the folder, the manifest last."""
    content = pack(_VOCABULARY_FORMAT, VERSION, {}, names(folder.vocabulary.labels, folder.vocabulary.attributes))
    write_atomically(folder.path / VOCABULARY, content)
    entries = {
        "format": FORMAT,
        "version": VERSION,
        "recipe": folder.recipe,
        "template": template_to_json(folder.template),
        "n_columns": folder.n_columns,
        "start": folder.vocabulary.start,
        "labels": folder.n_labels,
        "attributes": folder.n_attributes,
        "sequences": folder.n_sequences,
        "tokens": folder.n_tokens,
        "vocabulary": hashlib.sha256(content).hexdigest(),
        **({"tokenizer": dict(folder.tokenizer)} if folder.tokenizer else {}),
        "shards": [
            {"sequences": shard.sequences, "tokens": shard.tokens, "digest": f"{shard.digest:016x}"}
            for shard in folder.shards
        ],
    }
    entries["digest"] = _digest(entries)
    write_atomically(folder.path / MANIFEST, json.dumps(entries, indent=1).encode() + b"\n")


def _digest(entries: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The entries of the manifest, checked; None if there is no manifest."""
    file = folder / MANIFEST
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        entries = json.loads(content.decode("utf-8"))
        json.dumps(entries, ensure_ascii=False).encode()  # an escape may encode an unpaired surrogate
        whole = isinstance(entries, dict) and entries.pop("digest", None) == _digest(entries)
    except (ValueError, RecursionError) as error:
        raise damaged(folder, f"{file}: expected JSON, found other content ({error})") from error
    if not whole:
        raise damaged(folder, f"{file}: the content does not match its digest")
    found = entries.get("format"), entries.get("version")
    if found != (FORMAT, VERSION):
        raise damaged(
            folder, f"{file}: expected a {FORMAT} of version {VERSION}, found {found[0]!r:.60}, {found[1]!r:.60}"
        )
    try:
        check_manifest(entries, str(file))
    except InputError as error:
        raise damaged(folder, str(error)) from error
    return dict(entries)


def _load(folder: Path, entries: Mapping[str, Any]) -> CorpusFolder:
    template = template_from_json(entries["template"], str(folder / MANIFEST))
    bigrams = "bias" if template is None else Template.conditions_pairs
    vocabulary = _read_vocabulary(folder / VOCABULARY, entries, Vocabulary(bigrams, entries["start"]))
    n_columns = entries["n_columns"]
    if template is not None and 0 < n_columns <= template.n_columns:
        least = template.n_columns + 1
        raise InputError(
            f"{folder / MANIFEST}: expected at least {least} columns, as the template needs, found {n_columns}"
        )
    shards = [ShardEntry(s["sequences"], s["tokens"], int(s["digest"], 16)) for s in entries["shards"]]
    tokenizer = entries.get("tokenizer", {})
    return CorpusFolder(folder, entries["recipe"], vocabulary, template, n_columns, shards, tokenizer)


def _read_vocabulary(file: Path, entries: Mapping[str, Any], empty: Vocabulary) -> Vocabulary:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{file}: expected labels and attributes, found no file") from None
    if hashlib.sha256(content).hexdigest() != entries["vocabulary"]:
        raise InputError(f"{file}: expected content with digest {entries['vocabulary']}, found damaged content")
    _, arrays = unpack(content, str(file), _VOCABULARY_FORMAT, VERSION)
    if arrays.keys() != (expected := names(empty.labels, empty.attributes).keys()):
        raise InputError(f"{file}: expected the arrays {sorted(expected)}, found {sorted(arrays)!r:.200}")
    tables = {name: strings(arrays, name, str(file)) for name in ("labels", "attributes")}
    for name, table in tables.items():
        if len(table) != entries[name]:
            raise InputError(f"{file}: expected {entries[name]} {name}, found {len(table)}")
    return Vocabulary(empty.bigrams, empty.start, tables["labels"], tables["attributes"])
