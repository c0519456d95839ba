"""Files that are whole or not there: whatever happens, a reader finds the old content or the new one."""

from __future__ import annotations

import errno
import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

#: What only writing fails with. (Windows has no quotas by that name.)
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to. At the end it is on the disk under another name, then takes the place of the old file.

    What is neither a file nor free to become one (a pipe, a device) is written to directly.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.exists() and not target.is_file():
        with open(target, "wb") as file:
            yield file
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
            error.filename = os.fspath(path)  # the error of a full disk names no file
        raise
    _sync_directory(target.parent)


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` into the file, whole or not at all."""
    with replacing(path) as file:
        file.write(data)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what a process that was killed while writing this file has left behind."""
    target = Path(os.path.realpath(path))
    for name in target.parent.glob(f".{glob.escape(target.name)}.????????.tmp"):
        with suppress(OSError):
            name.unlink()


def _sync_directory(directory: Path) -> None:
    """The new name is on the disk too. Windows has no such call and needs none."""
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
