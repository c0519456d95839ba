"""Numbers of features: Python's against the core's, and there and back."""

import numpy as np
import pytest

from sparsecrf._core import FeatureSet
from sparsecrf.encoding.numbering import Numbering

SIZES = [(1, 1), (1, 3), (2, 1), (3, 4), (7, 2)]


def every(Y: int, X: int) -> np.ndarray:
    return np.arange(X * Y + X * (Y + 1) * Y, dtype=np.int64)


@pytest.mark.parametrize(("Y", "X"), SIZES)
def test_parts_are_those_of_the_core(Y, X):
    numbers, numbering = every(Y, X), Numbering(Y, X)
    core = FeatureSet.from_numbers(Y, X, numbers)
    unigram = numbers < numbering.first_bigram
    assert unigram.sum() == core.n_unigram
    np.testing.assert_array_equal(
        numbering.attribute(numbers), np.concatenate([core.unigram_attribute, core.bigram_attribute])
    )
    np.testing.assert_array_equal(numbering.label(numbers), np.concatenate([core.unigram_label, core.bigram_label]))
    np.testing.assert_array_equal(numbering.previous(numbers)[~unigram], core.bigram_previous)
    assert (numbering.previous(numbers)[unigram] == -1).all()


@pytest.mark.parametrize(("Y", "X"), SIZES)
def test_there_and_back(Y, X):
    numbers, numbering = every(Y, X), Numbering(Y, X)
    x, previous, y = numbering.attribute(numbers), numbering.previous(numbers), numbering.label(numbers)
    again = np.where(previous < 0, numbering.unigram(x, y), numbering.bigram(x, previous, y))
    np.testing.assert_array_equal(again, numbers)
    bigrams = numbers[numbering.first_bigram :]
    np.testing.assert_array_equal(
        numbering.unigram_of(bigrams), numbering.unigram(numbering.attribute(bigrams), numbering.label(bigrams))
    )
    assert numbering.bigram(X - 1, Y, Y - 1) == numbers[-1]  # Python's integers too


def test_blocks():
    numbering = Numbering(2, 3)
    np.testing.assert_array_equal(numbering.block(every(2, 3)), [0, 0, 1, 1, 2, 2, *[3] * 6, *[4] * 6, *[5] * 6])


def test_moved_keeps_labels_and_gives_attributes_their_new_place():
    old, kept = Numbering(3, 5), np.array([1, 4])
    numbers = every(3, 5)
    numbers = numbers[np.isin(old.attribute(numbers), kept)]
    moved = old.moved(numbers, np.searchsorted(kept, old.attribute(numbers)), 2)
    np.testing.assert_array_equal(moved, every(3, 2))
