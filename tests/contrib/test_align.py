"""The EM aligner against the enumeration of all alignments."""

from itertools import pairwise, product
from math import log, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsecrf import InputError
from sparsecrf.contrib.datasets.align import JOIN, MOST, SILENT, Aligner, alignable
from sparsecrf.contrib.demo.letters import phonemes

WORDS = [("tax", ["T", "AE", "K", "S"]), ("axe", ["AE", "K", "S"]), ("tea", ["T", "IY"]), ("at", ["AE", "T"])]


def name(chunk):
    return JOIN.join(chunk) or SILENT


def alignments(letters, sounds):
    """Every way to give each letter a chunk of the phonemes, left to right."""
    for lengths in product(range(MOST + 1), repeat=len(letters)):
        if sum(lengths) == len(sounds):
            ends = np.cumsum([0, *lengths])
            yield [tuple(sounds[i:j]) for i, j in pairwise(ends)]


def chunk_ids(aligner):
    names = [SILENT, *aligner.phonemes, *(f"{p}{JOIN}{q}" for p in aligner.phonemes for q in aligner.phonemes)]
    return {chunk: k for k, chunk in enumerate(names)}


def probability(aligner, letters, chunks):
    ids = chunk_ids(aligner)
    return prod(aligner.theta[aligner.letters[x], ids[name(c)]] for x, c in zip(letters, chunks, strict=True))


def randomised(words, seed):
    aligner = Aligner.for_words(words)
    theta = np.random.default_rng(seed).gamma(0.5, size=aligner.theta.shape) + 1e-3
    aligner.theta = theta / theta.sum(axis=1, keepdims=True)
    return aligner


words_strategy = st.lists(
    st.tuples(st.text("abc", min_size=0, max_size=4), st.lists(st.sampled_from("PQ"), max_size=6)).filter(
        lambda word: alignable(*word)
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@given(words_strategy, st.integers(0, 2**32 - 1))
def test_expectations_are_those_of_all_alignments(words, seed):
    aligner = randomised(words, seed)
    ids = chunk_ids(aligner)
    counts, log_likelihood = np.zeros_like(aligner.theta), 0.0
    for letters, sounds in words:
        rated = [(chunks, probability(aligner, letters, chunks)) for chunks in alignments(letters, sounds)]
        total = sum(p for _, p in rated)
        log_likelihood += log(total)
        for chunks, p in rated:
            for letter, chunk in zip(letters, chunks, strict=True):
                counts[aligner.letters[letter], ids[name(chunk)]] += p / total
    found, value = aligner.expectations(words)
    np.testing.assert_allclose(found, counts, rtol=1e-9, atol=1e-12)
    assert value == pytest.approx(log_likelihood, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@given(words_strategy, st.integers(0, 2**32 - 1))
def test_best_alignment_is_the_most_probable(words, seed):
    aligner = randomised(words, seed)
    for (letters, sounds), labels in zip(words, aligner.align(words), strict=True):
        rated = {
            tuple(map(name, chunks)): probability(aligner, letters, chunks) for chunks in alignments(letters, sounds)
        }
        assert rated[tuple(labels)] == pytest.approx(max(rated.values()), rel=1e-3)


def test_theta_is_a_distribution_before_and_after():
    aligner = Aligner.for_words(WORDS)
    np.testing.assert_allclose(aligner.theta.sum(axis=1), 1.0)
    aligner.fit(WORDS)
    np.testing.assert_allclose(aligner.theta.sum(axis=1), 1.0)


@pytest.mark.slow
@given(words_strategy, st.integers(0, 2**32 - 1))
def test_likelihood_never_falls(words, seed):
    aligner = randomised(words, seed)
    values = aligner.fit(words, iterations=15, tol=0.0)
    assert values
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(values))


def test_learns_what_only_the_other_words_tell():
    """In `tax` alone, any letter could make two sounds; that x does follows from the other words."""
    aligner = Aligner.for_words(WORDS)
    aligner.fit(WORDS)
    assert aligner.align(WORDS) == [["T", "AE", "K+S"], ["AE", "K+S", "_"], ["T", "_", "IY"], ["AE", "T"]]


def test_a_word_em_has_not_seen_is_aligned():
    aligner = Aligner.for_words([*WORDS, ("bee", ["B", "IY"])])
    aligner.fit(WORDS)
    [labels] = aligner.align([("bee", ["B", "IY"])])
    assert len(labels) == 3
    assert phonemes(labels) == ("B", "IY")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (("a", ["T", "IY", "S"]), "word 0, 'a': expected at most 2 phonemes, 2 per letter, found 3: T IY S"),
        (("z", ["T"]), "word 0: expected a letter that occurs in the words of the aligner, found 'z'"),
        (("t", ["ZH"]), "word 0: expected a phoneme that occurs in the words of the aligner, found 'ZH'"),
    ],
)
def test_what_cannot_be_aligned_is_named(word, message):
    with pytest.raises(InputError) as error:
        Aligner.for_words(WORDS).align([word])
    assert str(error.value) == message


def test_em_names_a_word_that_theta_makes_impossible():
    aligner = Aligner.for_words(WORDS)
    aligner.fit(WORDS[2:])
    with pytest.raises(
        InputError, match=r"word 0: expected phonemes that the letters can produce, found phonemes with probability 0"
    ):
        aligner.fit([("at", ["K", "S"])])
