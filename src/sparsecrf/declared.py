"""Declarations of options, made once for the command line, the checks and the manual. `cli/options.py` converts them
for Typer. This module imports nothing, because `label` must start quickly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsecrf.compatibility import Capabilities


class Declared:
    """An option or, without names, an argument of a command. Its type and default come from the parameter or field that
    it annotates."""

    def __init__(
        self,
        help: str,
        *names: str,
        metavar: str | None = None,
        min: float | None = None,
        max: float | None = None,
        choices: tuple[str, ...] = (),
        panel: str | None = None,
        parse: Callable[[Any], Any] | None = None,
        capabilities: Capabilities | None = None,
    ) -> None:
        """`choices`: the allowed values; the command rejects others. `panel`: the section of the help. `parse` converts
        the typed text to a value. `capabilities`: the capabilities of a run in which the option differs from its
        default."""
        self.help, self.names, self.metavar, self.panel = help, names, metavar, panel
        self.min, self.max, self.choices = min, max, choices
        self.parse, self.capabilities = parse, capabilities


THREADS = Declared("Number of threads (0 for all cores).", "--threads", metavar="N", min=0, max=1024)
