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
        return None if init is None else init.vectors
    from sparsecrf.encoding.vector_files import check_files
    from sparsecrf.encoding.vectors import VectorFile

    if inputs.vectors.endswith(".npy") and inputs.vectors_words is None:
        raise InputError(f"--vectors: expected --vectors-words with {inputs.vectors}, found none")
    check_files(inputs.vectors, inputs.vectors_words)
    how = (inputs.vectors_words, inputs.vectors_column, inputs.vectors_window, not inputs.refer)
    return VectorFile(inputs.vectors, *how)


@dataclass
class VectorsOfData:
    """Words of data that are being encoded, and their vectors, which are read when all words are known."""

    asked: VectorFile | WordVectors
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

    def read(self, words: NDArray[np.int32], scale: float, quiet: bool) -> None:
        """Read the vectors. `words` of the training data, whose columns are to have mean 0 and deviation `scale`."""
        from sparsecrf.encoding.vectors import look_up

        self.found = look_up(self.asked.read(self.seen), self.seen, words, True, scale)
        have = f"{100 * self.found.covered:.1f} % of the tokens have a vector"
        say(f"vectors of {self.found.vectors.width} numbers; {have}", quiet=quiet)

    def added(self, corpus: Corpus, words: NDArray[np.int32], vocabulary: Vocabulary) -> Corpus:
        """A corpus with these words, with their vectors."""
        assert self.found is not None
        return self.found.added(corpus, words, vocabulary.attributes)
