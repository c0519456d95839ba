"""Checks options and files before work begins, for all commands that read data."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence

from sparsecrf._core import InputError
from sparsecrf.files.atomic import temporary_name


def check_readable(*names: str | None) -> None:
    """Reject files that cannot be opened, before work begins."""
    for name in names:
        if name is not None and name != "-":
            if os.path.isdir(name):
                raise InputError(f"{name}: expected a file, found a directory")
            with open(name, "rb"):
                pass


def check_writable(*names: str | None, inputs: Iterable[str | None] = ()) -> None:
    """Reject files that cannot be created, or that would replace an input, before work begins."""
    read = [name for name in inputs if name is not None and name != "-" and os.path.exists(name)]
    for name in names:
        if name is None:
            continue
        if name == "-":
            raise InputError("-: expected the name of a file to write, found standard output")
        target = os.path.realpath(name)
        directory, there = os.path.dirname(target), os.path.exists(target)
        if os.path.isdir(target):
            raise InputError(f"{name}: expected the name of a file, found a directory")
        if not os.path.isdir(directory):
            raise InputError(f"{name}: the directory {directory!r} does not exist")
        if there and any(os.path.samefile(name, other) for other in read):
            raise InputError(f"{name}: this file is also an input; write to another file")
        if there and not os.path.isfile(target):
            continue  # a device or a pipe
        try:  # create a file there, as `replacing` will do
            trial = temporary_name(target)
            open(trial, "xb").close()
            os.unlink(trial)
        except OSError as error:
            raise InputError(f"{name}: cannot be written: {error.strerror}") from None


def total_bytes(names: Sequence[str]) -> int | None:
    """Total size of all files; None if one of them is a pipe."""
    total = 0
    for name in names:
        if name == "-":
            return None
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total
