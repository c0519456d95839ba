"""Labelled data on a Dask cluster, for `sparsecrf train --dask`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparsecrf._core import Corpus, InputError
from sparsecrf.cli.labelled import template_for
from sparsecrf.progress import say

if TYPE_CHECKING:
    from sparsecrf.dask.encoding import ShardedData
    from sparsecrf.encoding.vocabulary import Vocabulary
    from sparsecrf.model import Model
    from sparsecrf.shards import Shards
    from sparsecrf.training import Fit

_LOCAL = "local:"


@dataclass(frozen=True)
class LabelledOnDask:
    """As `Labelled`, with the training data on workers."""

    encoded: ShardedData
    dev: Corpus | None
    read_s: float

    @property
    def vocabulary(self) -> Vocabulary:
        return self.encoded.vocabulary

    @property
    def corpus(self) -> Shards:
        return self.encoded.shards

    def model(self, found: Fit) -> Model:
        return self.encoded.model(found)


@contextmanager
def labelled_on_dask(
    address: str,
    data: Sequence[str],
    dev: str | None,
    template: str | None,
    *,
    boundary: str,
    format: str | None,
    start: bool,
    missing: str,
    threads: int,
    quiet: bool,
) -> Iterator[LabelledOnDask]:
    """Read files on the workers of a cluster; the shards are there as long as this lasts."""
    try:
        from sparsecrf.dask.cluster import Cluster
        from sparsecrf.dask.encoding import encode
        from sparsecrf.dask.partitions import How
        from sparsecrf.dask.training import encode_dev
    except ImportError as error:
        raise InputError(f"--dask: expected dask and distributed, as in sparsecrf[dask]: {error}") from None

    crfsuite, lines = template_for(data, template, boundary, format)
    how = How(lines, "bias", start, missing, "crfsuite" if crfsuite else "columns")
    with _client(address) as client:
        began = time.perf_counter()
        cluster = Cluster(client)
        say(f"reading on {cluster}", quiet=quiet)
        encoded = encode(cluster, list(data), None, None, how, threads or 1)
        try:
            held_out = None if dev is None else encode_dev(encoded, dev, how)
            yield LabelledOnDask(encoded, held_out, time.perf_counter() - began)
        finally:
            encoded.shards.release()


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """A client of a scheduler, or of workers that are started here: local:N."""
    from distributed import Client, LocalCluster

    from sparsecrf.dask.cluster import ClusterError

    if not address.startswith(_LOCAL):
        try:
            client = Client(address)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(f"--dask: expected a Dask scheduler at {address}: {error}") from None
        with client:
            yield client
        return
    n = address[len(_LOCAL) :]
    if not (n.isdecimal() and int(n) > 0):
        raise InputError(f"--dask: expected a number of workers after {_LOCAL}, found {n!r}")
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "preload": "sparsecrf.dask.local_worker"}
    with LocalCluster(n_workers=int(n), **options) as made, Client(made) as client:
        yield client
