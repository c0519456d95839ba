"""Ready-made templates. benchmarks/record/presets.md describes how their lines were chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from sparsecrf._core import InputError
from sparsecrf.compatibility import OptionError

if TYPE_CHECKING:
    from sparsecrf.encoding.resources import Resource


def preset(name: str, n_columns: int = 1, option: str = "features", resources: Sequence[Resource] = ()) -> str:
    """The text of a ready-made template for data with `n_columns` columns, with lines for resources. Errors refer to
    the name as `option`."""
    if not isinstance(name, str) or name not in PRESETS:
        raise OptionError(f"{option}: expected one of {', '.join(PRESETS)}, found {name!r}")
    if n_columns < 1:
        raise InputError(f"{option}: expected at least one column, found {n_columns}")
    lines = PRESETS[name](n_columns)
    more = [line for resource in resources for line in _LOOKED_UP[resource.kind](resource)]
    return "".join(f"{line}\n" for line in [*lines[:-1], *more, lines[-1]])  # the bias comes last


def _words(_: int = 1) -> list[str]:
    """Lines for entities and chunks: words, their lowercase forms, affixes and shapes, also of the neighbours."""
    return [
        "# words: column 0 is the word",
        *_window("w", "%x", range(-2, 3)),
        *_window("l", "%l", range(-2, 3)),
        *_affixes(range(1, 5)),
        "U:p5=%P[0,0,5]",
        "U:s5=%S[0,0,5]",
        *(f"U:{side}3{row:+}=%{side}[{row},0,3]" for side in "ps" for row in (-1, 1)),
        "# shapes, long and with runs of a class as one; classes, length, place in the sentence",
        "U:h=%h[0,0]",
        *(f"U:k{row:+}=%h[{row},0,1]" for row in range(-2, 3)),
        *(f"U:c{row:+}=%c[{row},0]" for row in range(-1, 2)),
        "U:n=%n[0,0]",
        "U:e=%e[0]",
        "# together",
        "U:w-1+0=%x[-1,0]/%x[0,0]",
        "U:w+0+1=%x[0,0]/%x[1,0]",
        "U:l-2-1=%l[-2,0]/%l[-1,0]",
        "U:l+1+2=%l[1,0]/%l[2,0]",
        *(f"U:k{a:+}{b:+}={_joined('%h[{},0,1]', range(a, b + 1))}" for a, b in _RUNS),
        "U:l-1k=%l[-1,0]/%h[0,0,1]",
        "U:kl+1=%h[0,0,1]/%l[1,0]",
        "U:l-1kl+1=%l[-1,0]/%h[0,0,1]/%l[1,0]",
        "U:ek=%e[0]/%h[0,0,1]",
        "U:el=%e[0]/%l[0,0]",
        "B",
    ]


def _documents(_: int = 1) -> list[str]:
    """The lines of `words`, plus lines for the other mentions in the document, in columns 1 to 7 (`mentions.py`)."""
    lines = _words()[1:-1]
    lines += [
        "# how other mentions of the word in its document are written, with its shape and those of its neighbours",
        "U:f=%x[0,1]",
        "U:fk=%x[0,1]/%h[0,0,1]",
        "U:fek=%x[0,1]/%e[0]/%h[0,0,1]",
        "U:f-1k=%x[-1,1]/%h[-1,0,1]/%h[0,0,1]",
        "U:f+1k=%x[1,1]/%h[1,0,1]/%h[0,0,1]",
    ]
    for name, column in (("o", 2), ("oo", 5)):
        before, here, after = range(column, column + 3)
        lines += [
            f"# beside the {'first' if name == 'o' else 'second'} of them",
            f"U:{name}l-1=%l[0,{before}]",
            f"U:{name}l+1=%l[0,{after}]",
            *(f"U:{name}k{k - here:+}=%h[0,{k},1]/%h[0,0,1]" for k in (before, here, after)),
            f"U:{name}k-1+1=%h[0,{before},1]/%h[0,{here},1]/%h[0,{after},1]",
        ]
    return ["# documents: column 0 is the word, columns 1 to 7 tell of its other mentions", *lines, "B"]


def _tagging(_: int = 1) -> list[str]:
    """Lines for parts of speech, with more affixes and fewer neighbours."""
    return [
        "# tagging: column 0 is the word",
        *_window("w", "%x", range(-2, 3)),
        *_window("l", "%l", range(-1, 2)),
        *_affixes(range(1, 6)),
        *(f"U:s{n}{row:+}=%S[{row},0,{n}]" for row in (-2, -1, 1, 2) for n in (2, 3)),
        "# shapes, classes, place in the sentence",
        "U:h=%h[0,0]",
        *(f"U:k{row:+}=%h[{row},0,1]" for row in range(-1, 2)),
        "U:c=%c[0,0]",
        "U:ek=%e[0]/%h[0,0,1]",
        "# together",
        "U:l-1+0=%l[-1,0]/%l[0,0]",
        "U:l+0+1=%l[0,0]/%l[1,0]",
        "U:l-1+1=%l[-1,0]/%l[1,0]",
        "U:l-2-1=%l[-2,0]/%l[-1,0]",
        "U:s-1+0=%S[-1,0,3]/%S[0,0,3]",
        "U:s+0+1=%S[0,0,3]/%S[1,0,3]",
        "U:s-1+1=%S[-1,0,2]/%S[0,0,2]/%S[1,0,2]",
        "B",
    ]


def _letters(_: int = 1) -> list[str]:
    """Lines for pronunciation or hyphenation: n-grams around each token, which is a letter."""
    return [
        "# letters: column 0 is the letter, a sequence is a word",
        *(f"U:x{row:+}=%x[{row},0]" for row in range(-4, 5)),
        *(
            f"U:x{first:+}{first + n - 1:+}={_joined('%x[{},0]', range(first, first + n))}"
            for n in range(2, 7)
            for first in range(1 - n, 1)
        ),
        "# a letter and its neighbours also condition pairs of labels",
        *(f"*:x{row:+}=%x[{row},0]" for row in (-1, 0, 1)),
        "*:x-1+0=%x[-1,0]/%x[0,0]",
        "*:x+0+1=%x[0,0]/%x[1,0]",
        "*:x-1+1=%x[-1,0]/%x[0,0]/%x[1,0]",
        "*",
    ]


def _columns(n_columns: int) -> list[str]:
    """The lines of `words` for the first column, and a window over the other columns."""
    lines = _words()[1:-1]
    for k in range(1, n_columns):
        lines += [f"# column {k}", *(f"U:{k}:{row:+}=%x[{row},{k}]" for row in range(-2, 3))]
        lines += [f"U:{k}:{a:+}{b:+}={_joined(f'%x[{{}},{k}]', range(a, b + 1))}" for a, b in _PAIRS + _RUNS[2:]]
        lines += [f"U:{k}:l{row:+}=%l[0,0]/%x[{row},{k}]" for row in (-1, 0, 1)]
    return ["# columns: column 0 is the word", *lines, "B"]


def _of_clusters(clusters: Resource) -> list[str]:
    """Lines for path prefixes of four lengths, which denote clusters of four sizes."""
    name = clusters.name
    return [
        f"# clusters {name}",
        *(f"U:{name}{n}{row:+}=%d[{row},0,{name},{n}]" for n in (4, 6, 10, 20) for row in range(-2, 3)),
        *(f"U:{name}{n}-1+0=%d[-1,0,{name},{n}]/%d[0,0,{name},{n}]" for n in (6, 20)),
        *(f"U:{name}{n}+0+1=%d[0,0,{name},{n}]/%d[1,0,{name},{n}]" for n in (6, 20)),
        f"U:{name}k=%h[0,0,1]/%d[0,0,{name},10]",
    ]


def _of_classes(classes: Resource) -> list[str]:
    name = classes.name
    return [
        f"# classes {name}",
        *(f"U:{name}{row:+}=%d[{row},0,{name}]" for row in range(-2, 3)),
        f"U:{name}-1+0=%d[-1,0,{name}]/%d[0,0,{name}]",
        f"U:{name}+0+1=%d[0,0,{name}]/%d[1,0,{name}]",
    ]


def _of_lexicon(lexicon: Resource) -> list[str]:
    """Lines for all classes together, for each class if there are several, and for the same in lower case."""
    name = lexicon.name
    each = [f":{c}" for c in lexicon.classes] if len(lexicon.classes) > 1 else []
    return [
        f"# lexicon {name}",
        *(f"U:{name}{row:+}=%d[{row},0,{name}]" for row in range(-1, 2)),
        *(f"U:{name}{c}=%d[0,0,{name}{c}]" for c in each),
        f"U:{name}^=%D[0,0,{name}]",
        *(f"U:{name}^{c}=%D[0,0,{name}{c}]" for c in each),
        f"U:{name}k=%h[0,0,1]/%D[0,0,{name}]",
        f"U:{name}l=%l[0,0]/%d[0,0,{name}]",
        f"U:{name}-1+1=%d[-1,0,{name}]/%d[0,0,{name}]/%d[1,0,{name}]",
    ]


#: Lines for a resource, by its kind. benchmarks/record/presets.md describes how they were chosen.
_LOOKED_UP = {"lexicon": _of_lexicon, "clusters": _of_clusters, "classes": _of_classes}

_PAIRS = [(-2, -1), (-1, 0), (0, 1), (1, 2)]
_RUNS = [(-1, 0), (0, 1), (-1, 1), (-2, 0), (0, 2), (-2, 2)]  #: the first and last row of each run of cells

#: Names of ready-made templates, and the functions that make their lines for a number of columns.
PRESETS: dict[str, Callable[[int], list[str]]] = {
    "words": _words,
    "tagging": _tagging,
    "letters": _letters,
    "columns": _columns,
    "documents": _documents,
}


def _window(name: str, macro: str, rows: Iterable[int]) -> list[str]:
    return [f"U:{name}{row:+}={macro}[{row},0]" for row in rows]


def _affixes(sizes: Iterable[int]) -> list[str]:
    return [f"U:{side}{n}=%{side}[0,0,{n}]" for side in "ps" for n in sizes]


def _joined(cell: str, rows: Iterable[int]) -> str:
    return "/".join(cell.format(row) for row in rows)
