"""The result of an audit, which ranks every given label, the most suspicious first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sparsecrf.contrib.explain.weights import frame
from sparsecrf.model import Model
from sparsecrf.tables import counted


class Suspect(NamedTuple):
    """A given label of a token or a span, with its score."""

    sequence: int  #: counted from 0
    token: int  #: counted from 0; for a span, its first token
    end: int  #: the token after the last one
    label: Any  #: the given label; for a span, its type
    suggested: Any  #: the best other label; for a span, the types of the best labels of its tokens and their neighbours
    score: float  #: -log `probability` - 1/2 log `given_others`; for spans -log `given_others` - 1/2 log `probability`
    probability: float  #: marginal probability of the given label
    given_others: float  #: probability of the given label if all other labels are right


@dataclass(frozen=True, repr=False)
class Audit:
    """Given labels, the most suspicious first."""

    tokens: list[Suspect]  #: all tokens whose label is known, the most suspicious first
    spans: list[Suspect]  #: spans of the given labels and spans that models find instead, the most suspicious first
    n_sequences: int  #: number of sequences in the data
    models: Sequence[Model] = ()  #: the models that judged the folds, one for each
    fold: dict[int, int] = field(default_factory=dict)  #: maps each sequence to the number of the model that judged it

    @property
    def is_complete(self) -> bool:
        """Whether all sequences were judged, not only those of the folds before an interrupt."""
        return len(self.fold) == self.n_sequences

    def model_for(self, suspect: Suspect) -> Model:
        """The model that judged the suspect, which was trained without its sequence."""
        return self.models[self.fold[suspect.sequence]]

    def to_frame(self, *, spans: bool = False) -> Any:
        """A pandas frame with a row for each token, or for each span."""
        return frame(self.spans if spans else self.tokens, Suspect._fields)

    def __repr__(self) -> str:
        judged = "" if self.is_complete else f", {len(self.fold):,} of them judged"
        ranked = f"{counted(len(self.tokens), 'token')} and {counted(len(self.spans), 'span')}"
        return f"<Audit: {ranked} of {counted(self.n_sequences, 'sequence')}{judged}>"


def ranked(suspects: list[Suspect]) -> list[Suspect]:
    """Sort by decreasing score, and ties by position in the data."""
    return sorted(suspects, key=lambda s: (-s.score, s.sequence, s.token, s.end))
