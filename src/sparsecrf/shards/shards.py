"""A corpus in shards, in this process or elsewhere. Everything that an objective needs from the data is a sum or a
union over shards.

A query is a function of one shard. It goes to every shard, and the answers are merged, FAN_IN at a time and always in
the order of the shards, in a tree that depends only on the number of shards. So the last bits of the sums do not depend
on where or when a shard is processed. A corpus in memory is a single shard, and its answers are passed on unchanged.

In a pass, only the weights of the working set are sent to the shards, and their gradient comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from itertools import pairwise, starmap
from threading import Lock, Thread
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sparsecrf._core import Corpus, InputError
from sparsecrf._core import Oracle as CompiledOracle
from sparsecrf.lazy import lazy
from sparsecrf.shards.protocol import Floats, Numbers, Oracle, OracleFactory

Answer = TypeVar("Answer")

LET_GO = "shards: expected shards in memory, found released ones"

#: Number of answers that are merged at a time. The last bits of results depend on it.
FAN_IN = 8


class Shard:
    """One part of the data, in the process that works on it."""

    def __init__(
        self,
        open: Callable[[], Corpus],
        *,
        keep: bool = True,
        keep_tables: bool = True,
        threads: int = 0,
        kernel: str = "auto",
        n_bytes: int = 0,
        make_oracle: OracleFactory | None = None,
    ) -> None:
        """`open` returns the corpus. With `keep`, the corpus and its oracle stay in memory between queries; with
        `keep_tables`, so do the oracle's tables, which speed up the next query of the same kind. `make_oracle` is the
        class of the oracle, by default the compiled one."""
        self._open, self._keep, self.threads, self._kernel, self._n_bytes = open, keep, threads, kernel, n_bytes
        self._make_oracle, self._keep_tables = make_oracle, keep_tables
        self._oracle: Oracle | None = None
        self._corpus: Corpus | None = None
        self._ahead: Future[tuple[Corpus, Oracle]] | None = None  # the prefetched corpus and oracle
        self.following: Shard | None = None  #: the shard to prefetch while this one is processed
        self._lock = Lock()

    @classmethod
    def of(cls, corpus: Corpus, *, threads: int = 0, kernel: str = "auto") -> Shard:
        return cls(partial(itself, corpus), threads=threads, kernel=kernel, n_bytes=corpus.n_bytes)

    @contextmanager
    def at_work(self) -> Iterator[Shard]:
        """Lock the shard for one query; its corpus and oracle stay loaded until the block ends."""
        with self._lock:
            try:
                yield self
            finally:
                if not self._keep:
                    self._oracle = self._corpus = None
                elif self._oracle is not None and not self._keep_tables:
                    self._oracle.release_tables()

    @property
    def stays(self) -> bool:
        """Whether the corpus of the shard stays in memory between queries."""
        return self._keep

    @property
    def has_tables(self) -> bool:
        """Whether the shard keeps an oracle, which may hold memory for its next query."""
        return self._oracle is not None

    @property
    def corpus(self) -> Corpus:
        if self._corpus is None:
            self._corpus = self._open() if self._ahead is None else self._prepared()[0]
        return self._corpus

    @property
    def oracle(self) -> Oracle:
        return self._prepared()[1] if self._oracle is None else self._oracle

    def get_ready(self) -> None:
        """Start loading the corpus and the oracle on a separate thread, unless they are loaded. The next query waits
        until both are loaded."""
        if self._oracle is None and self._ahead is None:
            self._ahead = Future()
            try:
                Thread(target=_fulfil, args=(self._ahead, self._made), daemon=True).start()
            # no more threads are available, so the query will load the corpus and the oracle itself
            except RuntimeError:
                self._ahead = None

    def _prepared(self) -> tuple[Corpus, Oracle]:
        ahead, self._ahead = self._ahead, None
        self._corpus, self._oracle = made = self._made() if ahead is None else ahead.result()
        following = self.following
        if following is not None:
            following.get_ready()
        return made

    def _made(self) -> tuple[Corpus, Oracle]:
        corpus = self._corpus
        corpus = self._open() if corpus is None else corpus
        return corpus, (self._make_oracle or CompiledOracle)(corpus, self.threads, self._kernel)

    def __reduce__(self) -> tuple[Any, ...]:
        how: dict[str, Any] = {
            "keep": self._keep,
            "keep_tables": self._keep_tables,
            "threads": self.threads,
            "kernel": self._kernel,
            "n_bytes": self._n_bytes,
            "make_oracle": self._make_oracle,
        }
        return partial(Shard, **how), (self._open,)

    def __sizeof__(self) -> int:
        # Schedulers use this to decide whether to move an object: a shard is as large as its corpus.
        return object.__sizeof__(self) + self._n_bytes


def itself(value: Answer) -> Answer:
    """Return the value: a task whose result is already known."""
    return value


def _fulfil(promise: Future[Answer], make: Callable[[], Answer]) -> None:
    try:
        promise.set_result(make())
    except BaseException as error:
        promise.set_exception(error)


@contextmanager
def _in_turn(shards: Sequence[Shard]) -> Iterator[None]:
    """Within this context, a shard that is read for a query prefetches the next one."""
    try:
        for shard, following in pairwise(shards):
            shard.following = following
        yield
    finally:
        for shard in shards:
            left, shard.following, shard._ahead = shard._ahead, None, None
            if left is not None:  # a prefetch left by an interrupted query; only one is in memory at a time
                wait([left])


class Workers(Protocol):
    """The processes that hold shards and answer queries."""

    #: Shards in this process; empty on a cluster.
    here: Sequence[Shard]

    def __len__(self) -> int:
        """The number of shards."""

    def share(self, value: Any) -> Any:
        """A handle to a large value, to be passed to queries instead of the value so that it is sent only once."""

    def total(
        self,
        question: Callable[..., Answer],
        merge: Callable[[list[Answer]], Answer],
        *arguments: Any,
        first: tuple[Any, ...] = (),
    ) -> Answer:
        """The merged answers of question(shard, *arguments), each computed while the shard is `at_work`. The first
        shard also gets the arguments `first`."""

    def release(self) -> None:
        """Release the shards: no more queries will follow."""


class InProcess:
    """Shards in this process, queried one after the other."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.here = shards

    def __len__(self) -> int:
        return len(self.here)

    def share(self, value: Any) -> Any:
        return value

    def total(
        self,
        question: Callable[..., Answer],
        merge: Callable[[list[Answer]], Answer],
        *arguments: Any,
        first: tuple[Any, ...] = (),
    ) -> Answer:
        if not self.here:
            raise InputError(LET_GO)

        def answer(k: int, shard: Shard) -> Answer:
            with shard.at_work():
                return question(shard, *arguments, *(first if k == 0 else ()))

        with _in_turn(self.here):
            return merge_tree(merge, starmap(answer, enumerate(self.here)))

    def release(self) -> None:
        self.here = ()


def merge_tree(merge: Callable[[list[Answer]], Answer], answers: Iterable[Answer]) -> Answer:
    """Merge all answers: consecutive groups of FAN_IN, then groups of the results, and so on.

    Answers are merged as they arrive, so that at most FAN_IN answers of each level wait. A group of one stays as it is.
    """
    levels: list[list[Answer]] = [[]]
    for answer in answers:
        levels[0].append(answer)
        for k, group in enumerate(levels):
            if len(group) < FAN_IN:
                break
            if k + 1 == len(levels):
                levels.append([])
            levels[k + 1].append(merge(group))
            levels[k] = []
    rest: list[Answer] = []
    for group in levels:
        waiting = group + rest
        rest = [merge(waiting)] if len(waiting) > 1 else waiting
    return rest[0]


# ---- Merging


def add(answers: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Add the tuples of all answers element by element, from the first answer to the last."""
    sums = [left + right for left, right in zip(answers[0], answers[1], strict=True)]
    for answer in answers[2:]:
        for k, right in enumerate(answer):
            sums[k] += right
    return tuple(sums)


class Sparse(NamedTuple):
    """Sums by key, for keys that occur in few shards."""

    keys: Numbers  #: ascending
    values: Floats  #: [n, K]


def unite(answers: list[Sparse]) -> Sparse:
    """The union of the keys, with the sums of their values from the first answer to the last."""
    keys = np.unique(np.concatenate([answer.keys for answer in answers]))
    values = np.zeros((len(answers[0].values), len(keys)))
    for answer in answers:
        values[:, np.searchsorted(keys, answer.keys)] += answer.values
    return Sparse(keys, values)


# ---- Properties of shards


class Extent(NamedTuple):
    """The size of a corpus."""

    n_labels: int
    n_attributes: int
    n_sequences: int
    n_tokens: int
    n_missing: int  #: number of tokens whose label is unknown: missing, or one of a set
    n_free: int  #: number of tokens that may have any label


def extent(shard: Shard) -> Extent:
    c = shard.corpus
    n_missing = int((c.labels < 0).sum())
    return Extent(c.n_labels, c.n_attributes, c.n_sequences, c.n_tokens, n_missing, c.n_free)


def one_extent(answers: list[Extent]) -> Extent:
    names = {(answer.n_labels, answer.n_attributes) for answer in answers}
    if len(names) > 1:
        raise InputError(f"shards: expected the same numbers of labels and attributes in all, found {sorted(names)}")
    return Extent(*names.pop(), *(sum(counts) for counts in list(zip(*answers, strict=True))[2:]))


def fingerprints(shard: Shard) -> list[int]:
    return [shard.corpus.fingerprint]


def one_after_the_other(answers: list[list[Any]]) -> list[Any]:
    return [item for answer in answers for item in answer]


class Shards:
    """A corpus in shards. `workers` hold the shards."""

    def __init__(self, workers: Workers) -> None:
        if len(workers) == 0:
            raise InputError("shards: expected at least one, found none")
        self.workers = workers
        self.extent = workers.total(extent, one_extent)
        self.n_labels, self.n_attributes, self.n_sequences, self.n_tokens = self.extent[:4]
        self.n_missing, self.n_free = self.extent[4:]

    @classmethod
    def in_process(cls, opens: Iterable[Callable[[], Corpus]], *, threads: int = 0, n_kept: int = 0) -> Shards:
        """Shards in this process, each opened when it is needed. The first `n_kept` stay in memory. All others are
        released after each query; they need the memory of the two largest, since the next shard is prefetched during a
        query."""
        make = partial(Shard, keep_tables=False, threads=threads)  # tables of all shards together would be too large
        return cls(InProcess([make(open, keep=k < n_kept) for k, open in enumerate(opens)]))

    @lazy
    def fingerprint(self) -> int:
        """A hash of all shards in their order; with one shard, the hash of its corpus."""
        found = self.workers.total(fingerprints, one_after_the_other)
        if len(found) == 1:
            return int(found[0])
        text = b"".join(number.to_bytes(8, "big") for number in found)
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")

    def release(self) -> None:
        """Release the shards; their `extent` remains known."""
        self.workers.release()


def shards_of(data: Corpus | Shards, threads: int = 0, kernel: str = "auto") -> Shards:
    """Return shards unchanged; a corpus becomes a single shard with these threads and this kernel."""
    return data if isinstance(data, Shards) else Shards(InProcess([Shard.of(data, threads=threads, kernel=kernel)]))
