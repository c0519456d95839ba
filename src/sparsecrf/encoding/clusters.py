"""Clusters words of raw text, for `Resource.clusters`, by the exchange algorithm on Brown's objective and Brown's
merges."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from sparsecrf._core import InputError, WordClusters
from sparsecrf.files.text import Piece, name_of, pieces

N_CLUSTERS, MIN_COUNT, MAX_ROUNDS = 500, 2, 15
_BLOCK = 1 << 20


class Clustered(NamedTuple):
    """A word, its number of occurrences, and the path of its cluster, whose prefixes denote larger clusters."""

    path: str
    word: str
    n: int


def word_clusters(
    sentences: Iterable[Iterable[str]] | None = None,
    *,
    files: Iterable[str | os.PathLike[str]] = (),
    columns: bool = False,
    n_clusters: int = N_CLUSTERS,
    min_count: int = MIN_COUNT,
    max_rounds: int = MAX_ROUNDS,
    threads: int = 1,
    each: Callable[[str], None] | None = None,
) -> list[Clustered]:
    """Cluster the words of sentences (lists of words) or of files.

    Files contain one sentence per line, with spaces between words; with `columns`, they are column files with the word
    in the first column. Words with fewer than `min_count` occurrences get no cluster. Words move between clusters for
    at most `max_rounds` rounds. `each` is called with a line of text after each round.
    Pass `{c.word: c.path for c in ...}` to `Resource.clusters`.
    """
    for name, value in {"n_clusters": n_clusters, "min_count": min_count, "max_rounds": max_rounds}.items():
        if not isinstance(value, int) or not 1 <= value < 2**31:
            raise InputError(f"{name}: expected a positive integer, found {value!r}")
    text = [] if sentences is None else [_text(sentences)]
    files = list(files)  # the files are read twice
    made = WordClusters()
    _read(made, text, files, columns)
    made.begin(n_clusters, min_count)
    _read(made, text, files, columns)
    made.finish()
    tell = each or (lambda line: None)
    n_words = len(made.words)
    tell(f"{made.n_tokens:,} tokens, {n_words:,} words that occur at least {min_count} times")
    for round in range(1, max_rounds + 1):
        moved = made.exchange(threads)
        tell(f"round {round}: {moved:,} words moved, objective {made.objective:,.0f}")
        if moved <= n_words // 1000:
            break
    tell("merging clusters")
    paths = made.merge(threads)
    found = (Clustered(paths[c], word, count) for word, count, c in made.words)
    return sorted(found, key=lambda one: (one.path, -one.n, one.word))


def _text(sentences: Iterable[Iterable[str]]) -> bytes:
    lines = []
    for k, sentence in enumerate(sentences):
        words = [sentence] if isinstance(sentence, str) else list(sentence)
        if isinstance(sentence, str) or not all(isinstance(w, str) and len(w.split()) == 1 for w in words):
            raise InputError(f"sentence {k}: expected a list of words without whitespace, found {sentence!r:.60}")
        lines.append(" ".join(words))
    return "\n".join(lines).encode()


def _read(made: WordClusters, text: list[bytes], files: Iterable[str | os.PathLike[str]], columns: bool) -> None:
    for lines in text:
        made.add(lines, "sentences")
    for file in files:
        for piece in pieces(file) if columns else _blocks(file):
            made.add(piece.data, name_of(file), piece.line, columns)


def _blocks(path: str | os.PathLike[str]) -> Iterator[Piece]:
    """Read a file in pieces of whole lines."""
    with open(path, "rb") as file:
        line = 1
        while block := file.read(_BLOCK):
            block += file.readline()
            yield Piece(block, line)
            line += block.count(b"\n")
