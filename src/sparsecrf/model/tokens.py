"""Checks that sequences look like the training data of a model; otherwise, they would silently get wrong labels.

Kinds of tokens are text, mappings, rows of matrices, and so on. A model stores the kind of its training tokens in its
training record, if there was only one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sparsecrf._core import InputError, StringTable
from sparsecrf.encoding.matrix import Csr, is_matrix
from sparsecrf.encoding.vocabulary import BIAS
from sparsecrf.warn import warn_caller

KIND = "token_kind"  #: key in the training record
TEXT, MAPPING, MATRIX, LIST = "text", "mapping", "matrix", "list"
_FEW = 20  # minimum number of text or list tokens, since fewer tokens may well contain no known attribute


def kind_of(sequence: Any) -> str | None:
    """The kind of the tokens of a sequence that can be read more than once; None if there is more than one."""
    if isinstance(sequence, Csr) or is_matrix(sequence):
        return MATRIX
    if set(map(type, sequence)) == {str}:
        return TEXT
    kinds = {TEXT if isinstance(t, str) else MAPPING if isinstance(t, Mapping) else LIST for t in sequence}
    return kinds.pop() if len(kinds) == 1 else None


class TokenCheck:
    """Checks sequences before a model encodes them."""

    def __init__(
        self, training: Mapping[str, Any], attributes: StringTable, template: bool, n_columns: int = 0
    ) -> None:
        """`n_columns`: number of observation columns, with a template; 0 means any number."""
        self._kind = training.get(KIND)
        self._n_columns = n_columns if template else 0
        self._known = [name for name in (attributes[k] for k in range(min(2, len(attributes)))) if name != BIAS]
        # Whether mappings are known to contain attributes of the model, and the same for other tokens. This is not
        # checked for a model without weights, which contains no attributes.
        self._mappings_familiar = self._others_familiar = template or not self._known
        self._n_strange = 0  # number of text or list tokens checked so far, as long as none is known
        self._first_strange: Any = None

    def each(self, X: Iterable[Any], is_known: Callable[[Any], bool], *, alone: bool = False) -> Iterator[Any]:
        """The checked sequences. Warns if `is_known` finds no attribute of the model in mappings, or in any token.

        A few new words are normal, so the warning requires a minimum number of text and list tokens. `alone`: a single
        sequence, without a number.
        """
        n_mappings = 0  # number of sequences without a known attribute
        for i, sequence in enumerate(X):
            if self._is_usual(sequence):
                yield sequence
                continue
            checked = self._checked_kind(sequence, None if alone else i)
            # Once one sequence contains a known attribute, no further checks are needed.
            if isinstance(checked, (list, tuple)) and len(checked) > 0:
                if isinstance(checked[0], Mapping):
                    if not self._mappings_familiar:
                        self._mappings_familiar = is_known(checked)
                        self._others_familiar |= self._mappings_familiar
                        n_mappings += 1
                elif not self._others_familiar:
                    self._others_familiar = is_known(checked)
                    tokens = [token for token in checked if not isinstance(token, (str, list, tuple)) or token]
                    if tokens and self._n_strange == 0:
                        self._first_strange = tokens[0]
                    self._n_strange += len(tokens)
            yield checked
        if n_mappings > 0 and not self._mappings_familiar:
            self._warn("mapping")
        if self._n_strange >= _FEW and not self._others_familiar:
            self._others_familiar = True  # new words are normal, so warn only once
            self._warn(f"of {self._n_strange} tokens, the first of them {self._first_strange!r:.60}")

    def _warn(self, where: str) -> None:
        warn_caller(
            f"tokens: expected attributes of the model, found none in any {where}. Are they computed in the same way "
            f"as for training? The model contains {self._known[0]!r}, for example; Model.explain() shows more."
        )

    def one(self, sequence: Any, is_known: Callable[[Any], bool]) -> Any:
        """Check a single sequence."""
        if self._is_usual(sequence):
            return sequence
        if self._mappings_familiar and self._others_familiar:
            return self._checked_kind(sequence)
        (checked,) = self.each([sequence], is_known, alone=True)
        return checked

    def _is_usual(self, sequence: Any) -> bool:
        """Whether the sequence needs no check: a list of tokens of a kind whose attributes are known."""
        if type(sequence) is not list or not sequence:
            return False
        kind = type(sequence[0])
        if kind is dict:
            return self._mappings_familiar
        return self._others_familiar and (kind is str or (kind is list and self._is_row(sequence[0])))

    def _is_row(self, token: list[Any]) -> bool:
        """Whether a list is valid as a token."""
        return len(token) == self._n_columns or (self._n_columns == 0 and self._kind != TEXT)

    def _checked_kind(self, sequence: Any, number: int | None = None) -> Any:
        kind = self._kind
        if isinstance(sequence, (str, bytes)):
            raise InputError(
                f"sequence: expected a list of tokens, found text {sequence!r:.60}. Split it into tokens as in "
                "training, for example with text.split()"
            )
        if not isinstance(sequence, (list, tuple)):
            if kind is not None and kind != MATRIX and (isinstance(sequence, Csr) or is_matrix(sequence)):
                raise InputError(f"expected tokens as in training ({kind}), found a matrix")
            if isinstance(sequence, Iterator):
                sequence = list(sequence)
        if isinstance(sequence, (list, tuple)) and sequence and isinstance(sequence[0], (list, tuple)):
            self._check_row(sequence[0], kind, number)
        return sequence

    def _check_row(self, first: Sequence[Any], kind: str | None, number: int | None) -> None:
        """Reject a first token that is a list instead of text, or lacks the columns of the training data."""
        if self._n_columns > 0 and len(first) != self._n_columns:
            expected = f"{self._n_columns} column{'s' * (self._n_columns > 1)} of observations as in training"
            found = f"{len(first)} in {first!r:.60}"
        elif kind == TEXT and len(first) > 1:
            expected, found = "a token of text as in training", f"{type(first).__name__} {first!r:.60}"
        else:
            return
        hint = ""
        if len(first) == self._n_columns + 1 > 1:
            hint = ". Is the last column the label? Rows must not contain the label here"
        elif len(first) > 1:
            hint = ". Is this a list of sequences instead of a single sequence?"
            hint += " CRF.from_model(model).predict accepts several sequences" if number is None else ""
        where = "" if number is None else f"sequence {number}, "
        raise InputError(f"{where}position 0: expected {expected}, found {found}{hint}")
