"""The command `sparsecrf`, and `python -m sparsecrf`: starts the program, or reports why it cannot be loaded."""

from __future__ import annotations

import os
import signal
import sys

#: Ctrl-C, `kill`, and the end of a session (SIGHUP, which Windows does not have) all have the same effect.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
INTERRUPTED = 130  #: the exit status of an interrupted command, even if it saved its result so far


def main() -> None:
    """Run the program. Importing fails if SPARSECRF_ISA is wrong or memory runs out."""
    # While modules are being imported, there is nothing to save, and an exception would print a traceback.
    on_interrupt(lambda *_: os._exit(INTERRUPTED))
    try:
        from sparsecrf.cli import main as run
    except (ImportError, MemoryError, SystemError) as error:  # SystemError: Python ran out of memory while compiling
        sys.exit(f"sparsecrf: {str(error) or 'out of memory'}")
    run()


def on_interrupt(handler: signal._HANDLER) -> None:
    """Install handlers for the signals that end the program."""
    for number in _SIGNALS:
        # Leave signals ignored if nohup, or the shell for a background job, ignores them.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def interrupt(*_: object) -> None:
    """A signal handler that lets the program save its result."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
