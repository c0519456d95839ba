"""Files that are whole or not there: whatever happens, a reader finds the old content or the new one."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

#: What only writing fails with. (Windows has no quotas by that name.)
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to. At the end it is on the disk under another name, then takes the place of the old file.

    What is neither a file nor free to become one (a pipe, a device) is written to directly.
    """
    target = os.path.realpath(path)  # a link stays a link
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
            error.filename = os.fspath(path)  # the error of a full disk names no file
        raise
    _sync_directory(os.path.dirname(target))


def temporary_name(target: str) -> str:
    """Another name in the directory of a file, for its new content."""
    directory, name = os.path.split(target)
    return os.path.join(directory, f".{name}.{os.urandom(4).hex()}.tmp")


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` into the file, whole or not at all."""
    with replacing(path) as file:
        file.write(data)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what a process that was killed while writing this file has left behind."""
    import glob

    directory, name = os.path.split(os.path.realpath(path))
    for found in glob.glob(os.path.join(glob.escape(directory), f".{glob.escape(name)}.????????.tmp")):
        with suppress(OSError):
            os.unlink(found)


def _sync_directory(directory: str) -> None:
    """The new name is on the disk too. Windows has no such call and needs none."""
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
