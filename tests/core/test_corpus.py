"""Taking a corpus apart and putting it together again."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from problems import make_problem
from strategies import problems

from sparsecrf import Corpus, InputError


def sequence_arrays(corpus, i):
    """Everything about sequence i, from `to_arrays`."""
    arrays = corpus.to_arrays()
    start, end = corpus.offsets[i], corpus.offsets[i + 1]
    out = {"labels": arrays["labels"][start:end]}
    for kind in ("unigram", "bigram"):
        ptr = arrays[f"{kind}_ptr"][start : end + 1]
        out[f"{kind}_ptr"] = ptr - ptr[0]
        out[f"{kind}_id"] = arrays[f"{kind}_id"][ptr[0] : ptr[-1]]
        out[f"{kind}_value"] = arrays[f"{kind}_value"][ptr[0] : ptr[-1]]
    weight, token_weight = arrays["sequence_weight"], arrays["token_weight"]
    out["weight"] = np.array([1.0 if weight is None else weight[i]])
    out["token_weight"] = np.ones(end - start) if token_weight is None else token_weight[start:end]
    return out


@pytest.mark.slow
@given(problem=problems(weights=("moderate",), token_weights=True, sequence_weights=True))
def test_arrays_come_back(problem):
    corpus = problem.corpus()
    again = Corpus.from_arrays(**corpus.to_arrays())
    assert again.fingerprint == corpus.fingerprint
    for i, sequence in enumerate(problem.sequences):
        found = sequence_arrays(corpus, i)
        for kind, lists in (("unigram", sequence.unigram), ("bigram", sequence.bigram)):
            for t, attributes in enumerate(lists):
                first, last = found[f"{kind}_ptr"][t : t + 2]
                names = found[f"{kind}_id"][first:last].tolist()
                assert names == sorted({x for x, _ in attributes})
                sums = [sum(v for x, v in attributes if x == name) for name in names]
                np.testing.assert_allclose(found[f"{kind}_value"][first:last], sums, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@given(
    problem=problems(weights=("moderate",), token_weights=True, sequence_weights=True),
    chosen=st.lists(st.integers(0, 100), min_size=1, max_size=5),
)
def test_subset_has_the_sequences(problem, chosen):
    corpus = problem.corpus()
    indices = np.array(chosen, dtype=np.int64) % corpus.n_sequences
    part = corpus.subset(indices)
    assert (part.n_labels, part.n_attributes) == (corpus.n_labels, corpus.n_attributes)
    assert part.n_sequences == len(indices)
    for place, i in enumerate(indices):
        expected, found = sequence_arrays(corpus, i), sequence_arrays(part, place)
        for name, values in expected.items():
            assert_array_equal(found[name], values)


@pytest.mark.parametrize("index", [-1, 3])
def test_subset_of_what_is_not_there(index):
    corpus = make_problem(seed=0, n_labels=2, lengths=[2, 3, 1], n_attributes=3).corpus()
    with pytest.raises(InputError, match=rf"expected a sequence from 0 to 2, found {index}"):
        corpus.subset(np.array([0, index], dtype=np.int64))
    with pytest.raises(InputError, match="expected at least one sequence"):
        corpus.subset(np.zeros(0, dtype=np.int64))


def test_fingerprint_sees_every_change():
    problem = make_problem(seed=1, n_labels=3, lengths=[3, 2], n_attributes=4, list_size=3, real_values=True)
    first, second = problem.sequences
    changed = [
        replace(problem, sequences=(second, first)),
        replace(problem, sequences=(first,)),
        replace(problem, sequences=(replace(first, labels=(*first.labels[:-1], -1)), second)),
        replace(problem, sequences=(replace(first, weight=2.0), second)),
        replace(problem, sequences=(replace(first, token_weight=(1.0, 1.0, 0.5)), second)),
        replace(problem, sequences=(replace(first, unigram=(((0, 1.5),), *first.unigram[1:])), second)),
        replace(problem, sequences=(replace(first, bigram=(((0, 1.25),), *first.bigram[1:])), second)),
        replace(problem, sequences=(replace(first, bigram=(((1, 1.25),), *first.bigram[1:])), second)),
        replace(
            problem, mu=problem.mu[:, :2], lam=problem.lam[:, :3, :2], sequences=(replace(first, labels=(0, 1, 1)),)
        ),
    ]
    prints = {p.corpus().fingerprint for p in (problem, *changed)}
    assert len(prints) == len(changed) + 1
    assert problem.corpus().fingerprint == problem.corpus().fingerprint
