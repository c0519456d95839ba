"""The command `sparsecrf`, and `python -m sparsecrf`: the program, or why it cannot be loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the program. The core does not load with a wrong SPARSECRF_ISA, nor anything with too little memory."""
    try:
        from sparsecrf.cli import main as run
    except (ImportError, MemoryError) as error:
        sys.exit(f"sparsecrf: {str(error) or 'expected enough memory, found too little'}")
    run()


if __name__ == "__main__":
    main()
