"""Interrupts that Python drops because they arrive while an object is finalized (`__del__`, as in Dask's futures)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class LostInterrupt:
    """An interrupt that was dropped."""

    is_pending: bool = False

    def raise_again(self) -> None:
        if self.is_pending:
            self.is_pending = False
            raise KeyboardInterrupt


@contextmanager
def finding_lost_interrupts() -> Iterator[LostInterrupt]:
    """Record an interrupt that Python drops in this block, so that it can be raised again. Only the main thread
    receives interrupts."""
    lost, before = LostInterrupt(), sys.unraisablehook
    if threading.current_thread() is not threading.main_thread():
        yield lost
        return

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            lost.is_pending = True
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield lost
    finally:
        sys.unraisablehook = before
