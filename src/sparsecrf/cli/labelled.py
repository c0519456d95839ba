"""Labelled data, as the commands that train read them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparsecrf._core import Corpus, InputError
from sparsecrf.cli.files import format_of, total_bytes
from sparsecrf.progress import progress

if TYPE_CHECKING:
    from sparsecrf.io.encode import Encoded
    from sparsecrf.model import Model
    from sparsecrf.training import Fit
    from sparsecrf.vocabulary import Vocabulary


@dataclass(frozen=True)
class Labelled:
    """Training data and, if asked for, other data by the same names."""

    vocabulary: Vocabulary
    encoded: Encoded
    dev: Corpus | None
    read_s: float  #: seconds that reading took

    @property
    def corpus(self) -> Corpus:
        return self.encoded.corpus

    def model(self, found: Fit) -> Model:
        """The model of a fit to the training data."""
        n_columns = max(0, self.encoded.n_columns - 1)
        return found.model(self.vocabulary, template=self.encoded.template, n_columns=n_columns)


def read_labelled(
    data: Sequence[str],
    dev: str | None,
    template: str | None,
    *,
    boundary: str,
    format: str | None,
    start: bool,
    missing: str,
    quiet: bool,
) -> Labelled:
    """Read files, with the options of `train` and `path`."""
    from sparsecrf.features.template import Template
    from sparsecrf.io.encode import encode_columns, encode_crfsuite
    from sparsecrf.vocabulary import Vocabulary

    began = time.perf_counter()
    kind = format_of(data[0], format)
    if kind == "crfsuite" and template is not None:
        raise InputError("--template: expected none for CRFsuite files, which have attributes of their own")
    lines = None if template is None else Template.load(template, boundary)
    vocabulary = Vocabulary(bigrams="bias" if kind == "crfsuite" else Template.conditions_pairs, start=start)
    other = [] if dev is None else [dev]
    with progress("reading", total_bytes([*data, *other]), quiet=quiet) as advance:
        if kind == "crfsuite":
            encoded = encode_crfsuite(data, vocabulary, grow=True, missing=missing, progress=advance)
            held_out = encode_crfsuite(other, vocabulary, missing=missing, progress=advance) if other else None
        else:
            encoded = encode_columns(data, vocabulary, lines, grow=True, missing=missing, progress=advance)
            held_out = None
            if other:
                made, n = encoded.template, encoded.n_columns
                held_out = encode_columns(other, vocabulary, made, n_columns=n, missing=missing, progress=advance)
    return Labelled(vocabulary, encoded, None if held_out is None else held_out.corpus, time.perf_counter() - began)
