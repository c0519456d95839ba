"""Folds: every sequence is left out once, groups whole; documents by their mark."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sparsecrf import InputError, Vocabulary
from sparsecrf.path import cross_validate, documents
from sparsecrf.path.folds import dealt

GROUPS = np.repeat(np.arange(12), [1, 9, 2, 8, 3, 7, 4, 6, 5, 5, 1, 9])


def parts(n, folds, **options):
    return list(dealt(n, folds, **{"groups": None, "shuffle": True, "seed": 0, **options}))


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("groups", [None, GROUPS, [f"d{g}" for g in GROUPS]])
def test_every_sequence_is_left_out_once(shuffle, groups):
    found = parts(60, 4, groups=groups, shuffle=shuffle)
    assert len(found) == 4
    assert_array_equal(np.sort(np.concatenate([out for _, out in found])), np.arange(60))
    for train, out in found:
        assert_array_equal(np.sort(np.concatenate([train, out])), np.arange(60))
        assert 10 <= len(out) <= 20  # about a quarter


@pytest.mark.parametrize("shuffle", [True, False])
def test_groups_stay_together(shuffle):
    for train, out in parts(60, 4, groups=GROUPS, shuffle=shuffle):
        assert not set(GROUPS[train]) & set(GROUPS[out])


def test_shuffling_is_a_choice_with_a_seed():
    first, again, other = (parts(60, 4, groups=GROUPS, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(first, other, strict=True))
    for _, out in parts(60, 4, shuffle=False):
        assert_array_equal(np.diff(out), 1)


def test_consecutive_folds_are_never_empty():
    huge = np.repeat([0, 1, 2, 3], [1, 1, 1, 97])
    assert [len(out) for _, out in parts(100, 4, groups=huge, shuffle=False)] == [1, 1, 1, 97]
    huge = huge[::-1]
    assert [len(out) for _, out in parts(100, 4, groups=huge, shuffle=False)] == [97, 1, 1, 1]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"groups": GROUPS[:9]}, r"groups: expected 60 values.*sequence.*found 9"),
        ({"groups": [0] * 60}, r"folds: expected 2.*1.*number.*groups.*found 4"),
    ],
)
def test_wrong_groups(options, expected):
    with pytest.raises(InputError, match=expected):
        parts(60, 4, **options)


def test_cross_validation_takes_groups():
    vocabulary = Vocabulary()
    X = [[f"w{k // 5}", "x"] for k in range(20)]
    corpus = vocabulary.encode(X, [["A", "B"]] * 20, grow=True)
    trained = []
    cross_validate(
        corpus,
        folds=4,
        groups=[k // 5 for k in range(20)],
        rho1=[0.1],
        each=lambda point: point.fold is not None and trained.append(point.fit.corpus),
    )
    assert [part.n_sequences for part in trained] == [15] * 4


def test_documents():
    rows = [["-DOCSTART-", "-X-"]]
    sentence = [["Oslo", "NNP"], ["-DOCSTART-", "-X-"]]
    assert documents([rows, sentence, sentence, rows, sentence]).tolist() == [1, 1, 1, 2, 2]
    assert documents([sentence, rows, [], sentence]).tolist() == [0, 1, 1, 1]
    assert documents([["a"], ["-DOCSTART-"], ["a", "-DOCSTART-"]]).tolist() == [0, 1, 1]
    assert documents([[{"word": "a"}], [{"bias": 1.0, "word": "-DOCSTART-"}]]).tolist() == [0, 1]
    assert documents([["# 1"], ["a"], ["# 1"]], mark="# 1").tolist() == [1, 1, 2]
