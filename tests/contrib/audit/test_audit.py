"""An audit: its probabilities against enumeration, what it ranks first, what it refuses."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sentences import sentences, words

from sparsecrf import CRF, InputError, audit
from sparsecrf.contrib.audit.out_of_fold import Spans
from sparsecrf.contrib.audit.page import audit_page
from sparsecrf.contrib.audit.probabilities import best_inside, given_others, span_log_probs

LABELS = ["B-LOC", "B-PER", "I-PER", "O"]


@pytest.fixture(scope="module", params=[2, 3])
def enumerated(request):
    """A model of label pairs or triples, a sequence with its labels, and the probability of all label sequences."""
    X, y = sentences(40)
    model = CRF(order=request.param, rho1=0.05).fit(words(X), y).model_
    assert (model.features.n_ngram > 0) == (request.param == 3)
    tokens, labels = ["Ada", "saw", "Alan", "Paul", "old"], ["B-PER", "O", "B-PER", "I-PER", "B-LOC"]
    corpus = model.encode([["the"], tokens], [["O"], labels])
    paths = list(product(range(len(model.labels)), repeat=len(tokens)))
    p = np.array([np.exp(model.log_prob(tokens, [model.labels[y] for y in path])) for path in paths])
    assert_allclose(p.sum(), 1)
    return model, corpus, np.array(paths), p, request.param


def test_probability_of_a_label_given_the_others(enumerated):
    model, corpus, paths, p, order = enumerated
    given = corpus.labels[1:]
    found = given_others(model.chain_with(1), corpus, order)[1:]
    for t in range(len(given)):
        others = np.arange(len(given)) != t
        same = (paths[:, others] == given[others]).all(axis=1)
        expected = [p[same & (paths[:, t] == y)].sum() / p[same].sum() for y in range(len(model.labels))]
        assert_allclose(found[t], expected, rtol=1e-9)


@pytest.mark.parametrize("window", [(0, 1), (2, 4), (1, 5), (0, 5)])
def test_probability_of_a_span(enumerated, window):
    model, corpus, paths, p, _ = enumerated
    a, b = window
    given, inside = corpus.labels[1:], np.zeros(5, dtype=bool)
    inside[a:b] = True
    right = (paths[:, inside] == given[inside]).all(axis=1)
    rest = (paths[:, ~inside] == given[~inside]).all(axis=1)
    sequences = np.array([1, 0, 1])  # windows of several sequences, one of them twice
    without, with_others = span_log_probs(model.chain_with(1), corpus, sequences, [window, (0, 1), window])
    assert_allclose(np.exp(without[[0, 2]]), p[right].sum(), rtol=1e-9)
    assert_allclose(np.exp(with_others[[0, 2]]), p[right & rest].sum() / p[rest].sum(), rtol=1e-9)
    (best,) = best_inside(model.chain_with(1), corpus, np.array([1]), [window])
    assert best.tolist() == paths[rest][p[rest].argmax()][inside].tolist()


def test_spans_that_are_judged():
    spans = Spans(LABELS)
    given = ["O", "B-PER", "I-PER", "B-LOC", "O", "O", "O"]
    best = ["O", "B-PER", "O", "B-LOC", "O", "O", "B-PER"]
    assert [tuple(window) for window in spans.windows(given, best)] == [(1, 3, 0, 3), (3, 4, 3, 5), (6, 7, 6, 7)]
    assert [spans.kind(labels) for labels in (["O", "O"], ["O", "B-PER"], ["B-PER", "B-LOC"])] == [
        "O",
        "PER",
        "PER LOC",
    ]
    tags = Spans(["DET", "NOUN", "O"], "none")
    assert [tuple(w) for w in tags.windows(["DET", "DET", "O"], ["DET"] * 3)] == [
        (0, 1, 0, 1),
        (1, 2, 1, 2),
        (2, 3, 2, 3),
    ]


@pytest.mark.parametrize("labels", [["author", "author", "title"], ["<a>", "I-<a>", "O"], ["B-X", "I-X", "O"]])
def test_spans_are_those_of_the_model(labels):
    model = CRF(rho1=0.01).fit([["a", "b", "c"]] * 2, [labels] * 2).model_
    own = [(span.start, span.end) for span in model.spans(["a", "b", "c"])]
    assert [w[:2] for w in Spans(model.labels).windows(labels, labels)] == own


@pytest.mark.parametrize(
    ("parameters", "wrong"), [({"rho1": "auto"}, "rho1: expected a number"), ({"rho2": "search"}, "for one fit")]
)
def test_penalties_to_search_for_are_refused_before_data_are_read(parameters, wrong):
    with pytest.raises(InputError, match=wrong):
        audit(iter(()), None, **parameters)


@pytest.fixture(scope="module")
def noisy():
    """Good sentences with wrong labels in them, and where these are."""
    X, y = sentences(200, seed=1)
    rng, wrong = np.random.default_rng(0), {}
    for i in rng.choice(len(X), 30, replace=False).tolist():
        t = int(rng.integers(len(X[i])))
        wrong[i, t] = y[i][t]
        y[i][t] = str(rng.choice([label for label in LABELS if label != y[i][t]]))
    return words(X), y, wrong


@pytest.fixture(scope="module")
def found(noisy):
    X, y, _ = noisy
    return audit(X, y, features="words")


def test_wrong_labels_come_first(noisy, found):
    X, y, wrong = noisy
    assert [(s.sequence, s.token) for s in sorted(found.tokens)] == [
        (i, t) for i in range(200) for t in range(len(X[i]))
    ]
    assert all(s.label == y[s.sequence][s.token] != s.suggested for s in found.tokens)
    scores = [s.score for s in found.tokens]
    assert scores == sorted(scores, reverse=True)
    first = {(s.sequence, s.token): s.suggested for s in found.tokens[: len(wrong)]}
    # 2 % of the labels of the sentences themselves are wrong.
    assert len(first.keys() & wrong.keys()) > 0.6 * len(wrong)
    right = [first[place] == wrong[place] for place in first.keys() & wrong.keys()]
    assert np.mean(right) > 0.8


def test_wrong_spans_come_first(noisy, found):
    _, _, wrong = noisy
    first = {(s.sequence, t) for s in found.spans[: len(wrong)] for t in range(s.token - 1, s.end + 1)}
    assert len(first & wrong.keys()) > 0.6 * len(wrong)
    assert any(s.label == "O" for s in found.spans[: len(wrong)])  # spans that the labels lack


def test_scores_are_of_models_that_have_not_seen_the_sentence(noisy, found):
    X, y, _ = noisy
    suspect = found.tokens[0]
    model = found.model_for(suspect)
    p = model.marginals(X[suspect.sequence])[suspect.token, model.labels.index(suspect.label)]
    assert_allclose(suspect.probability, p, rtol=1e-9)
    assert_allclose(suspect.score, -np.log(p) - 0.5 * np.log(suspect.given_others), rtol=1e-9)
    assert sorted(found.fold) == list(range(len(X)))
    assert np.bincount(list(found.fold.values())).tolist() == [40] * 5
    # Whatever the label of a sentence is, the model that judges it stays the same.
    changed = [list(labels) for labels in y]
    changed[suspect.sequence][suspect.token] = suspect.suggested
    again = next(s for s in audit(X, changed, features="words").tokens if s[:2] == suspect[:2])
    assert again.probability > 10 * suspect.probability


def test_integers_missing_labels_sets_and_empty_sequences():
    X = [["a", "b"], [], ["a", "b", "b"], ["b", "a"], ["a"], ["b", "b"]] * 4
    y = [[1, 2], [], [1, 2, None], [2, 1], [2], [2, 2]] * 4
    _check_what_is_judged(audit(X, y, folds=3))
    sets = [[{1, 2} if label is None else label for label in labels] for labels in y]
    _check_what_is_judged(audit(X, sets, folds=3))


def _check_what_is_judged(found):
    assert {(s.label, s.suggested) for s in found.tokens} == {(1, 2), (2, 1)}
    assert found.tokens[0].sequence % 6 == 4
    places = {(s.sequence, s.token) for s in found.tokens}
    assert (2, 1) in places
    assert not {(2, 2), (1, 0)} & places
    assert 2 not in {s.sequence for s in found.spans}  # a span needs all labels


def test_groups_are_left_out_together(noisy):
    X, y, _ = noisy
    groups = [i // 10 for i in range(len(X))]
    found = audit(X, y, groups=groups, folds=3)
    assert all(len({found.fold[i] for i in range(10 * g, 10 * g + 10)}) == 1 for g in range(20))


def test_a_page_shows_text_as_text():
    X, y = [["<script>", "b"], ["&", "b"], ["b", "b"]] * 5, [["<i>", "N"], ["<i>", "N"], ["N", "<i>"]] * 5
    found = audit(X, y, folds=3)
    page = audit_page(found, X, name="<b>", top=29)
    assert page.count("<article") == 29
    assert "&lt;script&gt;" in page
    for tag in ("<script", "<i>", "<b>"):
        assert tag not in page


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([["a"]] * 9, [["N"]] * 9, {}, "audit: expected at least 2 different labels, .* found 1"),
        ([["a"], ["b"]], [["N"], ["V"]], {}, r"expected at least as many sequences as folds \(5\), found 2"),
        ([["a"], ["b"]] * 3, [["N"], ["V"]] * 3, {"folds": 1}, "folds: expected 2 to 6.*, found 1"),
        ([["a"], ["b"]] * 3, [["N"], ["V"]] * 3, {"groups": [1] * 6}, "folds: expected 2 to 1, the number of groups"),
        ([["a"], ["b"]] * 3, [["N"], ["V"]] * 3, {"scheme": "bio"}, "scheme: expected one of"),
        ([["a"]] * 6, [[None]] * 6, {}, "y: expected at least one label"),
        ([], [], {}, "expected"),
        ([["a"], ["b"]] * 3, [["N"], ["V"]] * 3, {"prior": "model"}, "'prior' is not supported for multiple fits"),
    ],
)
def test_bad_input(X, y, options, message):
    with pytest.raises(InputError, match=message):
        audit(X, y, **options)
