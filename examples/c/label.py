"""Labels, probabilities and reasons, sentence by sentence, from libsparsecrf through ctypes, without the package.

python label.py LIBRARY MODEL INPUT      LIBRARY: libsparsecrf.so.1; INPUT: columns, a blank line after each sentence
"""

import ctypes
import sys
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p
from typing import ClassVar


class Reason(ctypes.Structure):
    """sparsecrf_reason: an attribute contributes value * weight to the score of a label sequence."""

    _fields_ = [
        ("token", c_int64),
        ("attribute", c_void_p),
        ("attribute_size", c_size_t),
        ("previous", c_int32),
        ("label", c_int32),
        ("value", c_double),
        ("weight", c_double),
    ]


class Library:
    """The functions of sparsecrf.h; those that can fail raise ValueError."""

    ABI = 1
    _CAN_FAIL: ClassVar = {
        "open": (c_char_p, POINTER(c_void_p)),
        "open_memory": (c_char_p, c_size_t, POINTER(c_void_p)),
        "sequence_new": (c_void_p, POINTER(c_void_p)),
        "add": (c_void_p, c_char_p, c_size_t, c_double),
        "add_vector": (c_void_p, POINTER(c_double), c_size_t),
        "end_token": (c_void_p,),
        "label": (c_void_p, POINTER(c_int32), c_size_t),
        "marginals": (c_void_p, POINTER(c_double), c_size_t),
        "nbest": (c_void_p, c_size_t, POINTER(c_int32), c_size_t, POINTER(c_double), POINTER(c_size_t)),
        "reasons": (c_void_p, POINTER(c_int32), c_size_t, POINTER(Reason), c_size_t, POINTER(c_size_t)),
    }
    _OTHERS: ClassVar = {
        "abi_version": (c_int,),
        "error": (c_char_p,),
        "n_labels": (c_int32, c_void_p),
        "n_columns": (c_int32, c_void_p),
        "vector_width": (c_int32, c_void_p),
        "label_name": (c_char_p, c_void_p, c_int32),
        "clear": (None, c_void_p),
        "sequence_free": (None, c_void_p),
        "close": (None, c_void_p),
    }

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        for name, arguments in self._CAN_FAIL.items():
            function = getattr(library, f"sparsecrf_{name}")
            function.restype, function.argtypes, function.errcheck = c_int, arguments, self._check
            setattr(self, name, function)
        for name, (result, *rest) in self._OTHERS.items():
            function = getattr(library, f"sparsecrf_{name}")
            function.restype, function.argtypes = result, rest
            setattr(self, name, function)
        if self.abi_version() != self.ABI:
            raise ValueError(f"{path}: expected ABI {self.ABI}, found {self.abi_version()}")

    def _check(self, status, function, arguments):
        if status != 0:
            raise ValueError(self.error().decode())


class Tagger:
    """A model, and one sequence that is reused for every sentence."""

    def __init__(self, library: Library, model: str | bytes) -> None:
        """`model`: the name of the model file, or its content."""
        self.library, self.model, self.sequence = library, c_void_p(), c_void_p()
        if isinstance(model, bytes):
            library.open_memory(model, len(model), byref(self.model))
        else:
            library.open(model.encode(), byref(self.model))
        library.sequence_new(self.model, byref(self.sequence))
        self.labels = [library.label_name(self.model, y).decode() for y in range(library.n_labels(self.model))]

    def __del__(self) -> None:
        self.library.sequence_free(self.sequence)
        self.library.close(self.model)

    def put(self, tokens) -> int:
        """Set the tokens and return their number. Each token is a list of columns or of attributes (name, or name and
        value), in a pair with its vector if the model takes vectors."""
        self.library.clear(self.sequence)
        for token in tokens:
            if width := self.library.vector_width(self.model):
                token, vector = token
                self.library.add_vector(self.sequence, (c_double * width)(*vector), len(vector))
            for item in token:
                text, value = (item, 1.0) if isinstance(item, str) else item
                content = text.encode()
                self.library.add(self.sequence, content, len(content), value)
            self.library.end_token(self.sequence)
        return len(tokens)

    def label(self, tokens) -> list[str]:
        n = self.put(tokens)
        found = (c_int32 * n)()
        self.library.label(self.sequence, found, n)
        return [self.labels[y] for y in found]

    def marginals(self, tokens) -> list[list[float]]:
        n, n_labels = self.put(tokens), len(self.labels)
        p = (c_double * (n * n_labels))()
        self.library.marginals(self.sequence, p, n * n_labels)
        return [list(p[t * n_labels : (t + 1) * n_labels]) for t in range(n)]

    def nbest(self, tokens, k: int) -> list[tuple[list[str], float]]:
        n, count = self.put(tokens), c_size_t()
        found, p = (c_int32 * (k * n))(), (c_double * k)()
        self.library.nbest(self.sequence, k, found, k * n, p, byref(count))
        return [([self.labels[y] for y in found[j * n : (j + 1) * n]], p[j]) for j in range(count.value)]

    def reasons(self, tokens) -> list[tuple[int, str, str | None, str, float, float]]:
        """The reasons for the best labels: token, attribute, label before (None if the weight does not depend on it),
        label, value, weight."""
        n, count = self.put(tokens), c_size_t()
        found = (c_int32 * n)()
        self.library.label(self.sequence, found, n)
        self.library.reasons(self.sequence, found, n, None, 0, byref(count))
        terms = (Reason * count.value)()
        self.library.reasons(self.sequence, found, n, terms, count.value, byref(count))
        names = [*self.labels, "start"]
        return [
            (
                term.token,
                ctypes.string_at(term.attribute, term.attribute_size).decode(),
                None if term.previous < 0 else names[term.previous],
                names[term.label],
                term.value,
                term.weight,
            )
            for term in terms
        ]


def sentences(path: str) -> Iterator[list[list[str]]]:
    """The rows of columns of each sentence."""
    rows: list[list[str]] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if columns := line.split():
                rows.append(columns)
            elif rows:
                yield rows
                rows = []
    if rows:
        yield rows


if __name__ == "__main__":
    _, library, model, text = sys.argv
    tagger = Tagger(Library(library), model)
    for rows in sentences(text):
        for row, label in zip(rows, tagger.label(rows), strict=True):
            print(*row, label)
        print()
