"""`python -m sparsecrf` is the command `sparsecrf`."""

from sparsecrf.cli import main

if __name__ == "__main__":
    main()
