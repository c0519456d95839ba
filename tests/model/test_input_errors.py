"""Bad input: a Python exception that says what was expected and where, raised before any work."""

import numpy as np
import pytest
from problems import make_problem

from sparsecrf import _core

KINDS = ("unigram", "bigram")
HERE = r"sequence 1\b.*position 2\b"  # the last of the positions below, counted from 0 within its sequence


def good_arrays():
    """Two sequences of 2 and 3 positions with one attribute each (two at the last), Y = 3, X = 4."""
    lists = {
        f"{kind}_{part}": array
        for kind in KINDS
        for part, array in (
            ("ptr", np.array([0, 1, 2, 3, 4, 6], dtype=np.int64)),
            ("id", np.array([0, 1, 2, 3, 0, 1], dtype=np.int32)),
            ("value", np.ones(6)),
        )
    }
    return {
        "n_labels": 3,
        "n_attributes": 4,
        "lengths": np.array([2, 3], dtype=np.int64),
        **lists,
        "labels": np.array([0, 1, 2, 0, 1], dtype=np.int32),
        "sequence_weight": np.ones(2),
        "token_weight": np.ones(5),
    }


def changed(array, index, value):
    array = array.copy()
    array[index] = value
    return array


def entry_errors():
    """(argument, array with one wrong entry, what the message has to match)."""
    good = good_arrays()
    for bad in (np.nan, np.inf, -np.inf):
        for kind in KINDS:
            yield f"{kind}_value", changed(good[f"{kind}_value"], 5, bad), HERE
        yield "token_weight", changed(good["token_weight"], 4, bad), HERE
        yield "sequence_weight", changed(good["sequence_weight"], 1, bad), r"sequence 1\b"
    for kind in KINDS:
        for bad in (-1, 4, 2**31 - 1):
            yield f"{kind}_id", changed(good[f"{kind}_id"], 4, bad), HERE
    for bad in (-2, 3):
        yield "labels", changed(good["labels"], 4, bad), HERE
    yield "token_weight", changed(good["token_weight"], 4, -0.5), HERE
    yield "sequence_weight", changed(good["sequence_weight"], 1, -0.5), r"sequence 1\b"
    yield "lengths", np.array([5, 0]), r"sequence 1\b"
    yield "lengths", np.array([6, -1]), r"sequence 1\b"


@pytest.mark.parametrize(("name", "array", "where"), list(entry_errors()))
def test_wrong_entry_is_named(name, array, where):
    with pytest.raises(_core.InputError, match=where):
        _core.Corpus.from_arrays(**{**good_arrays(), name: array})


def shape_errors():
    """(argument, array of wrong length or order)."""
    good = good_arrays()
    for kind in KINDS:
        ptr = good[f"{kind}_ptr"]
        yield f"{kind}_ptr", ptr[:-1]
        yield f"{kind}_ptr", np.append(ptr, 6)
        yield f"{kind}_ptr", changed(ptr, 0, 1)
        yield f"{kind}_ptr", changed(ptr, 2, 4)  # 4 is past the next one, 3
        yield f"{kind}_ptr", changed(ptr, 5, 7)  # past the end of the ids
        yield f"{kind}_ptr", changed(ptr, 5, 5)  # one id is left over
        yield f"{kind}_ptr", changed(ptr, 5, 2**62)
        yield f"{kind}_ptr", np.zeros(0, dtype=np.int64)
        yield f"{kind}_value", np.ones(5)
    yield "lengths", np.array([2, 2])
    yield "lengths", np.array([2, 4])
    yield "lengths", np.array([2**62, 2**62, 2**62, 2**62, 5])  # adds up to 5 in 64 bits
    yield "labels", np.zeros(4, dtype=np.int32)
    yield "labels", np.zeros(6, dtype=np.int32)
    yield "sequence_weight", np.ones(3)
    yield "token_weight", np.ones(4)


@pytest.mark.parametrize(("name", "array"), list(shape_errors()))
def test_ragged_arrays(name, array):
    with pytest.raises(_core.InputError, match=r"expected.*found"):
        _core.Corpus.from_arrays(**{**good_arrays(), name: array})


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("unigram_id", np.zeros(6)),
        ("unigram_id", np.array(["a"] * 6)),
        ("unigram_id", np.zeros((6, 1), dtype=np.int32)),
        ("bigram_ptr", np.linspace(0.0, 5.0, 6)),
        ("bigram_value", np.ones(6, dtype=complex)),
        ("bigram_value", np.array([None] * 6)),
        ("labels", np.zeros(5)),
        ("lengths", np.array([2.0, 3.0])),
        ("lengths", np.array([[2, 3]])),
        ("lengths", None),
        ("unigram_ptr", None),
        ("sequence_weight", "heavy"),
        ("n_labels", 2.5),
    ],
)
def test_wrong_types(name, array):
    with pytest.raises((TypeError, ValueError)):
        _core.Corpus.from_arrays(**{**good_arrays(), name: array})


@pytest.mark.parametrize(("name", "value"), [("n_labels", 0), ("n_labels", -3), ("n_attributes", -1)])
def test_wrong_counts(name, value):
    with pytest.raises((_core.InputError, TypeError, OverflowError)):
        _core.Corpus.from_arrays(**{**good_arrays(), name: value})


def test_empty_corpus():
    empty_ptr, no_ids, no_numbers = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)
    arrays = {"n_labels": 3, "n_attributes": 4, "lengths": np.zeros(0, np.int64), "labels": no_ids}
    for kind in KINDS:
        arrays |= {f"{kind}_ptr": empty_ptr, f"{kind}_id": no_ids, f"{kind}_value": no_numbers}
    with pytest.raises(_core.InputError, match=r"(?i)empty|at least one sequence"):
        _core.Corpus.from_arrays(**arrays)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (([0, 0], [1, 1], [], [], []), "distinct|duplicate|twice"),
        (([], [], [1, 1], [3, 3], [0, 0]), "distinct|duplicate|twice"),
        (([4], [0], [], [], []), "4"),
        (([-1], [0], [], [], []), "-1"),
        (([0], [3], [], [], []), "3"),
        (([], [], [4], [0], [0]), "4"),
        (([], [], [0], [4], [0]), "4"),  # 3 is the start label, 4 is nothing
        (([], [], [0], [0], [3]), "3"),  # no position can have the start label
        (([], [], [0], [-1], [0]), "-1"),
        (([0, 1], [0], [], [], []), "2"),
        (([], [], [0], [0, 1], [0]), "2"),
    ],
)
def test_wrong_features(columns, found):
    with pytest.raises(_core.InputError, match=found):
        _core.FeatureSet(3, 4, *[np.array(column, dtype=np.int32) for column in columns])


@pytest.fixture(scope="module")
def problem():
    return make_problem(seed=1, n_labels=3, lengths=[2, 3], n_attributes=4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers(problem, bad):
    w = changed(problem.w, 2, bad)
    with pytest.raises(_core.InputError, match=r"\b2\b"):
        _core.Chain(problem.features(), w)
    oracle = _core.Oracle(problem.corpus())
    for call in (oracle.loss, oracle.loss_grad, oracle.loss_grad_curvature):
        with pytest.raises(_core.InputError, match=r"\b2\b"):
            call(problem.features(), w)


def test_wrong_number_of_weights(problem):
    for w in (problem.w[:-1], np.append(problem.w, 0.0), np.zeros(0)):
        with pytest.raises(_core.InputError, match=str(len(w))):
            _core.Chain(problem.features(), w)
        with pytest.raises(_core.InputError, match=str(len(w))):
            _core.Oracle(problem.corpus()).loss(problem.features(), w)


def test_features_of_another_size(problem):
    other = make_problem(seed=1, n_labels=4, lengths=[2, 3], n_attributes=4)
    with pytest.raises(_core.InputError, match="labels"):
        problem.chain().log_partition(other.corpus())
    with pytest.raises(_core.InputError, match="labels"):
        _core.Oracle(problem.corpus()).loss(other.features(), other.w)


def test_unknown_options(problem):
    for kernel in ("", "fast", "Dense"):
        with pytest.raises(_core.InputError, match="kernel"):
            _core.Chain(problem.features(), problem.w, kernel=kernel)
        with pytest.raises(_core.InputError, match="kernel"):
            _core.Oracle(problem.corpus(), kernel=kernel)
    with pytest.raises(_core.InputError, match="threads"):
        _core.Oracle(problem.corpus(), threads=-1)
    with pytest.raises(_core.InputError, match="threads"):
        _core.Chain(problem.features(), problem.w, threads=-1)


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ({"allowed": np.ones((4, 3), bool)}, "allowed"),
        ({"allowed": np.ones((5, 4), bool)}, "allowed"),
        ({"forbidden": np.zeros((3, 3), bool)}, "forbidden"),
        ({"forbidden": np.zeros((4, 4), bool)}, "forbidden"),
        ({"fixed": np.full(4, -1, np.int32)}, "fixed"),
        ({"fixed": np.array([-1, -1, -1, -1, 3], np.int32)}, r"position [24]\b"),
        ({"fixed": np.array([-1, -1, -1, -1, -2], np.int32)}, r"position [24]\b"),
    ],
)
def test_wrong_constraints(problem, limits, found):
    with pytest.raises(_core.InputError, match=found):
        problem.chain().marginals(problem.corpus(), _core.Constraints(3, **limits))


def test_constraints_of_another_number_of_labels(problem):
    with pytest.raises(_core.InputError, match="labels"):
        problem.chain().viterbi(problem.corpus(), _core.Constraints(4))


@pytest.mark.parametrize(
    ("sequence", "start", "labels"),
    [
        (2, 0, [0]),
        (-1, 0, [0]),
        (1, -1, [0]),
        (1, 3, [0]),
        (1, 2, [0, 0]),
        (1, 0, []),
        (1, 0, [3]),
        (1, 0, [-1]),
    ],
)
def test_wrong_span(problem, sequence, start, labels):
    with pytest.raises(_core.InputError, match=r"expected.*found"):
        problem.chain().span_log_prob(problem.corpus(), sequence, start, np.array(labels, dtype=np.int32))


def test_wrong_sequence_or_k(problem):
    chain, corpus = problem.chain(), problem.corpus()
    for sequence in (-1, 2):
        with pytest.raises(_core.InputError, match="sequence"):
            chain.edge_marginals(corpus, sequence)
        with pytest.raises(_core.InputError, match="sequence"):
            chain.nbest(corpus, sequence, 1)
    for k in (0, -1):
        with pytest.raises(_core.InputError, match="k"):
            chain.nbest(corpus, 0, k)


def test_score_needs_every_label(problem):
    arrays = problem.corpus_arrays()
    arrays["labels"] = changed(arrays["labels"], 4, -1)
    with pytest.raises(_core.InputError, match=HERE):
        problem.chain().score(_core.Corpus.from_arrays(**arrays))


def test_exceptions_are_value_errors():
    assert issubclass(_core.InputError, ValueError)
    assert issubclass(_core.UnsatisfiableError, _core.InputError)


@pytest.mark.parametrize("kind", [_core.InputError, _core.UnsatisfiableError])
def test_exceptions_say_what_they_are(kind):
    first, _, more = kind.__doc__.partition("\n\n")
    assert first.endswith("Error.")
    assert "message says" in more
