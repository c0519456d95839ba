"""Tokens in the form that python-crfsuite accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from sparsecrf._core import Corpus, InputError
from sparsecrf.contrib.compat.errors import WrongType
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.lazy import np

Encoded = TypeVar("Encoded")


class ItemSequence:
    """The attributes of a sequence, prepared once for many uses.

    An item is a dict or a collection of names. In a dict, `{"a": 2.5}` is the attribute a with value 2.5, a bool has
    the value 1 or 0, `{"a": "b"}` is the attribute a:b with value 1, and dicts, lists and sets nest: `{"a": {"b": 2},
    "c": ["d"]}` contains the attributes a:b with value 2 and c:d with value 1.
    """

    def __init__(self, pyseq: Iterable[Any]) -> None:
        if isinstance(pyseq, ItemSequence):
            self._items: list[list[tuple[str, float]]] = pyseq._items
        else:
            self._items = [list(_attributes(item, "", t)) for t, item in enumerate(pyseq)]

    def items(self) -> list[dict[str, float]]:
        """The attributes of each item with their values. If an item contains an attribute twice, the last value is
        shown."""
        return [dict(item) for item in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def tokens(xseq: Iterable[Any]) -> list[Any]:
    """The items in the form that the encoder accepts.

    The encoder reads dicts and lists as `ItemSequence` does, but it treats text as one attribute, where python-crfsuite
    sees a collection of characters.
    """
    if isinstance(xseq, ItemSequence):
        return list(xseq._items)
    return [list(item) if isinstance(item, str) else item for item in xseq]


def encoded(items: list[Any], encode: Callable[[list[Any]], Encoded]) -> Encoded:
    """The encoded items, with UTF-8 bytes decoded.

    Names are checked only after the encoder has found one that is not text, since checking every name takes time.
    """
    try:
        return encode(items)
    except InputError as error:
        text = [_decoded(item, f"item {t}") for t, item in enumerate(items)]
        if any(new is not old for new, old in zip(text, items, strict=True)):
            return encoded(text, encode)
        try:
            ItemSequence(items)
        except TypeError:
            raise WrongType(str(error)) from None
        raise


def _decoded(item: Any, where: str) -> Any:
    """The item with bytes decoded; the same object if it contains none."""
    if isinstance(item, bytes):
        return text_of(item, where)
    if isinstance(item, dict):
        pairs = {_decoded(name, where): _decoded(value, where) for name, value in item.items()}
        same = all(a is b and item[a] is pairs[a] for a, b in zip(item, pairs, strict=False))
        return item if same else pairs
    if isinstance(item, (list, tuple, set, frozenset)):
        made = [_decoded(part, where) for part in item]
        return item if all(a is b for a, b in zip(item, made, strict=True)) else made
    return item


def text_of(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{where}: expected bytes in UTF-8, found {raw[:40]!r}") from None


def _attributes(item: Any, prefix: str, t: int) -> Iterator[tuple[str, float]]:
    if not isinstance(item, dict):
        if not isinstance(item, Iterable):
            raise WrongType(f"item {t}: expected a dict or a list of names, found {type(item).__name__} {item!r}"[:160])
        for key in item:
            yield prefix + _text(key, t), 1.0
        return
    for key, value in item.items():
        name = prefix + _text(key, t)
        if isinstance(value, (str, bytes)):
            yield f"{name}:{_text(value, t)}", 1.0
        elif isinstance(value, (dict, list, set)):
            yield from _attributes(value, f"{name}:", t)
        else:
            try:
                yield name, float(value)
            except (TypeError, ValueError, OverflowError):
                found = f"{type(value).__name__} {value!r}"[:80]
                raise WrongType(
                    f"item {t}: expected the value of {name!r} to be a number, text, dict, list or set, found {found}"
                ) from None


def _text(key: Any, t: int) -> str:
    if isinstance(key, bytes):
        return text_of(key, f"item {t}")
    if not isinstance(key, str):
        raise WrongType(f"item {t}: expected the name of an attribute, found {type(key).__name__} {key!r}"[:160])
    return key


class Data:
    """Sequences are encoded immediately, so the caller may change its objects afterwards."""

    def __init__(self) -> None:
        #: The labels of all groups, since CRFsuite's models also contain the labels of the holdout group.
        self.vocabulary = Vocabulary(start=False)
        self._encoder = self.vocabulary.encoder(grow=True)
        self._corpus: Corpus | None = None  # number of sequences encoded before the last `split`
        self._groups: list[int] = []

    def add(self, xseq: Iterable[Any], yseq: Iterable[str], group: int) -> None:
        where = f"sequence {len(self._groups)}"
        items, labels = tokens(xseq), [text_of(y, where) if isinstance(y, bytes) else y for y in yseq]
        if len(items) != len(labels):
            raise InputError(
                f"{where}: expected as many labels as items, found {len(items)} items and {len(labels)} labels"
            )
        for label in labels:  # the encoder would read None as a missing label
            if not isinstance(label, str):
                raise WrongType(f"{where}: expected labels to be text, found {type(label).__name__} {label!r}"[:160])
        if items:  # an empty sequence adds nothing
            encoded(items, lambda readable: self._encoder.add(readable, labels))
            self._groups.append(group)

    def label_names(self) -> list[str]:
        table = self.vocabulary.labels
        return [table[k] for k in range(len(table))]

    def split(self, holdout: int) -> tuple[Corpus | None, Corpus | None]:
        """The sequences to train on, and the sequences of the group `holdout`; None for an empty part."""
        if len(self._groups) > (0 if self._corpus is None else self._corpus.n_sequences):
            new = self._encoder.build()
            self._corpus = new if self._corpus is None else _joined(self._corpus, new)
        held = np.array(self._groups, dtype=np.int64) == holdout
        if self._corpus is None or held.all():
            return None, self._corpus
        if not held.any():
            return self._corpus, None
        return self._corpus.subset(np.flatnonzero(~held)), self._corpus.subset(np.flatnonzero(held))


def _joined(first: Corpus, second: Corpus) -> Corpus:
    """One corpus with the sequences of both; the second vocabulary extends the first. Neither corpus has sequence
    weights."""
    a, b = first.to_arrays(), second.to_arrays()
    arrays = {name: np.concatenate([a[name], b[name]]) for name in ("lengths", "labels")}
    for kind in ("unigram", "bigram"):
        for part in (f"{kind}_id", f"{kind}_value"):
            arrays[part] = np.concatenate([a[part], b[part]])
        pointers = a[f"{kind}_ptr"], b[f"{kind}_ptr"]
        arrays[f"{kind}_ptr"] = np.concatenate([pointers[0], pointers[0][-1] + pointers[1][1:]])
    return Corpus.from_arrays(n_labels=second.n_labels, n_attributes=second.n_attributes, **arrays)
