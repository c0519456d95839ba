"""The command `sparsecrf`, and `python -m sparsecrf`: the program, or why it cannot be loaded."""

from __future__ import annotations

import os
import signal
import sys

#: The end of a session (SIGHUP, which Windows does not have) and `kill` are a Ctrl-C.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_INTERRUPTED = 130


def main() -> None:
    """Run the program. The core does not load with a wrong SPARSECRF_ISA, nor anything with too little memory."""
    # Nothing is worth saving while modules are imported, and an exception in the middle of an import would be printed.
    on_interrupt(lambda *_: os._exit(_INTERRUPTED))
    try:
        from sparsecrf.cli import main as run
    except (ImportError, MemoryError, SystemError) as error:  # the last: Python, out of memory while it compiles
        sys.exit(f"sparsecrf: {str(error) or 'out of memory'}")
    run()


def on_interrupt(handler: signal._HANDLER) -> None:
    """What is done from now on when the program is to end."""
    for number in _SIGNALS:
        # nohup, and shells for what runs in the background, have signals ignored: that stays so.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def interrupt(*_: object) -> None:
    """A handler: what was asked to be saved is saved."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
