"""Handles Ctrl-C and warnings in long-running commands."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sparsecrf.interrupts import LostInterrupt, finding_lost_interrupts
from sparsecrf.progress import say


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Print warnings in the style of the program's other messages."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"sparsecrf: warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def stopping() -> Iterator[LostInterrupt]:
    """Let the first Ctrl-C end training, and the next one end the program."""
    before = signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        say("\nstopping and saving the result so far; press Ctrl-C again to quit at once")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        with finding_lost_interrupts() as lost:
            yield lost
    finally:
        signal.signal(signal.SIGINT, before)
