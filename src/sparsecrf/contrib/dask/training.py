"""`train`: the optimiser here, the data on the workers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from distributed import Client

from sparsecrf._core import Corpus, InputError
from sparsecrf.compatibility import Choice, Trait, has
from sparsecrf.contrib.dask.cluster import TIMEOUT, Cluster
from sparsecrf.contrib.dask.encoding import ShardedData, encode
from sparsecrf.contrib.dask.partitions import PARTITION_BYTES, How
from sparsecrf.defaults import SOLVER
from sparsecrf.encoding.encode import encode_files
from sparsecrf.encoding.formats import format_named
from sparsecrf.encoding.label_parts import AskedParts
from sparsecrf.encoding.template import Template, ngram_attributes
from sparsecrf.encoding.unknown_labels import OtherData, with_unknown
from sparsecrf.encoding.vocabulary import Bigrams
from sparsecrf.files.charset import UTF8_TEXT
from sparsecrf.files.text import readable_twice
from sparsecrf.model import Model
from sparsecrf.training import Fit, fit, weights_in
from sparsecrf.training.choices import check_options


@dataclass(frozen=True)
class Trained:
    """A fit to data on a cluster, and its model. Nothing is left on the workers."""

    fit: Fit
    model: Model
    data: ShardedData


def train(
    client: Client,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    template: Template | str | os.PathLike[str] | None = None,
    bigrams: Bigrams = "bias",
    start: bool = True,
    missing: str = "",
    format: str = "columns",
    dev: Any = None,
    init_model: Model | None = None,
    threads: int = 1,
    timeout: float = TIMEOUT,
    partition_bytes: int = PARTITION_BYTES,
    solver: str = SOLVER,
    label_parts: AskedParts | None = None,
    **options: Any,
) -> Trained:
    """Train on partitions, each of which becomes a shard on a worker.

    X is a Dask bag of sequences of tokens, and y a bag of their labels with as many partitions; or lists of partitions,
    which are lists, delayed or futures; without y the partitions hold pairs (tokens, labels). Or X names labelled
    files, as a path, a pattern, a URL for fsspec, or a list of them: each is a partition, or several of about
    `partition_bytes` if it is larger, and workers read them themselves. `format` and `missing` are those of files.
    `sample_weight`, in partitions too, is as for `CRF.fit`.

    `dev` is other labelled data in memory, (X, y), or with files the path of one. `threads` are those of one shard; a
    worker works on as many shards at a time as it has threads. `timeout`: seconds without any answer of the cluster
    after which it is given up (a single pass over the largest shard must take less). `options` are those of `fit`.

    The same partitions give the same bits, on whatever workers.
    """
    of_fit = {"solver": solver, "label_parts": label_parts, "dev": dev, **options}
    check_options(of_fit, [Choice("", "data on a cluster", has(Trait.SHARDS, Trait.ON_CLUSTER))])
    if template is not None:
        template = Template.of(template)
    cluster = Cluster(client, timeout)
    how = How(template, bigrams, start, missing, format_named(format))
    if not isinstance(partition_bytes, int) or partition_bytes < 1:
        raise InputError(f"partition_bytes: expected a whole number from 1, found {partition_bytes!r}")
    data = encode(cluster, X, y, sample_weight, how, threads, partition_bytes)
    try:
        parts = data.label_parts(label_parts)
        found = fit(
            data.shards,
            solver=solver,
            dev=None if dev is None else _encoded_dev(data, dev, how),
            init=None if init_model is None else weights_in(init_model, data.vocabulary, parts),
            parts=parts,
            ngram_attributes=ngram_attributes(data.template, data.vocabulary.attributes),
            **options,
        )
    finally:
        data.shards.release()
    return Trained(found, data.model(found), data)


def _encoded_dev(data: ShardedData, dev: Any, how: How) -> Corpus:
    """The corpus of `encode_dev`, with a warning of labels that the training data do not have."""
    other = encode_dev(data, dev, how)
    data.warn_of_unknown(other)
    return other.corpus


def encode_dev(data: ShardedData, dev: Any, how: How) -> OtherData:
    """Other labelled data by the same vocabulary, here."""
    if not data.files:
        return data.encode_other(dev)
    n_columns = data.n_columns + 1 if data.n_columns else 0  # with the label
    source = readable_twice(dev)
    corpus = encode_files(
        how.format, [source], data.vocabulary, data.template, n_columns=n_columns, missing=how.missing
    ).corpus
    return with_unknown(corpus, how.format, source, how.missing, UTF8_TEXT)
