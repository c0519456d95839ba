"""Answers queries about many sequences, in blocks on several threads. Blocks do not depend on the number of threads."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, NamedTuple

from sparsecrf._core import InputError

#: Tokens in a block that is labelled without a corpus: few enough for the encoder to keep all of them as text.
QUICK_TOKENS = 2048
#: Tokens in a block that becomes a separate corpus.
CORPUS_TOKENS = 1 << 16

_NUMBER = re.compile(r"^sequence (\d+)")


class Block(NamedTuple):
    """Consecutive sequences."""

    first: int  #: number of the first sequence
    sequences: list[Any]


def blocks_of(sequences: Iterable[Any], size: int) -> Iterator[Block]:
    """Blocks of at least `size` tokens, except for the last."""
    block, first, tokens = list[Any](), 0, 0
    for sequence in sequences:
        block.append(sequence)
        tokens += len(sequence)
        if tokens >= size:
            yield Block(first, block)
            block, first, tokens = [], first + len(block), 0
    if block:
        yield Block(first, block)


def in_blocks(
    sequences: Iterable[Any], size: int, answer: Callable[[list[Any]], list[Any]], n_threads: Callable[[], int]
) -> Iterator[Any]:
    """The answers for all sequences, in order. Errors refer to a sequence by its overall number.

    `n_threads` returns the number of threads and is called if there is more than one block. This thread reads the
    blocks, since the sequences may come from a generator; other threads compute the answers.
    """

    def answered(block: Block) -> list[Any]:
        try:
            return answer(block.sequences)
        except InputError as error:
            shifted = _NUMBER.sub(lambda match: f"sequence {int(match[1]) + block.first}", str(error))
            raise type(error)(shifted) from None

    blocks = blocks_of(sequences, size)
    some = list(islice(blocks, 2))
    threads = n_threads() if len(some) > 1 else 1
    if threads == 1:
        for block in chain(some, blocks):
            yield from answered(block)
        return
    waiting = deque[Future[list[Any]]]()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for block in chain(some, blocks):
                waiting.append(pool.submit(answered, block))
                if len(waiting) > 2 * threads:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
