"""The tasks of the paper: files of the data folder, and the templates that generate the paper's features from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.tasks import CHUNKS, COLUMNS, LETTERS, NGRAMS, first_lines

from sparsecrf import Corpus, InputError, Template, Vocabulary
from sparsecrf.shards.dataset import encode_columns


@dataclass(frozen=True)
class Task:
    folder: str
    template: str
    suffix: str = ".txt"
    has_dev: bool = True  #: whether there is a file dev.txt

    @property
    def files(self) -> tuple[str, str]:
        return f"{self.folder}/train{self.suffix}", f"{self.folder}/test{self.suffix}"

    @property
    def dev(self) -> str | None:
        return f"{self.folder}/dev{self.suffix}" if self.has_dev else None


def _around(reach: int) -> str:
    """Template lines for the letters at a distance of at most `reach`, each on its own, and for the bias."""
    places = sorted(range(-reach, reach + 1), key=abs)
    return "*\n" + "".join(f"*{n}:%x[{k},0]\n" for n, k in enumerate(places))


#: Section 6.2 (letters; pseudo n-gram and n-gram, with bias terms; a k-gram is centred, so k is odd) and section 6.3
#: (word, part of speech, chunk tag, one at a time). All attributes condition labels and label pairs.
TASKS = {
    "letters": Task("nettalk", LETTERS),
    "pseudo 3-gram": Task("nettalk", _around(1)),
    "pseudo 5-gram": Task("nettalk", _around(2)),
    "3-gram": Task("nettalk", first_lines(NGRAMS, 3)),
    "5-gram": Task("nettalk", NGRAMS),
    "stress": Task("nettalk", LETTERS, ".stress.txt"),
    "entities": Task("conll2003", COLUMNS),
    # Not in the paper: plain transitions, the usual template for chunking, and the ready-made template for tagging.
    "chunks": Task("conll2000", CHUNKS, has_dev=False),
    "tags": Task("ewt", Template.preset("tagging").text),
}


@dataclass(frozen=True)
class Corpora:
    vocabulary: Vocabulary
    train: Corpus
    test: Corpus

    @property
    def virtual_features(self) -> int:
        """The number of features of all attributes with labels and label pairs, without pairs with the start label, as
        the paper counts them."""
        Y = self.train.n_labels
        return self.train.n_attributes * (Y + Y * Y)


def read(data: Path, name: str, *, start: bool = True, sequences: int | None = None) -> Corpora:
    """The training and test parts of a task. `start`: use the paper's start label. `sequences`: read only this many of
    the first sequences."""
    task = TASKS[name]
    for file in task.files:
        if not (data / file).exists():
            raise InputError(f"{data / file}: expected a column file (--data FOLDER), found none")
    vocabulary, template = Vocabulary(start=start), Template(task.template)
    train, test = (
        encode_columns([data / file], vocabulary, template, grow=k == 0).corpus for k, file in enumerate(task.files)
    )
    if sequences is not None:
        train = train.subset(np.arange(min(sequences, train.n_sequences)))
    return Corpora(vocabulary, train, test)


EVERY = 10  # without a dev file, every 10th sequence is held out


def read_with_dev(data: Path, name: str) -> tuple[Corpora, Corpus]:
    """As `read`, without a start label, and with a part for choosing penalties: dev.txt, or a tenth of the training
    part."""
    corpora, task = read(data, name, start=False), TASKS[name]
    if task.dev is not None:
        encoded = encode_columns([data / task.dev], corpora.vocabulary, Template(task.template), grow=False)
        return corpora, encoded.corpus
    every = np.arange(corpora.train.n_sequences)
    held_out = every % EVERY == EVERY - 1
    train, dev = (corpora.train.subset(every[part]) for part in (~held_out, held_out))
    return Corpora(corpora.vocabulary, train, corpora.test), dev
