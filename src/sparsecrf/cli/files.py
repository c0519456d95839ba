"""What the commands that read data share: options, and files that are checked before work begins."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sparsecrf._core import InputError

if TYPE_CHECKING:
    from sparsecrf.cli.progress import Advance
    from sparsecrf.features.template import Template
    from sparsecrf.io.encode import Encoded
    from sparsecrf.vocabulary import Vocabulary

FORMATS = ("columns", "crfsuite")


def format_of(name: str, asked: str | None) -> str:
    """The format of a data file: what was asked for, or what its name says."""
    if asked is not None and asked not in FORMATS:
        raise InputError(f"--format: expected {' or '.join(FORMATS)}, found {asked!r}")
    return asked or ("crfsuite" if name.endswith(".crfsuite") else "columns")


def check_readable(*names: str | None) -> None:
    """Raise for files that cannot be opened, before anything else is done."""
    for name in names:
        if name is not None and name != "-":
            if os.path.isdir(name):
                raise InputError(f"{name}: expected a file, found a directory")
            with open(name, "rb"):
                pass


def check_writable(*names: str | None) -> None:
    """Raise for files that cannot be made, before anything else is done."""
    for name in names:
        if name is None or name == "-":
            continue
        target = Path(os.path.realpath(name))
        if target.is_dir():
            raise InputError(f"{name}: expected the name of a file, found a directory")
        if not target.parent.is_dir():
            raise InputError(f"{name}: expected a directory {str(target.parent)!r} to write to, found none")
        if not os.access(target.parent, os.W_OK) and not target.exists():
            raise InputError(f"{name}: expected a directory that can be written to, found one that cannot")


def total_bytes(names: Sequence[str]) -> int | None:
    """Size of all files together; None where one of them is a pipe."""
    total = 0
    for name in names:
        if name == "-":
            return None
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total


def encode(
    names: Sequence[str],
    kind: str,
    vocabulary: Vocabulary,
    template: Template | None,
    *,
    advance: Advance,
    n_columns: int = 0,
    grow: bool = False,
    missing: str = "",
) -> Encoded:
    """Read labelled files of one of FORMATS."""
    from sparsecrf.io.encode import encode_columns, encode_crfsuite

    if kind == "crfsuite":
        if template is not None:
            raise InputError("--template: expected none for CRFsuite files, which have attributes of their own")
        return encode_crfsuite(names, vocabulary, grow=grow, missing=missing, progress=advance)
    return encode_columns(
        names, vocabulary, template, n_columns=n_columns, grow=grow, missing=missing, progress=advance
    )
