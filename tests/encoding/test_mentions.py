"""Other mentions of a word in its document, as columns."""

import random

import numpy as np
import pandas
import pytest
from plain_mentions import WORDS, plain_mentions

from sparsecrf import InputError, with_mentions


@pytest.mark.parametrize("seed", range(30))
def test_mentions(seed):
    rng = random.Random(seed)
    vocabulary = rng.sample(WORDS, rng.randint(2, len(WORDS)))
    document = [rng.choices(vocabulary, k=rng.randint(0, 6)) for _ in range(rng.randint(1, 6))]
    assert with_mentions(document) == plain_mentions(document)


def test_columns_of_rows_stay():
    rows = with_mentions([[("Ann", "NNP"), ("ran", "VBD")], [("Ann", "NNP")]])
    assert rows[1] == [["Ann", "n", "_B-1", "Ann", "ran", "_none", "_none", "_none", "NNP"]]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (["Ann", "ran"], "sequence 0: expected a list of tokens, found 'Ann'"),
        ([["Ann"], 7], "sequence 1: expected a list of tokens, found 7"),
        ([b"Ann"], "sequence 0: expected a list of tokens, found b'Ann'"),
        ([[{"word": "Ann"}]], r"sequence 0, position 0: expected.*word.*row.*begins.*found {"),
        ([["Ann", 7]], r"sequence 0, position 1: expected.*word.*row.*begins.*found 7"),
        ([["Ann", []]], r"sequence 0, position 1: expected.*word.*row.*begins.*found \[\]"),
        ([[(1, "x")]], r"sequence 0, position 0: expected.*word.*row.*begins.*found \(1, 'x'\)"),
    ],
)
def test_what_is_no_document(document, message):
    with pytest.raises(InputError, match=message):
        with_mentions(document)


def test_other_kinds_of_lists():
    document = [["Ann", "ran"], ["Ann"]]
    expected = with_mentions(document)
    assert with_mentions([np.array(words) for words in document]) == expected
    assert with_mentions(pandas.Series(words) for words in document) == expected
    assert with_mentions(iter(iter(words) for words in document)) == expected
