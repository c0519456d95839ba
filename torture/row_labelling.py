"""Random templates and weights: compares the labels of rows by merged sums with the labels of Viterbi over a corpus.

usage: PYTHONPATH=tests:tests/support python torture/row_labelling.py [N [FIRST]]

N models from seed FIRST on. Prints faults and counts.
"""

from __future__ import annotations

import sys

from row_models import row_model


def faults(seed: int) -> list[str]:
    """The sequences of one model whose labels differ."""
    model, sequences = row_model(seed)
    found = []
    for rows in sequences:
        path, _ = model.chain.viterbi(model.encode([rows]))
        if model.label(rows) != [model.labels[y] for y in path]:
            found.append(f"seed {seed}: {rows}")
    return found


def main() -> int:
    n, first = (int(x) for x in (sys.argv[1:] + ["3000", "0"][len(sys.argv) - 1 :]))
    found = [fault for seed in range(first, first + n) for fault in faults(seed)]
    print(*found, sep="\n")
    print(f"{n} models, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
