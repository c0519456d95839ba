"""Partitions to shards: a vocabulary made in parallel, then every partition encoded by it where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distributed import Future

from sparsecrf._core import InputError, StringTable
from sparsecrf.contrib.dask.cluster import Cluster, OnDask, named_errors, release
from sparsecrf.contrib.dask.partitions import (
    PARTITION_BYTES,
    File,
    How,
    Names,
    Sequences,
    files_of,
    in_step,
    is_files,
    merge_names,
    partitions_of,
    parts_of,
)
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.estimators.labelled import Encoding
from sparsecrf.estimators.labels import LabelNames
from sparsecrf.shards import Shard, Shards
from sparsecrf.shards.shards import one_after_the_other


@dataclass(frozen=True)
class ShardedData(Encoding):
    """Labelled sequences, encoded on workers."""

    shards: Shards
    files: bool  #: read from files, whose lines have `n_columns` columns and the label


def encode(
    cluster: Cluster, X: Any, y: Any, weight: Any, how: How, threads: int, partition_bytes: int = PARTITION_BYTES
) -> ShardedData:
    """Shards of the partitions, in their order, on the workers. Only the vocabulary comes here."""
    files = y is None and is_files(X)
    partitions = _files(cluster, X, how, partition_bytes) if files else _sequences(cluster, X, y, weight)
    n = len(partitions)
    numbers, manner = list(range(n)), cluster.share(how)
    told = cluster.map(_names, numbers, partitions, [manner] * n, name="names")
    merged = cluster.merged(merge_names, told)
    final = cluster.submit(_vocabulary, merged, manner, files, name="vocabulary")
    made: list[Future] = []
    try:
        vocabulary, kind, n_columns, n_features = cluster.result(final, told)
        each = [[x] * n for x in (manner, final, threads)]
        made = cluster.map(_shard, numbers, partitions, *each, name="shard")
        # The first question waits for all of them.
        shards = Shards(OnDask(cluster, made, final))
    except BaseException:
        release([final, *made])
        raise
    finally:
        # Shards that are lost are made again from the partitions, which Dask then makes again, too.
        release([manner, merged, *told, *partitions])
    template = how.template
    if files:
        n_columns = max(0, n_columns - 1)  # without the label
        template = how.format.template_for(template, n_columns)
    return ShardedData(vocabulary, LabelNames(kind), template, n_columns, n_features, shards, files)


def _files(cluster: Cluster, X: Any, how: How, partition_bytes: int) -> list[Future]:
    urls = files_of(X)
    # On the workers: a file may be theirs alone.
    found = cluster.map(parts_of, urls, [how.format] * len(urls), [partition_bytes] * len(urls), name="parts")
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


def _names(k: int, partition: Sequences | File, how: How) -> Names:
    return named_errors(k, partition.names, how, k)


def _vocabulary(
    names: Names, how: How, files: bool
) -> tuple[Vocabulary, type[str] | type[int] | None, int, int | None]:
    """As on one machine, labels of files have ids in the order of their first occurrence, others in that of names."""
    vocabulary = how.vocabulary(files)
    labels = StringTable()
    if files:
        for name in (*how.labels, *(names.labels[k] for k in range(len(names.labels)))):
            labels.intern(name)
    else:
        for name in sorted(names.labels[k] for k in range(len(names.labels))):
            labels.intern(name)
    if len(labels) == 0:
        raise InputError("expected labels, found all of them to be missing")
    vocabulary = Vocabulary(vocabulary.bigrams, vocabulary.start, labels, names.attributes)
    return vocabulary, names.kind, names.n_columns, names.n_features


def _shard(k: int, partition: Sequences | File, how: How, final: tuple[Any, ...], threads: int) -> Shard:
    vocabulary, _, n_columns, _ = final
    return Shard.of(named_errors(k, partition.encode, how, vocabulary, n_columns), threads=threads)
