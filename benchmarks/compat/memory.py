"""Peak memory of `Trainer` in its own process: python-crfsuite or `sparsecrf.contrib.compat`.

    python benchmarks/compat/memory.py sparsecrf|pycrfsuite [--c1 0] [--c2 1] [--iterations 25] [--sentences 8000]

CoNLL-2000 ($SPARSECRF_DATA) as mappings of 19 attributes, appended one sentence at a time. Only the trainer is
imported, so that the figures are those of a minimal program. Prints megabytes as JSON: before the first sentence, after
the last one, and the peak until the model was written.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import tempfile
from collections.abc import Iterator
from typing import Any

Rows = list[list[str]]


def attributes(rows: Rows, t: int) -> dict[str, str]:
    """Words and tags in a window of five, pairs and triples of them, as in CRF++'s chunking example."""

    def at(offset: int, column: int) -> str:
        return rows[t + offset][column] if 0 <= t + offset < len(rows) else f"edge{offset}"

    made = {f"w[{k}]": at(k, 0) for k in range(-2, 3)} | {f"pos[{k}]": at(k, 1) for k in range(-2, 3)}
    made |= {f"w[{k}]|w[{k + 1}]": f"{at(k, 0)}|{at(k + 1, 0)}" for k in (-1, 0)}
    made |= {f"pos[{k}]|pos[{k + 1}]": f"{at(k, 1)}|{at(k + 1, 1)}" for k in range(-2, 2)}
    return made | {f"pos[{k}]|..": f"{at(k, 1)}|{at(k + 1, 1)}|{at(k + 2, 1)}" for k in (-2, -1, 0)}


def sentences(n: int) -> Iterator[tuple[list[dict[str, str]], list[str]]]:
    path = pathlib.Path(os.environ.get("SPARSECRF_DATA", "../shared/data")) / "conll2000" / "train.txt"
    rows: Rows = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if cells := line.split():
                rows.append(cells)
            elif rows and n > 0:
                yield [attributes(rows, t) for t in range(len(rows))], [row[-1] for row in rows]
                rows, n = [], n - 1


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6  # Linux: kilobytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", choices=["sparsecrf", "pycrfsuite"])
    parser.add_argument("--c1", type=float, default=0.0)
    parser.add_argument("--c2", type=float, default=1.0)
    parser.add_argument("--iterations", type=int, default=25)
    parser.add_argument("--sentences", type=int, default=8000)
    options = parser.parse_args()
    made: Any
    if options.tool == "sparsecrf":
        from sparsecrf.contrib.compat import Trainer

        made = Trainer(verbose=False)
    else:
        import pycrfsuite

        made = pycrfsuite.Trainer(verbose=False)
    made.set_params({"c1": options.c1, "c2": options.c2, "max_iterations": options.iterations})
    found = {"tool": options.tool, "c1": options.c1, "start_mb": peak_mb()}
    for tokens, labels in sentences(options.sentences):
        made.append(tokens, labels)
    found["appended_mb"] = peak_mb()
    with tempfile.TemporaryDirectory() as folder:
        made.train(os.path.join(folder, "model"))
    found["peak_mb"] = peak_mb()
    print(json.dumps({name: round(value) if name.endswith("_mb") else value for name, value in found.items()}))


if __name__ == "__main__":
    main()
