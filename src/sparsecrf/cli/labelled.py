"""Labelled data, as the commands that train read them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from sparsecrf._core import Corpus, InputError
from sparsecrf.cli.files import format_of, total_bytes
from sparsecrf.progress import Advance, progress

if TYPE_CHECKING:
    from sparsecrf.encoding.template import Template
    from sparsecrf.encoding.vocabulary import Vocabulary
    from sparsecrf.model import Model
    from sparsecrf.shards import Shards
    from sparsecrf.training import Fit


Data = TypeVar("Data", bound="Corpus | Shards")


@dataclass(frozen=True)
class Labelled(Generic[Data]):
    """Training data and, if asked for, other data by the same names."""

    vocabulary: Vocabulary
    corpus: Data
    template: Template | None  #: None: the files had attributes of their own
    n_columns: int  #: of each line, the label included; 0 for CRFsuite's format
    dev: Corpus | None
    read_s: float  #: seconds that reading took

    def model(self, found: Fit) -> Model:
        """The model of a fit to the training data."""
        return found.model(self.vocabulary, template=self.template, n_columns=max(0, self.n_columns - 1))


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
) -> Labelled[Corpus]:
    """Read files, with the options of `train` and `path`."""
    from sparsecrf.encoding.encode import encode_columns, encode_crfsuite
    from sparsecrf.encoding.template import Template
    from sparsecrf.encoding.vocabulary import Vocabulary

    began = time.perf_counter()
    crfsuite, lines = template_for(data, template, boundary, format)
    vocabulary = Vocabulary(bigrams="bias" if crfsuite else Template.conditions_pairs, start=start)
    with progress("reading", total_bytes([*data, *([] if dev is None else [dev])]), quiet=quiet) as advance:
        if crfsuite:
            encoded = encode_crfsuite(data, vocabulary, grow=True, missing=missing, progress=advance)
        else:
            encoded = encode_columns(data, vocabulary, lines, grow=True, missing=missing, progress=advance)
        held_out = _held_out(dev, vocabulary, encoded.template, encoded.n_columns, missing, advance)
    took = time.perf_counter() - began
    return Labelled(vocabulary, encoded.corpus, encoded.template, encoded.n_columns, held_out, took)


def read_cached(
    data: Sequence[str],
    dev: str | None,
    template: str | None,
    cache: str,
    shard_tokens: int | None,
    *,
    boundary: str,
    format: str | None,
    start: bool,
    missing: str,
    threads: int,
    quiet: bool,
) -> Labelled[Shards]:
    """The same by way of a folder of encoded shards, which is made if it is not there."""
    from sparsecrf.shards.encode_folder import SHARD_TOKENS, encode_folder

    began = time.perf_counter()
    crfsuite, lines = template_for(data, template, boundary, format)
    with progress("reading", total_bytes([*data, *([] if dev is None else [dev])]), quiet=quiet) as advance:
        folder = encode_folder(
            cache,
            data,
            lines,
            crfsuite=crfsuite,
            start=start,
            missing=missing,
            shard_tokens=SHARD_TOKENS if shard_tokens is None else shard_tokens,
            progress=advance,
        )
        held_out = _held_out(dev, folder.vocabulary, folder.template, folder.n_columns, missing, advance)
        shards = folder.in_shards(threads)
    took = time.perf_counter() - began
    return Labelled(folder.vocabulary, shards, folder.template, folder.n_columns, held_out, took)


def template_for(
    data: Sequence[str], template: str | None, boundary: str, format: str | None
) -> tuple[bool, Template | None]:
    """Whether the files are CRFsuite's, and the template for those that are not."""
    from sparsecrf.encoding.template import Template

    crfsuite = format_of(data[0], format) == "crfsuite"
    if crfsuite and template is not None:
        raise InputError("--template: expected none for CRFsuite files, which have attributes of their own")
    return crfsuite, None if template is None else Template.load(template, boundary)


def _held_out(
    dev: str | None, vocabulary: Vocabulary, template: Template | None, n_columns: int, missing: str, advance: Advance
) -> Corpus | None:
    from sparsecrf.encoding.encode import encode_columns, encode_crfsuite

    if dev is None:
        return None
    if template is None:
        return encode_crfsuite([dev], vocabulary, missing=missing, progress=advance).corpus
    return encode_columns([dev], vocabulary, template, n_columns=n_columns, missing=missing, progress=advance).corpus
