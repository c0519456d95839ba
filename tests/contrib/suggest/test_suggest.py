"""Suggestions: measures against enumeration, the greedy choice, sentences that a model has to learn."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sentences import sentences, words

from sparsecrf import CRF, InputError
from sparsecrf.contrib.suggest import DIVERSITY, MEASURE, MEASURES, suggest
from sparsecrf.contrib.suggest.interface import choose


@pytest.fixture(scope="module")
def model():
    X, y = sentences(60)
    return CRF(rho1=0.05).fit(words(X), y).model_


POOL = [["Ada", "saw", "Paul"], ["the"], ["Oslo", "unheard", "Alan", "in"]]


@pytest.mark.parametrize("number", range(len(POOL)))
def test_measures_by_enumeration(model, number):
    tokens, Y = POOL[number], len(model.labels)
    paths = np.array(list(product(range(Y), repeat=len(tokens))))
    p = np.array([np.exp(model.log_prob(tokens, [model.labels[y] for y in path])) for path in paths])
    marginals = np.array([[p[paths[:, t] == y].sum() for y in range(Y)] for t in range(len(tokens))])
    known = [sum(model.vocabulary.attributes.find(word) is not None for word in [token]) for token in tokens]
    gradients = [
        (n * ((q - np.eye(Y)[y]) ** 2).sum(), q[y]) for n, q in zip(known, marginals, strict=True) for y in range(Y)
    ]
    expected = {
        "confidence": -np.log(p.max()),
        "entropy": -(marginals * np.log(marginals)).sum(),
        "change": sum(length * weight for length, weight in gradients),
    }
    corpus = model.encode(POOL)
    for name, measure in MEASURES.items():
        assert_allclose(measure(model.chain_with(1), corpus)[number], expected[name], rtol=1e-9, err_msg=name)


def plain_choice(uncertainty, attributes, n, diversity):
    """Every gain anew at every step."""
    left, chosen, covered = list(range(len(uncertainty))), [], set()

    def gain(i):
        ids = set(attributes[i].tolist())
        return uncertainty[i] * (1 + diversity * (len(ids - covered) / len(ids) if ids else 0.0))

    while left and len(chosen) < n:
        best = max(left, key=lambda i: (gain(i), -i))
        chosen.append(best)
        left.remove(best)
        covered |= set(attributes[best].tolist())
    return chosen


@pytest.mark.parametrize("diversity", [0.0, 0.5, 5.0])
def test_the_greedy_choice(diversity):
    rng = np.random.default_rng(int(10 * diversity))
    for n in (1, 7, 40, 100):
        attributes = [np.unique(rng.integers(0, 30, rng.integers(0, 12))).astype(np.int32) for _ in range(40)]
        uncertainty = rng.integers(0, 5, 40).astype(float)  # with ties
        assert choose(uncertainty, attributes, n, diversity) == plain_choice(uncertainty, attributes, n, diversity)


@pytest.mark.parametrize("by", MEASURES)
def test_what_the_model_does_not_know_comes_first(model, by):
    easy, _ = sentences(30, seed=5)
    hard = [["Paul", "Ada", "in", "Paul", "Ada", "Paul"]] * 2  # names that are places, too
    found = suggest(model, [*words(easy), *hard, []], 5, by=by)
    assert found[0].sequence in (30, 31)
    assert len({s.sequence for s in found}) == 5
    # With diversity, a repeated sentence is worth less.
    alone = suggest(model, [*words(easy), *hard], 31, by=by, diversity=0)
    assert {s.sequence for s in alone[:2]} == {30, 31}
    far = [s.sequence for s in suggest(model, [*words(easy), *hard], 31, by=by, diversity=1e6)]
    assert abs(far.index(30) - far.index(31)) > 1


def test_words_that_the_model_lacks_count_as_different(model):
    """Sentences of unknown words are all equally uncertain."""
    pool = [["mlem", "blep"], ["mlem", "blep"], ["mlem", "splat"], ["blep", "mlem"], ["quux", "splat"]]
    assert [s.sequence for s in suggest(model, pool, 3)] == [0, 4, 1]
    assert [s.sequence for s in suggest(model, pool, 3, diversity=0)] == [0, 1, 2]


def test_tokens_with_vectors():
    rng = np.random.default_rng(0)
    X = [[({"w": word}, rng.normal(size=2)) for word in tokens] for tokens in words(sentences(20)[0])]
    found = suggest(CRF().fit(X, sentences(20)[1]).model_, [X[0], X[0], X[1]], 3)
    assert sorted(s.sequence for s in found) == [0, 1, 2]


def test_fewer_than_asked_for(model):
    assert sorted(s.sequence for s in suggest(model, [["Ada"], [], ["Oslo"]])) == [0, 2]


def test_blocks_do_not_change_the_choice(model, monkeypatch):
    X = words(sentences(50, seed=6)[0])
    expected = suggest(model, X, 20)
    monkeypatch.setattr("sparsecrf.contrib.suggest.interface._BLOCK", 7)
    assert [s.sequence for s in suggest(model, iter(X), 20)] == [s.sequence for s in expected]


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([], {}, "pool: expected at least one sequence with tokens, found none"),
        ([[], []], {}, "pool: expected at least one sequence with tokens"),
        ([["Ada"]], {"n": 0}, "n: expected a number of at least 1, found 0"),
        ([["Ada"]], {"by": "margin"}, "by: expected one of confidence, entropy, change, found 'margin'"),
        ([["Ada"]], {"diversity": -1}, "diversity: expected a number of at least 0, found -1"),
        ([["Ada"]], {"diversity": float("nan")}, "diversity: expected a number of at least 0, found nan"),
        (["Ada went"], {}, "expected a list of tokens, found text"),
    ],
)
def test_bad_input(model, X, options, message):
    with pytest.raises(InputError, match=message):
        suggest(model, X, **options)


def test_defaults_of_the_program():
    from inspect import signature
    from typing import get_args

    from sparsecrf.cli.suggest import suggest as command

    parameters = signature(command).parameters
    assert (parameters["by"].default, parameters["diversity"].default) == (MEASURE, DIVERSITY)
    assert get_args(get_args(parameters["by"].annotation)[0]) == tuple(MEASURES)
