"""`sparsecrf label --coverage`: keeps only as many label sequences, or labels of a token, as the coverage requires."""

from __future__ import annotations

from sparsecrf.compatibility import Named, OptionError
from sparsecrf.model import Model
from sparsecrf.model.answer_sets import MAX_SIZE, MOST, SetFinder
from sparsecrf.model.calibration import SEQUENCES, TOKENS

#: Replaces the rank of a label sequence, or the labels of a token, if the set would be too large.
ABSTAIN = b"abstain"
_ROUNDED = 1e-6  # printed probabilities have six digits; rounding may add half of this to each term of a sum


def check_alone(options: dict[str, bool]) -> None:
    """Reject options that change the probabilities that the model was calibrated with."""
    for option, given in options.items():
        if given:
            raise OptionError(Named("coverage"), f" cannot be used with {option}, which changes probabilities")


class Covering:
    """Removes the answers that are not needed from the output of `Model.label_text`."""

    def __init__(self, model: Model, coverage: float, most: int | None, *, of_tokens: bool, headers: bool) -> None:
        """`headers`: a header precedes each label sequence."""
        size = MAX_SIZE if most is None else most
        if size > MOST:
            raise OptionError(Named("nbest"), f": expected at most {MOST} with ", Named("coverage"), f", found {size}")
        self._sets = SetFinder(model.training, model.labels, coverage, TOKENS if of_tokens else SEQUENCES, size)
        self._n_labels = len(model.labels)
        self._of_tokens, self._headers = of_tokens, headers
        #: number of sequences that `label_text` writes: one more than a set may contain
        self.nbest = 1 if of_tokens else size + 1

    def __call__(self, text: bytes) -> bytes:
        blocks = text.split(b"\n\n")[:-1]
        if self._of_tokens:
            return b"".join(self._of_tokens_in(block) + b"\n\n" for block in blocks)
        found, own = list[bytes](), list[tuple[float, bytes]]()
        for block in blocks:
            _, rank, p, _ = block.split(b"\n", 1)[0].split(b" ")
            if rank == b"0" and own:
                found += self._of_sequence(own)
                own = []
            own.append((float(p), block))
        return b"".join(block + b"\n\n" for block in found + (self._of_sequence(own) if own else []))

    def _of_sequence(self, own: list[tuple[float, bytes]]) -> list[bytes]:
        """The label sequences that are needed; if there are too many, only the best one, with `abstain` as its rank."""
        size = self._sets.size([p for p, _ in own], _ROUNDED * len(own))
        if size <= self._sets.max_size:
            return [block for _, block in own[:size]]
        return [own[0][1].replace(b"# 0 ", b"# " + ABSTAIN + b" ", 1)]

    def _of_tokens_in(self, block: bytes) -> bytes:
        first, *others = block.split(b"\n")
        return b"\n".join([first if self._headers else self._line(first), *map(self._line, others)])

    def _line(self, line: bytes) -> bytes:
        """Remove the labels that are not needed from a line that ends in all labels with their probabilities."""
        between = b"\t" if b"\t" in line else b" "
        before, *labels = line.rsplit(between, self._n_labels)
        size = self._sets.size([float(label.rpartition(b":")[2]) for label in labels], _ROUNDED * self._n_labels)
        return between.join([before, *(labels[:size] if size <= self._sets.max_size else [ABSTAIN])])
