"""Labelled data on a Dask cluster, for `sparsecrf train --dask`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sparsecrf._core import InputError
from sparsecrf.cli.labelled import Labelled, manner_of, say_unknown
from sparsecrf.cli.options import Inputs
from sparsecrf.encoding.unknown_labels import UnknownLabels
from sparsecrf.progress import say

if TYPE_CHECKING:
    from sparsecrf.model import Model

_LOCAL = "local:"


@contextmanager
def labelled_on_dask(
    inputs: Inputs, address: str, init: Model | None = None, *, threads: int, quiet: bool
) -> Iterator[Labelled]:
    """Read files on the workers of a cluster; the shards are there as long as this lasts."""
    try:
        from sparsecrf.contrib.dask.cluster import Cluster
        from sparsecrf.contrib.dask.encoding import encode
        from sparsecrf.contrib.dask.partitions import How
        from sparsecrf.contrib.dask.training import encode_dev
    except ImportError as error:
        raise InputError(f"--dask: expected dask and distributed, as in sparsecrf[dask]: {error}") from None

    manner = manner_of(inputs, init)
    manner.check_no_vectors("--dask")
    how = How(manner.template, "bias", manner.start, inputs.missing, manner.format, manner.labels)
    with _client(address) as client:
        began = time.perf_counter()
        cluster = Cluster(client)
        say(f"reading on {cluster}", quiet=quiet)
        encoded = encode(cluster, list(inputs.data), None, None, how, threads or 1)
        try:
            corpus, unknown = None, UnknownLabels()
            if inputs.dev is not None:
                corpus, unknown = encode_dev(encoded, inputs.dev, how)
                say_unknown(inputs.dev, unknown, encoded.vocabulary)
            took = time.perf_counter() - began
            found = (encoded.vocabulary, encoded.shards, encoded.template, encoded.n_columns)
            yield Labelled(*found, corpus, took, format=manner.recorded_format, unknown=unknown)
        finally:
            encoded.shards.release()


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """A client of a scheduler, or of workers that are started here: local:N."""
    from distributed import Client, LocalCluster

    from sparsecrf.contrib.dask.cluster import TIMED_OUT, ClusterError

    if not address.startswith(_LOCAL):
        try:
            client = Client(address)
        except (OSError, *TIMED_OUT, ValueError) as error:
            raise ClusterError(f"--dask: expected a Dask scheduler at {address}: {error}") from None
        with client:
            yield client
        return
    n = address[len(_LOCAL) :]
    if not (n.isdecimal() and int(n) > 0):
        raise InputError(f"--dask: expected a number of workers after {_LOCAL}, found {n!r}")
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "preload": "sparsecrf.contrib.dask.local_worker"}
    with LocalCluster(n_workers=int(n), **options) as made, Client(made) as client:
        yield client
