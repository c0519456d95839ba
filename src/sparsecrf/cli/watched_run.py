"""The user interface of a training run: progress, log, and Ctrl-C."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.cli.long_runs import stopping
from sparsecrf.cli.train_report import as_json
from sparsecrf.options import FitOptions
from sparsecrf.progress import note, progress
from sparsecrf.training import Fit


class WatchedRun:
    """A training run that shows its progress, writes its log, and keeps its result after the first Ctrl-C."""

    def __init__(self, log: str | None, fitting: FitOptions, *, quiet: bool) -> None:
        self._log, self._quiet = log, quiet
        self._resumes = fitting.resume and fitting.checkpoint is not None and os.path.exists(fitting.checkpoint)
        self._open = ExitStack()

    def __enter__(self) -> WatchedRun:
        with ExitStack() as stack:
            self._lost = stack.enter_context(stopping())
            self.advance = stack.enter_context(progress("training", None, quiet=self._quiet))
            self._write = stack.enter_context(Log(self._log, self._resumes))
            self._open = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def record(self, record: dict[str, Any]) -> None:
        """Record an iteration of the run."""
        self._write(record)
        self.beat(note(record))

    def beat(self, doing: str) -> None:
        """Show what the run is doing."""
        self.advance(note=doing)
        self._lost.raise_again()

    def ended(self, found: Fit) -> Fit:
        """The result, marked as interrupted if an interrupt came after the last iteration."""
        return replace(found, stopped_by="interrupt") if self._lost.is_pending else found

    @property
    def log_error(self) -> OSError | None:
        """The error that ended the log early. It does not end training."""
        return self._write.error


class Log:
    """A file of JSON objects, one per line, written as the run proceeds. A path of None means no file. A resumed run
    appends to its file."""

    def __init__(self, path: str | None, resume: bool) -> None:
        self.error: OSError | None = None  # the error that ended the log early
        self._next = 0  # first iteration that is not in the file yet
        if path is not None and resume and os.path.isfile(path):
            self._next, length = _logged(path)
            os.truncate(path, length)
        self._file = None if path is None else open(path, "a" if self._next else "w", encoding="utf-8")  # noqa: SIM115

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def __call__(self, record: dict[str, Any]) -> None:
        if self._file is None or record["iter"] < self._next:
            return
        try:
            print(as_json(record), file=self._file, flush=True)
        except OSError as error:  # a full disk must not prevent saving the model
            self.error, self._file = error, None


def _logged(path: str) -> tuple[int, int]:
    """The iteration after the last one in a log, and the length in bytes of its complete lines.

    A full disk or a power cut may have left part of a line at the end.
    """
    n, length = 0, 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                n = max(n, 1 + int(json.loads(line)["iter"]))
            except (ValueError, TypeError, LookupError, OverflowError):
                raise InputError(
                    f"{path}, line {number}: expected a JSON record of the log, found {line[:40]!r}"
                ) from None
            length += len(line)
    return n, length
