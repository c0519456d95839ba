"""Shows the progress of long work on standard error: as a bar on a terminal, otherwise as plain lines.

In a notebook, one line changes in place, and other lines go to standard output, since notebooks show standard error in
red.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

LINE_EVERY_S = 2.0  # seconds between two plain lines, at first
_SHARE = 0.05  # later, the interval is this share of the elapsed time, so that an hour does not produce 1000 lines
_RENEW_EVERY_S = 0.2  # seconds between two changes of the line in a notebook


class Advance(Protocol):
    """A function that is called with the amount of work done since its last call, and a text to show."""

    def __call__(self, amount: float = 0, note: str = "") -> None: ...


def say(text: str | None, *, quiet: bool = False) -> None:
    """Print one line on standard error. Do nothing if there is no text, or if standard error is closed."""
    if text is None or quiet or sys.stderr is None:
        return
    if in_notebook():
        print(text, flush=True)
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Unwritten output would be flushed at exit and make the program fail.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


@contextmanager
def progress(what: str, total: float | None, *, quiet: bool = False) -> Iterator[Advance]:
    """Show the progress of `what`; `total` is None if the amount of work is unknown."""
    if quiet:
        yield lambda amount=0, note="": None
    elif in_notebook():
        line = _Line(what, total)
        yield line
        line.finish()
    elif sys.stderr is not None and sys.stderr.isatty():
        with _bar(total) as bar:
            task = bar.add_task(what, total=total, note="")
            yield lambda amount=0, note="": bar.update(task, advance=amount, note=note)
    else:
        lines = _Lines(what, total)
        with _repeated(lines.wait, LINE_EVERY_S / 2):
            yield lines
        lines.finish()


def _bar(total: float | None) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        *([BarColumn(bar_width=24), TaskProgressColumn()] if total is not None else []),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
        console=Console(stderr=True),
        transient=True,
    )


def in_notebook() -> bool:
    """Whether this process is a notebook kernel."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


@contextmanager
def _repeated(call: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `call` every `seconds` from a separate thread."""
    import threading

    done = threading.Event()

    def repeat() -> None:
        while not done.wait(seconds):
            call()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


class _Lines:
    _every_s, _share = LINE_EVERY_S, _SHARE

    def __init__(self, what: str, total: float | None) -> None:
        import threading

        self._what, self._total, self._done, self._note = what, total, 0.0, ""
        self._began = self._shown = time.monotonic()
        self._told = True  # whether nothing has arrived since the last line
        self._lock = threading.Lock()

    def __call__(self, amount: float = 0, note: str = "") -> None:
        with self._lock:
            self._done += amount
            self._note, self._told = note, False
            if self._is_time():
                self._line()

    def finish(self) -> None:
        """Print the final line if anything has arrived since the last line."""
        with self._lock:
            if not self._told:
                self._line()

    def wait(self) -> None:
        """Repeat the last line with the elapsed time if nothing has arrived for a while."""
        with self._lock:
            if self._is_time():
                self._line(f"({time.monotonic() - self._began:.0f} s)")

    def _is_time(self) -> bool:
        return time.monotonic() - self._shown >= max(self._every_s, self._share * (self._shown - self._began))

    def _line(self, more: str = "") -> None:
        self._shown, self._told = time.monotonic(), True
        share = f"{100 * self._done / self._total:3.0f} %" if self._total else ""
        self._show("  ".join(part for part in (self._what, share, self._note, more) if part))

    def _show(self, text: str) -> None:
        say(text)


class _Line(_Lines):
    """The line of a notebook, updated in place."""

    _every_s, _share = _RENEW_EVERY_S, 0.0

    def __init__(self, what: str, total: float | None) -> None:
        super().__init__(what, total)
        self._output: Any = None

    def _show(self, text: str) -> None:
        from IPython.display import display

        content = {"text/plain": text}
        if self._output is None:
            self._output = display(content, raw=True, display_id=True)
        else:
            self._output.update(content, raw=True)


def note(record: dict[str, Any]) -> str:
    """A line of text about one iteration."""
    from sparsecrf.tables import counted

    active = record["active_unigram"] + record["active_bigram"] + record.get("active_ngram", 0)
    parts = [f"iteration {record['iter']}"]
    if record["dev_error"] is not None:
        parts.append(f"dev error {record['dev_error']:.2f} %")
    parts += [f"objective {record['objective']:,.2f}", counted(active, "weight")]
    if record["kkt"] is not None:
        parts.append(f"KKT residual {record['kkt']:.1e}")
    return "  ".join(parts)
