"""The option --vectors of commands that train: vectors of words, which are dense columns of the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.cli.options import Inputs
from sparsecrf.progress import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sparsecrf.encoding.vectors import Looked, VectorFile, WordVectors
    from sparsecrf.encoding.vocabulary import Vocabulary
    from sparsecrf.model import Model


def asked_vectors(inputs: Inputs, init: Model | None) -> VectorFile | WordVectors | None:
    """Those of the options; without any, those of the model that training starts from. Nothing is read yet."""
    if inputs.vectors is None:
        others = {
            "--vectors-words": inputs.vectors_words is not None,
            "--vectors-column": inputs.vectors_column != 0,
            "--vectors-window": inputs.vectors_window != 0,
        }
        for option, given in others.items():
            if given:
                raise InputError(f"{option}: expected --vectors with it, found none")
        kept = None if init is None else init.vectors
        if inputs.vectors_scale is not None and kept is None:
            raise InputError(
                "--vectors-scale: expected --vectors with it, or a model of --init with vectors, found none"
            )
        return kept
    from sparsecrf.encoding.vectors import VectorFile

    vector_files(inputs)
    how = (inputs.vectors_words, inputs.vectors_column, inputs.vectors_window, not inputs.refer)
    return VectorFile(inputs.vectors, *how)


def vector_files(inputs: Inputs) -> list[str | None]:
    """The files of --vectors; raises for what is no file, since the end of a pipe would be waited for."""
    if inputs.vectors is None:
        return []
    from sparsecrf.encoding.vector_files import check_files

    if inputs.vectors.endswith(".npy") and inputs.vectors_words is None:
        raise InputError(f"--vectors: expected --vectors-words with {inputs.vectors}, found none")
    check_files(inputs.vectors, inputs.vectors_words)
    return [inputs.vectors, inputs.vectors_words]


def scale_of(inputs: Inputs, init: Model | None) -> float:
    """What standardised columns are multiplied by: as asked for, else as in the model that training starts from."""
    if inputs.vectors_scale is not None:
        return inputs.vectors_scale
    if init is None or init.vectors is None or init.dense is None:
        return 1.0
    return init.dense.scale[init.vectors.width]  # of the column of words without a vector, which has no deviation


@dataclass
class VectorsOfData:
    """Words of data that are being encoded, and their vectors, which are read when all words are known."""

    asked: VectorFile | WordVectors
    scale: float = 1.0  #: the deviation that columns are to have
    seen: StringTable = field(default_factory=StringTable)  #: the words by number
    found: Looked | None = None

    def words(self) -> tuple[StringTable, int]:
        """What an encoder takes."""
        return self.seen, self.asked.column

    def name_columns(self, vocabulary: Vocabulary) -> range:
        """Give the columns ids, before anything else has one; these ids."""
        from sparsecrf.encoding.vectors import name_columns

        n = self.asked.n_dense
        name_columns(vocabulary.attributes, n)
        return range(n)

    def read(self, words: NDArray[np.int32], quiet: bool) -> None:
        """Read the vectors. `words` of the training data, over which columns are standardised."""
        from sparsecrf.encoding.vectors import look_up

        self.found = look_up(self.asked.read(self.seen), self.seen, words, True, self.scale)
        have = f"{100 * self.found.covered:.1f} % of the tokens have a vector"
        say(f"vectors of {self.found.vectors.width} numbers; {have}", quiet=quiet)

    def added(self, corpus: Corpus, words: NDArray[np.int32], vocabulary: Vocabulary) -> Corpus:
        """A corpus with these words, with their vectors."""
        assert self.found is not None
        return self.found.added(corpus, words, vocabulary.attributes)
