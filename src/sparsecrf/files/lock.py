"""A lock that one process holds at a time while others wait. The system releases the lock when its process ends,
however it ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_RETRY_S = 0.2


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of this file. The file exists as long as a process holds the lock."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _wait(handle)
            # The previous holder may have removed the file: then lock the new one, as other processes do.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    break
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows cannot remove an open file
            path.unlink()
        os.close(handle)


def _wait(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        while True:
            with suppress(OSError):
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                return
            time.sleep(_RETRY_S)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
