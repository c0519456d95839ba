"""`train`: the optimiser runs in the caller's process, and the data stay on the workers."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from distributed import Client

from sparsecrf._core import InputError
from sparsecrf.compatibility import Choice, Trait, has
from sparsecrf.contrib.dask.cluster import TIMEOUT, Cluster
from sparsecrf.contrib.dask.encoding import encode
from sparsecrf.contrib.dask.partitions import PARTITION_BYTES
from sparsecrf.defaults import SOLVER
from sparsecrf.encoding.label_parts import LabelPartsChoice
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Bigrams
from sparsecrf.estimators.reading import read_other_sequences, warn_of_unknown
from sparsecrf.interrupts import finding_lost_interrupts
from sparsecrf.model import Model
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training import Fit, fit, weights_in
from sparsecrf.training.choices import check_options


@dataclass(frozen=True)
class Trained:
    """A fit to data on a cluster, and its model. Nothing is left on the workers."""

    fit: Fit
    model: Model
    data: Dataset


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
    label_sets: str = "",
    format: str = "columns",
    dev: Any = None,
    init_model: Model | None = None,
    threads: int = 1,
    timeout: float = TIMEOUT,
    partition_bytes: int = PARTITION_BYTES,
    solver: str = SOLVER,
    label_parts: LabelPartsChoice | None = None,
    **options: Any,
) -> Trained:
    """Train on partitions, each of which becomes a shard on a worker.

    X is a Dask bag of sequences of tokens, and y a bag of their labels with as many partitions. Both can also be lists
    of partitions, each of which is a list, a delayed object or a future. Without y, the partitions hold pairs (tokens,
    labels). X can also name labelled files, as a path, a pattern, a URL for fsspec, or a list of these: workers read
    the files themselves, and a file is one partition, or several of about `partition_bytes` if it is larger. `format`,
    `missing` and `label_sets` describe these files. `sample_weight` contains the weights of `CRF.fit`, also in
    partitions.

    `dev` is other labelled data in memory, (X, y), or, if X names files, the path of a file. `threads` is the number of
    threads of one shard; each worker processes one shard per thread at a time. `timeout`: seconds without any answer
    before giving up on the cluster (a single pass over the largest shard must take less). `options` are those of `fit`.

    The same partitions give bit-identical results, regardless of which workers process them.
    """
    of_fit = {"solver": solver, "label_parts": label_parts, "dev": dev, **options}
    check_options(of_fit, [Choice("", "data on a cluster", has(Trait.SHARDS, Trait.ON_CLUSTER))])
    asked = Recipe(format, template, bigrams=bigrams, start=start, missing=missing, label_sets=label_sets)
    recipe = replace(asked, lines=asked.made(lambda: 1))
    if not isinstance(partition_bytes, int) or partition_bytes < 1:
        raise InputError(f"partition_bytes: expected a positive integer, found {partition_bytes!r}")
    with finding_lost_interrupts() as lost:
        cluster = Cluster(client, timeout, lost)
        data = encode(cluster, X, y, sample_weight, recipe, threads, partition_bytes)
        try:
            data = data if dev is None else replace(data, dev=_read_dev(data, dev))
            warn_of_unknown(data)
            parts = data.label_parts(label_parts)
            found = fit(
                data.shards,
                solver=solver,
                dev=data.dev,
                init=None if init_model is None else weights_in(init_model, data.vocabulary, parts),
                parts=parts,
                ngram_attributes=data.ngram_attributes(),
                **options,
            )
        finally:
            data.release()
        lost.raise_again()
    return Trained(found, data.model(found), data)


def _read_dev(data: Dataset, dev: Any) -> Dataset:
    """Other labelled data, encoded locally with the same vocabulary."""
    return read_other_sequences(data, dev) if data.recipe.format is None else data.read_other(dev)
