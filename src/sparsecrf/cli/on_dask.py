"""Labelled data on a Dask cluster, for `sparsecrf train --dask`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparsecrf._core import InputError
from sparsecrf.cli.options import Inputs
from sparsecrf.compatibility import OptionError
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.progress import say

if TYPE_CHECKING:
    from sparsecrf.shards.dataset import Dataset

_LOCAL = "local:"


@contextmanager
def read_on_dask(inputs: Inputs, recipe: Recipe, address: str, *, threads: int, quiet: bool) -> Iterator[Dataset]:
    """Read files on the workers of a cluster; the shards exist within this context."""
    try:
        from sparsecrf.contrib.dask.cluster import Cluster
        from sparsecrf.contrib.dask.encoding import encode
    except ImportError as error:
        raise InputError(f"--dask: expected dask and distributed, as in sparsecrf[dask]: {error}") from None

    with _client(address) as client:
        cluster = Cluster(client)
        say(f"reading on {cluster}", quiet=quiet)
        data = encode(cluster, list(inputs.data), None, None, recipe, threads or 1)
        try:
            yield data if inputs.dev is None else replace(data, dev=data.read_other(inputs.dev))
        finally:
            data.release()


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
        raise OptionError(f"--dask: expected a number of workers after {_LOCAL}, found {n!r}")
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "preload": "sparsecrf.contrib.dask.local_worker"}
    with LocalCluster(n_workers=int(n), **options) as made, Client(made) as client:
        yield client
