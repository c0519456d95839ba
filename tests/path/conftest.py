"""Data of the tests of paths."""

import numpy as np
import pytest

from sparsecrf import Vocabulary
from sparsecrf.contrib.simulate import paper_hmm


@pytest.fixture(scope="module")
def task():
    """Simulated sequences, to train on and to choose by."""
    vocabulary, rng = Vocabulary(bigrams="all"), np.random.default_rng(3)
    corpus = vocabulary.encode(*paper_hmm().sample(100, rng), grow=True)
    return corpus, vocabulary.encode(*paper_hmm().sample(200, rng))
