"""Clusters of words: the plain twin of cpp/core/text/resources/word_clusters.cpp, for few words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from math import log

END, RARE = "<end>", "<rare>"  #: contexts that are no words


def pairs(sentences: Iterable[Sequence[str]], words: Iterable[str]) -> Counter[tuple[str, str]]:
    """How often one word follows another, including ends of sentences and rare words."""
    known = set(words)
    found: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        row = [END, *(word if word in known else RARE for word in sentence), END]
        found.update(pairwise(row))
    return found


def objective(counts: Counter[tuple[str, str]], class_of: dict[str, object]) -> float:
    """F = sum phi(N(a, b)) - sum phi(R(a)) - sum phi(L(b)); words without a class are classes of their own."""
    n: Counter[object] = Counter()
    for (a, b), k in counts.items():
        one, two = class_of.get(a, a), class_of.get(b, b)
        n[one, two] += k
        n["row", one] -= k
        n["column", two] -= k
    return sum(k * log(abs(k)) for k in n.values() if k)


def paths(counts: Counter[tuple[str, str]], class_of: dict[str, int]) -> dict[int, str]:
    """The path of each class in the tree of merges, which always join the cheapest pair."""
    left = {c: [c] for c in sorted(set(class_of.values()))}
    now: dict[str, object] = dict(class_of)
    made = dict.fromkeys(left, "")

    def merged(a: int, b: int) -> dict[str, object]:
        return {word: a if c == b else c for word, c in now.items()}

    while len(left) > 1:
        a, b = max(combinations(left, 2), key=lambda pair: round(objective(counts, merged(*pair)), 6))
        now = merged(a, b)
        for mark, side in (("0", a), ("1", b)):
            for c in left[side]:
                made[c] = mark + made[c]
        left[a] += left.pop(b)
    return {c: path or "0" for c, path in made.items()}
