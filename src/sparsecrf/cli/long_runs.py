"""What a command that runs for long does about Ctrl-C and about warnings."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sparsecrf.progress import say


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Warnings are lines like the others that the program writes."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"sparsecrf: warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@dataclass
class LostInterrupt:
    """An interrupt that Python dropped: it came while an object was finalized (`__del__`, as Dask's futures have)."""

    is_pending: bool = False

    def raise_again(self) -> None:
        if self.is_pending:
            self.is_pending = False
            raise KeyboardInterrupt


@contextmanager
def stopping() -> Iterator[LostInterrupt]:
    """The first Ctrl-C ends training, the next one the program."""
    before, hook_before, lost = signal.getsignal(signal.SIGINT), sys.unraisablehook, LostInterrupt()

    def stop(*_: object) -> None:
        say("\nstopping and saving the result so far; press Ctrl-C again to quit at once")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        raise KeyboardInterrupt

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            lost.is_pending = True
        else:
            hook_before(dropped)

    signal.signal(signal.SIGINT, stop)
    sys.unraisablehook = hook
    try:
        yield lost
    finally:
        sys.unraisablehook = hook_before
        signal.signal(signal.SIGINT, before)
