"""Atomic writes: a reader always finds either the old content or the new content."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

#: Errors that only writing can cause. (EDQUOT is not defined on every platform.)
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to write to. It is written under a temporary name, flushed to disk, then renamed over the old file.

    Pipes and devices are written to directly.
    """
    target = os.path.realpath(path)  # keep a symbolic link, and replace its target
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            yield file
        return
    temporary = temporary_name(target)
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
            error.filename = os.fspath(path)  # the error for a full disk contains no file name
        raise
    _sync_directory(os.path.dirname(target))


def temporary_name(target: str) -> str:
    """A temporary name in the directory of a file, for its new content."""
    directory, name = os.path.split(target)
    return os.path.join(directory, f".{name}.{os.urandom(4).hex()}.tmp")


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to the file, completely or not at all."""
    with replacing(path) as file:
        file.write(data)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove temporary files left by a process that was killed while it wrote this file."""
    import glob

    directory, name = os.path.split(os.path.realpath(path))
    for found in glob.glob(os.path.join(glob.escape(directory), f".{glob.escape(name)}.????????.tmp")):
        with suppress(OSError):
            os.unlink(found)


def _sync_directory(directory: str) -> None:
    """Flush the new name to disk, too. Windows does not support this and does not need it."""
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
