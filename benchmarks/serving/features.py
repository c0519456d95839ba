"""The features of both servers: for the endpoint in Python, for sparsecrf as a template that makes the same names."""

from __future__ import annotations

TEMPLATE = "".join(
    f"U{line}\n"
    for line in (
        *(f"w[{row}]:%x[{row},0]" for row in range(-2, 3)),
        *(f"l[{row}]:%l[{row},0]" for row in range(-1, 2)),
        "w[-1]w[0]:%x[-1,0]/%x[0,0]",
        "w[0]w[1]:%x[0,0]/%x[1,0]",
    )
)
TEMPLATE += "B\n"


def features(words: list[str]) -> list[dict[str, str]]:
    """Mappings for sklearn-crfsuite, with the template's names for cells beyond the ends of a sentence."""
    w = ["_B-2", "_B-1", *words, "_B+1", "_B+2"]
    low = [w[0], w[1], *(word.lower() for word in words), w[-2], w[-1]]
    return [
        {
            **{f"w[{row}]": w[t + row] for row in range(-2, 3)},
            **{f"l[{row}]": low[t + row] for row in range(-1, 2)},
            "w[-1]w[0]": f"{w[t - 1]}/{w[t]}",
            "w[0]w[1]": f"{w[t]}/{w[t + 1]}",
        }
        for t in range(2, len(words) + 2)
    ]
