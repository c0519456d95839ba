"""Writes figures to files, and checks before training begins that this is possible."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsecrf._core import InputError
from sparsecrf.files.atomic import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Allowed suffixes, and the metadata that would otherwise differ between runs (dates).
FORMATS: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".png": {}, ".pdf": {"CreationDate": None}}
DPI = 300  # resolution of .png files, and of large heat maps in other formats

#: Use fixed identifiers, keep text as text, and embed TrueType fonts, since publishers reject Type 3 fonts.
_RC: Any = {"svg.hashsalt": "sparsecrf", "svg.fonttype": "none", "pdf.fonttype": 42}


def check_matplotlib() -> None:
    """Raise an error if matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise InputError("plots need the package matplotlib: pip install 'sparsecrf[plot]'")


def check_plot(file: str | os.PathLike[str]) -> None:
    """Reject a file that cannot be written, before training begins."""
    suffix = Path(file).suffix
    if suffix.lower() not in FORMATS:
        raise InputError(
            f"{os.fspath(file)}: expected a name that ends in {', '.join(FORMATS)}, found {suffix or 'no ending'!r}"
        )
    check_matplotlib()


def save_figure(figure: Figure, file: str | os.PathLike[str]) -> None:
    """Write a figure atomically; the suffix determines the format. The same figure gives the same bytes."""
    check_plot(file)
    write_atomically(file, rendered(figure, Path(file).suffix.lower()))


def rendered(figure: Figure, suffix: str) -> bytes:
    """The content of a file of this format."""
    import matplotlib

    data = BytesIO()
    with matplotlib.rc_context(_RC), _as_it_was(figure):
        figure.savefig(data, format=suffix[1:], dpi=DPI, metadata=FORMATS[suffix])
    return data.getvalue()


@contextmanager
def _as_it_was(figure: Figure) -> Iterator[None]:
    """Restores the positions of the axes. A layout starts from the previous one, so the next file would otherwise
    differ."""
    before = [(ax, ax.get_position(original=True), ax.get_position(), ax.get_in_layout()) for ax in figure.axes]
    try:
        yield
    finally:
        for ax, original, active, in_layout in before:
            ax.set_position(original, which="original")
            ax.set_position(active, which="active")
            ax.set_in_layout(in_layout)
