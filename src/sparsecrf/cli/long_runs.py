"""What a command that runs for long does about Ctrl-C and about warnings."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sparsecrf.progress import say


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Warnings are lines like the others that the program writes."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"sparsecrf: warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def stopping() -> Iterator[Callable[[], None]]:
    """The first Ctrl-C ends training, the next one the program.

    Python prints and drops an interrupt that comes while an object is finalized (`__del__`, as Dask's futures have):
    the function that is given raises it again.
    """
    before, hook_before, lost = signal.getsignal(signal.SIGINT), sys.unraisablehook, False

    def stop(*_: object) -> None:
        say("\nstopping, and saving what there is; once more to give up")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        raise KeyboardInterrupt

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        nonlocal lost
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            lost = True
        else:
            hook_before(dropped)

    def check() -> None:
        nonlocal lost
        if lost:
            lost = False
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    sys.unraisablehook = hook
    try:
        yield check
    finally:
        sys.unraisablehook = hook_before
        signal.signal(signal.SIGINT, before)
