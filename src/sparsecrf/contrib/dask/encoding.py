"""Turns partitions into shards: it builds a vocabulary in parallel, then encodes every partition on its worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from distributed import Future

from sparsecrf._core import InputError, StringTable
from sparsecrf.contrib.dask.cluster import Cluster, OnDask, named_errors, release
from sparsecrf.contrib.dask.partitions import (
    PARTITION_BYTES,
    File,
    Names,
    Sequences,
    files_of,
    in_step,
    is_files,
    merge_names,
    partitions_of,
    parts_of,
)
from sparsecrf.encoding.label_names import LabelNames
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.shards import Shard, Shards
from sparsecrf.shards.dataset import Dataset
from sparsecrf.shards.shards import one_after_the_other


def encode(
    cluster: Cluster, X: Any, y: Any, weight: Any, recipe: Recipe, threads: int, partition_bytes: int = PARTITION_BYTES
) -> Dataset:
    """Encode the partitions as shards on the workers, in order. Only the vocabulary is transferred to the caller."""
    files = y is None and is_files(X)
    recipe = recipe if files else replace(recipe, format=None)
    partitions = _files(cluster, X, recipe, partition_bytes) if files else _sequences(cluster, X, y, weight)
    n = len(partitions)
    numbers, shared = list(range(n)), cluster.share(recipe)
    told = cluster.map(_names, numbers, partitions, [shared] * n, name="names")
    merged = cluster.merged(merge_names, told)
    final = cluster.submit(_vocabulary, merged, shared, files, name="vocabulary")
    made: list[Future] = []
    try:
        vocabulary, kind, n_columns, n_features = cluster.result(final, told)
        each = [[x] * n for x in (shared, final, threads)]
        made = cluster.map(_shard, numbers, partitions, *each, name="shard")
        # The first query waits for all shards.
        shards = Shards(OnDask(cluster, made, final))
    except BaseException:
        release([final, *made])
        raise
    finally:
        # Lost shards are recomputed from the partitions, which Dask recomputes, too.
        release([shared, merged, *told, *partitions])
    template = recipe.lines
    if files:
        n_columns = max(0, n_columns - 1)  # number of columns without the label
        template = recipe.reader.template_for(template, n_columns)
    return Dataset(vocabulary, shards, recipe, template, n_columns, n_features, LabelNames(kind))


def _files(cluster: Cluster, X: Any, recipe: Recipe, partition_bytes: int) -> list[Future]:
    urls = files_of(X)
    # This runs on the workers, since a file may be visible only there.
    found = cluster.map(parts_of, urls, [recipe.reader] * len(urls), [partition_bytes] * len(urls), name="parts")
    all_parts = cluster.merged(one_after_the_other, found)
    try:
        parts: list[File] = cluster.result(all_parts, found)
    finally:
        release([all_parts, *found])
    fields = ([getattr(part, name) for part in parts] for name in ("url", "begin", "end"))
    return cluster.map(File, *fields, name="file")


def _sequences(cluster: Cluster, X: Any, y: Any, weight: Any) -> list[Future]:
    given = {"X": X, "y": y, "sample_weight": weight}
    parts = {name: None if part is None else partitions_of(cluster, part, name) for name, part in given.items()}
    n = in_step(parts)
    each = [[None] * n if part is None else part for part in parts.values()]
    return cluster.map(_read, list(range(n)), *each, name="partition")


def _read(k: int, X: Any, y: Any, weight: Any) -> Sequences:
    return named_errors(k, Sequences.of, X, y, weight)


def _names(k: int, partition: Sequences | File, recipe: Recipe) -> Names:
    return named_errors(k, partition.names, recipe, k)


def _vocabulary(
    names: Names, recipe: Recipe, files: bool
) -> tuple[Vocabulary, type[str] | type[int] | None, int, int | None]:
    """Build the vocabulary. As on a single machine, labels that are read from files get ids in order of first
    occurrence, and other labels get ids in alphabetical order."""
    vocabulary = recipe.vocabulary(files=files)
    labels = StringTable()
    if files:
        for name in (*recipe.labels, *(names.labels[k] for k in range(len(names.labels)))):
            labels.intern(name)
    else:
        for name in sorted(names.labels[k] for k in range(len(names.labels))):
            labels.intern(name)
    if len(labels) == 0:
        raise InputError("expected labels, but all are missing")
    vocabulary = Vocabulary(vocabulary.bigrams, vocabulary.start, labels, names.attributes)
    return vocabulary, names.kind, names.n_columns, names.n_features


def _shard(k: int, partition: Sequences | File, recipe: Recipe, final: tuple[Any, ...], threads: int) -> Shard:
    vocabulary, _, n_columns, _ = final
    return Shard.of(named_errors(k, partition.encode, recipe, vocabulary, n_columns), threads=threads)
