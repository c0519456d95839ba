"""What `auto` is: dual where it is faster and possible, otherwise proximal; the same answer either way."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sparsecrf import Vocabulary
from sparsecrf.training import fit


def sentences(n_labels, n_tokens=2400, seed=0, n_attributes=1):
    """Sentences of eight words, whose labels follow from them with some noise."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 40, (n_tokens // 8, 8))
    noise = rng.integers(0, n_labels, words.shape) * (rng.random(words.shape) < 0.1)
    X = [[[f"{k}={word}" for k in range(n_attributes)] for word in line] for line in words]
    y = [[f"L{label}" for label in line] for line in (words + noise) % n_labels]
    return Vocabulary().encode(X, y, grow=True)


@pytest.fixture(scope="module")
def few_labels():
    return sentences(4)


def test_few_labels_and_small_penalties_are_for_dual(few_labels):
    found = fit(few_labels)
    assert found.solver == found.training_record()["solver"] == "dual"
    assert found.gap <= 5e-3 * found.objective
    other = fit(few_labels, solver="proximal")
    assert other.solver == "proximal"
    assert found.objective - found.gap <= other.objective <= found.objective + other.gap
    assert_array_equal(fit(few_labels, threads=3).w, found.w)


@pytest.mark.parametrize(
    "options",
    [
        {"rho1": "small"},
        {"rho2": 0.0},
        {"rho2": 0.01},
        {"order": 3},
        {"penalty": "group:attribute"},
        {"solver_options": {"memory": 5}},
    ],
    ids=lambda options: next(iter(options)),
)
def test_everything_else_is_for_proximal(few_labels, options):
    assert fit(few_labels, max_iter=2, certify=False, **options).solver == "proximal"


def test_other_data_and_starts_are_for_proximal(few_labels):
    assert fit(sentences(40), max_iter=2, certify=False).solver == "proximal"
    assert fit(sentences(4, 250), max_iter=2, certify=False).solver == "proximal"
    start = fit(few_labels, max_iter=1, certify=False)
    assert fit(few_labels, init=start, max_iter=2, certify=False).solver == "proximal"


def test_thirty_labels_are_for_dual_if_data_are_few_or_attributes_many():
    def chosen(*size, **shape):
        return fit(sentences(30, *size, **shape), max_iter=1, certify=False).solver

    assert chosen(24_000) == "dual"
    assert chosen(26_000) == "proximal"
    assert chosen(26_000, n_attributes=30) == "dual"


def test_points_of_dual_that_are_watched_have_no_gradient(few_labels):
    seen = []
    found = fit(few_labels, rho1=0.1, rho2=0.1, watch=seen.append)
    assert found.solver == "dual"
    assert_array_equal(seen[-1].w[seen[-1].w != 0], found.w)
    assert np.isnan(seen[-1].g).all()
