"""Whether sequences look like those that a model was trained on: mistakes that would otherwise give wrong labels.

Tokens of a kind are all text, all mappings, all rows of matrices, and so on. A model keeps the kind of its training
data in its training record, if there was one kind only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sparsecrf._core import InputError, StringTable
from sparsecrf.encoding.matrix import Csr, is_matrix
from sparsecrf.encoding.vocabulary import BIAS

KIND = "token_kind"  #: in the training record
TEXT, MAPPING, MATRIX, LIST = "text", "mapping", "matrix", "list"


def kind_of(sequence: Any) -> str | None:
    """The kind of the tokens of a sequence that can be read more than once; None if there is more than one."""
    if isinstance(sequence, Csr) or is_matrix(sequence):
        return MATRIX
    kinds = {TEXT if isinstance(t, str) else MAPPING if isinstance(t, Mapping) else LIST for t in sequence}
    return kinds.pop() if len(kinds) == 1 else None


class TokenCheck:
    """What a model asks of sequences before it encodes them."""

    def __init__(self, training: Mapping[str, Any], attributes: StringTable, template: bool) -> None:
        self._training = training  # a key may come later
        # Whether mappings are known to have attributes of the model. Nothing has any of a model without weights.
        self._familiar = template or all(attributes[k] == BIAS for k in range(min(2, len(attributes))))

    def each(self, X: Iterable[Any], is_known: Callable[[Any], bool]) -> Iterator[Any]:
        """The sequences. A warning if they are mappings in which `is_known` finds no attribute of the model."""
        n_unknown = 0
        for sequence in X:
            checked = self._checked_kind(sequence)
            if not self._familiar and _begins_with_mapping(checked):
                self._familiar = is_known(checked)  # once it is, that need not be asked again
                n_unknown += not self._familiar
            yield checked
        if n_unknown > 0 and not self._familiar:
            warnings.warn(
                "tokens: expected attributes that the model knows, found none in any mapping. Are they made as for "
                "training? Model.explain() shows what the model knows.",
                UserWarning,
                stacklevel=4,
            )

    def one(self, sequence: Any, is_known: Callable[[Any], bool]) -> Any:
        """A sequence by itself."""
        if type(sequence) is list and sequence:  # the usual cases, in which there is nothing to find out
            kind = type(sequence[0])
            if kind is str or (kind is dict and self._familiar):
                return sequence
            if kind is list and self._training.get(KIND) != TEXT:
                return sequence
        if self._familiar or not _begins_with_mapping(sequence):
            return self._checked_kind(sequence)
        (checked,) = self.each([sequence], is_known)
        return checked

    def _checked_kind(self, sequence: Any) -> Any:
        kind = self._training.get(KIND)
        if isinstance(sequence, (str, bytes)):
            raise InputError(
                f"sequence: expected a list of tokens, found text {sequence!r:.60}. Cut it into tokens as for "
                "training: text.split()"
            )
        if not isinstance(sequence, (list, tuple)):
            if kind is not None and kind != MATRIX and (isinstance(sequence, Csr) or is_matrix(sequence)):
                raise InputError(f"expected tokens as in training ({kind}), found a matrix")
            if isinstance(sequence, Iterator):
                sequence = list(sequence)
        if kind == TEXT and isinstance(sequence, (list, tuple)) and sequence:
            first = sequence[0]
            if isinstance(first, (list, tuple)) and len(first) > 1:
                raise InputError(
                    f"position 0: expected a token of text as in training, found {type(first).__name__} {first!r:.60}. "
                    "Is this a list of sequences? One is expected; CRF.from_model(model).predict takes many"
                )
        return sequence


def _begins_with_mapping(sequence: Any) -> bool:
    return isinstance(sequence, (list, tuple)) and len(sequence) > 0 and isinstance(sequence[0], Mapping)
