"""The command line: `sparsecrf COMMAND`. Each command is in its own file, which imports most modules only when it
runs.

`label` starts without the parser of the other commands (`quick.py`), because importing that parser takes longer than
labelling a sentence.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from functools import partial
from typing import Any

from sparsecrf.__main__ import INTERRUPTED, interrupt, on_interrupt
from sparsecrf._core import InputError
from sparsecrf.compatibility import OptionError
from sparsecrf.progress import say


def __getattr__(name: str) -> Any:
    if name == "app":
        from sparsecrf.cli.commands import app

        return app
    raise AttributeError(f"module 'sparsecrf.cli' has no attribute {name!r}")


def main() -> None:
    """Run the program. Exit status: 0 for success, 1 for an error in input or files, 2 for a usage error, 130 if
    interrupted."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name that cannot be printed must not end the program
    try:
        try:
            from sparsecrf.cli.quick import quick_call

            call = quick_call(sys.argv[1:])
            if call is None:
                from sparsecrf.cli.commands import app

                call = partial(app, prog_name="sparsecrf")
            on_interrupt(interrupt)
            call()
            sys.exit(0)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # may fail on a full disk; at exit, a failure could no longer change the status
    except OSError as error:
        _drop_output()
        where = f"{error.filename}: " if error.filename is not None else ""
        if not isinstance(error, BrokenPipeError):
            say(f"sparsecrf: {where}{error.strerror or error}")
        sys.exit(1)
    except OptionError as error:
        say(f"sparsecrf: {error.as_typed()}")
        sys.exit(2)
    except InputError as error:
        hint = "; give its --encoding" if ": expected text in UTF-8, found byte" in str(error) else ""
        say(f"sparsecrf: {error}{hint}")
        sys.exit(1)
    except (MemoryError, RuntimeError, ImportError) as error:
        said = _of_memory(error)
        if said is None:
            raise
        say(f"sparsecrf: out of memory ({said})")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _of_memory(error: BaseException) -> str | None:
    """The message of an out-of-memory error; None for other errors. If a library cannot be loaded, the message has
    several lines."""
    if isinstance(error, MemoryError):
        return str(error) or "out of memory"
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if any(words in line for words in _WITHOUT_MEMORY)), None)


#: Messages of the system when there is too little memory to start a thread or to load a library.
_WITHOUT_MEMORY = ("new thread", "failed to map segment", "annot allocate memory", "cannot apply additional memory")


def _drop_output() -> None:
    """Discard output that could not be written, so that the interpreter does not try to write it again at exit."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
