"""Runs tasks on a Dask cluster, with a timeout on every wait, and holds shards there."""

from __future__ import annotations

import asyncio
import concurrent.futures
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4
from weakref import WeakSet

import numpy as np
from distributed import Client, Future, wait
from distributed.scheduler import KilledWorker

from sparsecrf._core import InputError
from sparsecrf.interrupts import LostInterrupt
from sparsecrf.shards import LET_GO, Shard, merge_tree
from sparsecrf.shards.shards import itself

Answer = TypeVar("Answer")

#: Seconds without any answer before giving up on a cluster.
TIMEOUT = 300.0
_LOOK_EVERY = 1.0  # seconds between checks while waiting
_RECONNECT = 30.0  # seconds for a client to reconnect to its scheduler

_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)
#: The timeout errors of the system and of asyncio, which are the same class since Python 3.11.
TIMED_OUT = (TimeoutError, asyncio.TimeoutError)


class ClusterError(ConnectionError):
    """Raised when the cluster does not answer, or has lost its data."""


class Cluster:
    """A client and its timeout. Tasks have descriptive names with unique keys."""

    def __init__(self, client: Client, timeout: float = TIMEOUT, lost: LostInterrupt | None = None) -> None:
        """`lost` holds an interrupt that was dropped in a finalizer of a future; the next wait raises it."""
        if not timeout > 0:
            raise InputError(f"timeout: expected a number of seconds > 0, found {timeout}")
        self.client, self.timeout, self.lost = client, timeout, lost or LostInterrupt()
        self._name = uuid4().hex[:8]
        self._tasks = 0
        try:
            client.wait_for_workers(1, timeout=timeout)
        except (*TIMED_OUT, OSError, *_CANCELLED):
            raise ClusterError(f"{self}: expected workers, found none after {timeout:g} s") from None

    def __str__(self) -> str:
        scheduler = self.client.scheduler
        return f"cluster {scheduler.address if scheduler is not None else '(closed)'}"

    def key(self, name: str) -> str:
        self._tasks += 1
        return f"sparsecrf-{name}-{self._name}-{self._tasks}"

    def submit(self, function: Callable[..., Any], *arguments: Any, name: str = "") -> Future:
        with _quietly():
            return self.client.submit(
                function, *arguments, key=self.key(name or function.__name__.strip("_")), pure=False
            )

    def map(self, function: Callable[..., Any], *arguments: Sequence[Any], name: str) -> list[Future]:
        """A task for each tuple of arguments, sent together."""
        key = self.key(name)
        with _quietly():
            futures: list[Future] = self.client.map(
                function, *arguments, key=[f"{key}-{k}" for k in range(len(arguments[0]))], pure=False
            )
        return futures

    def share(self, value: Any) -> Future:
        """A task that returns a value. Data scattered to a worker would be lost with that worker, but a task is
        rerun."""
        return self.submit(itself, value, name="value")

    def merged(self, merge: Callable[[list[Answer]], Answer], tasks: Sequence[Future]) -> Future:
        """One task that merges the results of all tasks, through a tree of tasks; see `merge_tree`."""
        return merge_tree(partial(self.submit, merge), tasks)

    def result(self, last: Future, tasks: Sequence[Future] = ()) -> Any:
        """The result of `last`, which depends on `tasks`. The wait continues as long as tasks keep finishing."""
        try:
            self._wait(last, tasks)
            self.lost.raise_again()
            return last.result(timeout=self.timeout)
        except KilledWorker as error:
            reason = f"several workers died one after another while running {error.task}; is there too little memory?"
            raise ClusterError(f"{self}: {reason}") from None
        except _CANCELLED as error:
            raise ClusterError(
                f"{self}: the workers were lost in the middle of a pass ({error or type(error).__name__})"
            ) from None
        except TIMED_OUT:
            raise ClusterError(f"{self}: expected an answer within {self.timeout:g} s, found none") from None
        except (OSError, RuntimeError) as error:
            if self.client.status == "running":
                raise  # an error of a task
            raise ClusterError(f"{self}: lost ({error})") from None

    def _wait(self, last: Future, tasks: Sequence[Future]) -> None:
        n_done, since = 0, monotonic()
        while not last.done():
            self.lost.raise_again()
            with suppress(*TIMED_OUT):
                wait(last, timeout=min(_LOOK_EVERY, self.timeout))
            n = sum(task.done() for task in tasks)
            if n != n_done:
                n_done, since = n, monotonic()
            waited = monotonic() - since
            if self.client.status != "running" and waited > min(_RECONNECT, self.timeout):
                raise ClusterError(f"{self}: the connection to the scheduler is lost")
            if waited > self.timeout:
                raise TimeoutError


class OnDask:
    """Shards as futures of a cluster: a query runs one task per shard, on its worker. Dask recomputes lost shards."""

    def __init__(self, cluster: Cluster, shards: Sequence[Future], source: Future) -> None:
        """`source`: the expensive object that all shards are made from; it is kept with them."""
        self.cluster, self.shards, self._source = cluster, list(shards), source
        self.here: Sequence[Any] = ()
        self._shared: WeakSet[Future] = WeakSet()  # weak references, since futures of callers may outlive this object

    def __len__(self) -> int:
        return len(self.shards)

    def share(self, value: Any) -> Any:
        future = self.cluster.share(value)
        self._shared.add(future)
        return future

    def total(
        self,
        question: Callable[..., Answer],
        merge: Callable[[list[Answer]], Answer],
        *arguments: Any,
        first: tuple[Any, ...] = (),
    ) -> Answer:
        n = len(self.shards)
        if n == 0:
            raise InputError(LET_GO)
        each = [[argument] * n for argument in arguments] + [[argument] + [None] * (n - 1) for argument in first]
        tasks = self.cluster.map(partial(_ask, question), range(n), self.shards, *each, name=question.__name__)
        last = self.cluster.merged(merge, tasks)
        try:
            answer: Answer = self.cluster.result(last, tasks)
            return answer
        finally:
            # This also runs after an interrupt. Workers drop tasks that have not begun and forget all others.
            release([last, *tasks])

    def release(self) -> None:
        release([*self.shards, self._source, *self._shared])
        self.shards = []


def release(futures: Sequence[Future]) -> None:
    for future in futures:
        future.release()


def named_errors(k: int, work: Callable[..., Answer], *arguments: Any) -> Answer:
    """Call work(*arguments); errors in the input name the partition."""
    try:
        return work(*arguments)
    except InputError as error:
        raise InputError(f"partition {k}: {error}") from None


def _ask(question: Callable[..., Answer], k: int, shard: Shard, *arguments: Any) -> Answer:
    with shard.at_work():
        return named_errors(k, question, shard, *map(_aligned, arguments))


def _aligned(value: Any) -> Any:
    """The same value with aligned arrays: arrays in a message may be unaligned, which the core cannot read."""
    if type(value) is tuple:
        return tuple(map(_aligned, value))
    return np.require(value, requirements="A") if isinstance(value, np.ndarray) else value


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppresses Dask's warning about large tasks: weights are sent with a task on purpose."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        yield
