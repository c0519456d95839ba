"""Tiny data for the golden digests: 14 sentences of about 10 tokens, made by a generator of our own, so that no library
can change them.

With 64 tokens or more to a block (cpp/core/training/plan.cpp), a corpus has two or three blocks: threads share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

_NAMES = ["Ada", "Alan", "Grace", "Kurt", "Emmy", "Paul"]
_PLACES = ["Oslo", "Lima", "Kyoto", "Accra", "Paul", "Ada"]  # two of them are names, too
_PLAIN = ["the", "old", "cat", "went", "saw", "said", "hello", "quickly", "in", "42", "Überall", "."]
_TAGS = {"the": "DT", "old": "JJ", "cat": "NN", "in": "IN", "42": "CD", ".": "."}

Rows = list[list[str]]  # a sentence: rows of columns


class Data(NamedTuple):
    """Labelled sequences to train on, others to label, and further arguments of `CRF.fit`."""

    X: Any
    y: Any
    new_X: Any
    new_y: Any
    fit: Mapping[str, Any] = MappingProxyType({})


class Dice:
    """Knuth's 64-bit linear congruential generator."""

    def __init__(self, seed: int) -> None:
        self.state = seed * 2 + 1
        for _ in range(3):
            self.below(2)

    def below(self, n: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def pick(self, of: list[Any]) -> Any:
        return of[self.below(len(of))]


def sentences(n: int, seed: int) -> tuple[list[Rows], list[list[str]]]:
    """Rows (word, part of speech) and their labels in IOB2, some of them wrong."""
    dice, X, y = Dice(seed), [], []
    for _ in range(n):
        rows: Rows = []
        labels: list[str] = []
        for _ in range(2 + dice.below(5)):
            kind = dice.below(4)
            if kind < 2:
                length = 1 + dice.below(2)
                rows += [[dice.pick(_NAMES if kind else _PLACES), "NNP"] for _ in range(length)]
                labels += [f"{place}-{'PER' if kind else 'LOC'}" for place in "BI"[:length]]
            else:
                words = [dice.pick(_PLAIN) for _ in range(1 + dice.below(4))]
                rows += [[word, _TAGS.get(word, "X")] for word in words]
                labels += ["O"] * len(words)
        X.append(rows)
        y.append(["O" if dice.below(20) == 0 else label for label in labels])
    return X, y


TRAIN, TRAIN_LABELS = sentences(14, 1)
NEW, NEW_LABELS = sentences(4, 2)


def _names(row: list[str]) -> list[str]:
    word, tag = row
    return [f"w={word}", f"tag={tag}", f"end={word[-2:]}", *(["title"] if word[0].isupper() else [])]


def _rare(rows: Rows) -> list[list[str]]:
    """Attributes of a token with others that few tokens share: there are so many distinct lists that, where attributes
    condition label pairs, the corpus splits them into a base and a rest ("Interned lists", docs/internals)."""
    after = [*[word for word, _ in rows[1:]], "end"]
    return [[*_names(row), f"next={word}", f"t={t}"] for t, (row, word) in enumerate(zip(rows, after, strict=True))]


def _data(of_rows: Any, **fit: Any) -> Data:
    return Data([of_rows(x) for x in TRAIN], TRAIN_LABELS, [of_rows(x) for x in NEW], NEW_LABELS, fit)


def attributes() -> Data:
    return _data(lambda rows: [_names(row) for row in rows])


def rare() -> Data:
    return _data(_rare)


def rows() -> Data:
    return _data(lambda rows: rows)


def words() -> Data:
    return _data(lambda rows: [word for word, _ in rows])


def letters() -> Data:
    """Words as lists of letters; vowels are to be told from consonants."""

    def of(X: list[Rows]) -> tuple[list[list[str]], list[list[str]]]:
        words = [list(row[0]) for rows in X for row in rows][:40]
        return words, [["V" if letter in "aeiouÜ" else "C" for letter in word] for word in words]

    return Data(*of(TRAIN), *of(NEW))


def values(negative: bool = False) -> Data:
    """Mappings of attributes to numbers."""

    def of(rows: Rows) -> list[dict[str, float]]:
        lengths = [len(word) / 8 for word, _ in rows]
        shift = 0.6 if negative else 0.0
        return [
            {"length": length - shift, **dict.fromkeys(_names(row), 0.5 + length)}
            for row, length in zip(rows, lengths, strict=True)
        ]

    return _data(of)


def matrix() -> Data:
    """One matrix of numbers (CSR) for each sequence."""
    from scipy.sparse import csr_matrix

    known = sorted({name for x in TRAIN for row in x for name in _names(row)})

    def of(rows: Rows) -> Any:
        dense = [[float(name in _names(row)) * (1 + len(row[0]) / 4) for name in known] for row in rows]
        return csr_matrix(np.array(dense))

    return _data(of)


def vectors(n: int = 3, seed: int = 5) -> dict[str, list[float]]:
    """Vectors of most of the words."""
    dice = Dice(seed)
    known = sorted({word.lower() for x in TRAIN for word, _ in x})
    return {word: [(dice.below(2001) - 1000) / 512 for _ in range(n)] for word in known if dice.below(5)}


def vector_text() -> str:
    return "".join(f"{word} {' '.join(f'{x:.6f}' for x in row)}\n" for word, row in vectors().items())


def dense() -> Data:
    """Attributes, and a vector for each token."""
    table = vectors()
    zero = [0.0] * 3

    def of(X: list[Rows]) -> list[Any]:
        return [np.array([table.get(word.lower(), zero) for word, _ in rows], dtype=np.float32) for rows in X]

    plain = attributes()
    new_X = [list(zip(tokens, vectors, strict=True)) for tokens, vectors in zip(plain.new_X, of(NEW), strict=True)]
    return plain._replace(new_X=new_X, fit={"dense": of(TRAIN)})


def missing() -> Data:
    """Every fifth label is not known."""
    y = [[None if (i + t) % 5 == 0 else label for t, label in enumerate(s)] for i, s in enumerate(TRAIN_LABELS)]
    return attributes()._replace(y=y)


def weighted(tokens: bool) -> Data:
    """Sequences, or tokens, that count more or less than others."""
    choices = [0.5, 1.0, 1.0, 2.25, 0.0]
    of = [[choices[(3 * i + t) % 5] for t in range(len(s))] for i, s in enumerate(TRAIN_LABELS)]
    weights = of if tokens else [row[0] + 0.125 for row in of]
    return attributes()._replace(fit={"sample_weight": weights})


def ud(rare_too: bool = False) -> Data:
    """Labels with parts: a part of speech, then feature=value; the labels of a class share the first part."""

    def of(y: list[list[str]], X: list[Rows]) -> list[list[str]]:
        names = {"NNP": "PROPN", "X": "VERB", ".": "PUNCT"}
        return [
            [
                f"{names.get(tag, 'NOUN')}|Case={'Nom' if label == 'O' else 'Acc'}|Len={len(word) % 2}"
                for (word, tag), label in zip(rows, labels, strict=True)
            ]
            for rows, labels in zip(X, y, strict=True)
        ]

    plain = rare() if rare_too else attributes()
    return plain._replace(y=of(TRAIN_LABELS, TRAIN), new_y=of(NEW_LABELS, NEW))


def ud_values() -> Data:
    """The same labels for attributes with values."""
    numbers = values()
    return ud()._replace(X=numbers.X, new_X=numbers.new_X)


def many_labels(n: int = 40) -> Data:
    """So many labels that sparse matrices pay with every instruction set: a label depends on its token. From 256 on,
    screening has bounds of its own."""

    def of(X: list[Rows]) -> list[list[str]]:
        return [[f"L{(7 * len(w) + 3 * ord(w[0]) + t % 3) % n:02d}" for t, (w, _) in enumerate(rows)] for rows in X]

    plain = attributes()
    known = {label for labels in of(TRAIN) for label in labels}
    new_y = [[label if label in known else None for label in labels] for labels in of(NEW)]
    every = [[f"L{k:02d}" for k in range(n)]]
    return plain._replace(X=[*plain.X, [["all"]] * n], y=[*of(TRAIN), *every], new_y=new_y)


def documents() -> Data:
    from sparsecrf import with_mentions

    def of(X: list[Rows]) -> list[Rows]:
        cut = [X[:7], X[7:]]
        return [row for part in cut if part for row in with_mentions([[[word] for word, _ in rows] for rows in part])]

    return Data(of(TRAIN), TRAIN_LABELS, of(NEW), NEW_LABELS)


# ---- Files, for the program.
def column_file(X: list[Rows], y: list[list[str | None]], unknown: str = "?") -> str:
    return "\n".join(
        "".join(f"{' '.join(row)} {label or unknown}\n" for row, label in zip(rows, labels, strict=True))
        for rows, labels in zip(X, y, strict=True)
    )


def crfsuite_file(data: Data) -> str:
    """Mappings of attributes to numbers as label TAB attribute:value."""

    def escaped(name: str) -> str:
        return name.replace("\\", "\\\\").replace(":", "\\:")

    return "\n".join(
        "".join(
            "\t".join([label, *(f"{escaped(name)}:{value!r}" for name, value in token.items())]) + "\n"
            for token, label in zip(tokens, labels, strict=True)
        )
        for tokens, labels in zip(data.X, data.y, strict=True)
    )


def conllu_file(X: list[Rows], y: list[list[str]]) -> str:
    """The label is the part of speech; features are made of the tag."""
    text = ""
    for k, (rows, labels) in enumerate(zip(X, y, strict=True)):
        text += f"# sent_id = {k}\n"
        for t, ((word, tag), label) in enumerate(zip(rows, labels, strict=True), 1):
            features = f"Len={len(word) % 3}|Title={word.istitle()}"
            text += "\t".join([str(t), word, word.lower(), label, tag, features, "0", "dep", "_", "_"]) + "\n"
        text += "\n"
    return text


def json_file(X: list[Rows], y: list[list[str]]) -> str:
    import json

    lines = [{"tokens": [w for w, _ in rows], "labels": labels} for rows, labels in zip(X, y, strict=True)]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def token_file(X: list[Rows], y: list[list[str]] | None = None) -> str:
    """word/LABEL, or words alone."""
    words = [[word for word, _ in rows] for rows in X]
    if y is not None:
        words = [[f"{w}/{label}" for w, label in zip(*item, strict=True)] for item in zip(words, y, strict=True)]
    return "".join(" ".join(sentence) + "\n" for sentence in words)


def document_file(X: list[Rows], y: list[list[str]]) -> str:
    """Documents of seven sentences, words only."""
    text = ""
    for k, (rows, labels) in enumerate(zip(X, y, strict=True)):
        text += "-DOCSTART- O\n\n" if k % 7 == 0 else ""
        text += "".join(f"{word} {label}\n" for (word, _), label in zip(rows, labels, strict=True)) + "\n"
    return text
