"""Shows the progress of training along a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sparsecrf.progress import progress


@contextmanager
def path_progress(n_rho: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yields the callback for the fits of a path of `n_rho` values of rho1; each fit begins with iteration 0."""
    with progress("path", n_rho) as advance:

        def callback(record: dict[str, Any]) -> None:
            active = int(record["active_unigram"]) + int(record["active_bigram"])
            note = f"{active:,} active weights, objective {record['objective']:,.0f}"
            advance(1 if record["iter"] == 0 else 0, note)

        yield callback
