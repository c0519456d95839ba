"""Answer sets with a given coverage: thresholds by the definition, sets against enumeration of all label sequences."""

from itertools import accumulate

import numpy as np
import pytest
from compare import assert_probabilities
from hypothesis import given
from hypothesis import strategies as st
from named import named_models
from sentences import sentences

import reference
from sparsecrf import CRF, InputError, Model
from sparsecrf.model.answer_sets import ScoreFinder, SetFinder, _score
from sparsecrf.model.calibration import KEY, Calibration

enumeration = reference.enumeration


# ---- Thresholds

scores = st.integers(0, 8).map(lambda k: k / 8)  # few values, so that ties occur
sentence_scores = st.lists(st.lists(scores, max_size=4), min_size=1, max_size=40)


@given(st.lists(scores, min_size=1, max_size=60), st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_threshold_of_sequences(own, coverage):
    """The ceil((n + 1) coverage)-th smallest score."""
    made = Calibration.of([[s] for s in own])
    place = int(np.ceil((len(own) + 1) * coverage - 1e-9))
    if place > len(own):
        with pytest.raises(InputError, match="at least"):
            made.threshold(coverage, "sequences")
    else:
        assert made.threshold(coverage, "sequences") == sorted(own)[place - 1]


@given(sentence_scores, st.sampled_from([0.5, 0.8, 0.9]))
def test_coverage_over_every_sentence_left_out(own, coverage):
    """The guarantee itself: sentences are exchangeable, so each of n + 1 is the new one equally often."""
    own = [one for one in own if one]
    missed = []
    for i, left_out in enumerate(own):
        try:
            q = Calibration.of(own[:i] + own[i + 1 :]).threshold(coverage, "tokens")
        except InputError:
            q = np.inf
        missed.append(np.mean([s > q for s in left_out]))
    assert np.sum(missed) <= (1 - coverage) * len(own) * (1 + 1e-9)


def test_few_thresholds_of_many_scores_are_enough():
    rng = np.random.default_rng(0)
    own = rng.random(20_000).tolist()
    made = Calibration.of([[s] for s in own])
    assert len(made.score) < 1500
    for coverage in (0.3, 0.9, 0.95, 0.99, 0.999):
        q = made.threshold(coverage, "sequences")
        missed = np.mean(np.array(own) > q)
        assert 0.94 * (1 - coverage) < missed <= 1 - coverage


# ---- Sets


def calibrated_at(model, q, kind):
    """The model with the threshold q for every coverage up to 0.9."""
    return model.noted(**{KEY: {kind: Calibration(9, [q], [0.0]).to_json()}})


@given(named_models(), st.floats(0, 0.999), st.integers(1, 30))
def test_sets_of_sequences(named, q, max_size):
    paths = enumeration.all_paths(named.psi)
    p = np.sort(paths.probability[np.isfinite(paths.score)])[::-1].tolist()
    before = list(accumulate(p[:-1], initial=0.0))
    if min(abs(b - q) for b in before) < 1e-9:
        return  # rounding decides
    size = sum(b <= q for b in before)
    (found,) = calibrated_at(named.model, q, "sequences").predict_set([named.tokens], 0.9, max_size=max_size)
    if size > max_size:
        assert found is None
    else:
        assert len({tuple(labels) for labels, _ in found}) == size
        assert_probabilities([probability for _, probability in found], p[:size])


@given(named_models(), st.floats(0, 0.999))
def test_sets_of_tokens(named, q):
    (found,) = calibrated_at(named.model, q, "tokens").predict_set([named.tokens], 0.9, of="tokens")
    for row, own in zip(enumeration.node_marginals(named.psi), found, strict=True):
        before = {y: sum(v for v in row if v > p) for y, p in zip(named.labels, row, strict=True)}
        for y, mass in before.items():
            if abs(mass - q) > 1e-9 and len(set(np.round(row, 9))) == len(row):
                assert (y in dict(own)) == (mass <= q)


def test_the_right_answer_is_in_the_set_at_its_own_score():
    """Probabilities whose exact sum is below the one that adds them up in turn; numbers of NumPy for both options."""
    p = [0.16, 0.12, 0.07, 0.06]
    record = {KEY: {"tokens": Calibration(9, [_score("abcd", p, "d")], [0.0]).to_json()}}
    assert SetFinder(record, list("abcd"), np.float32(0.9), "tokens", np.int64(4)).size(p) == 4


@given(named_models())
def test_scores(named):
    """Of every label sequence as the right one: the probability of all that are better."""
    model, paths = named.model, enumeration.all_paths(named.psi)
    possible = np.flatnonzero(np.isfinite(paths.score))
    for k in possible[:: max(1, len(possible) // 5)]:
        finder = ScoreFinder(model.labels)
        labels = [named.labels[y] for y in paths.labels[k]]
        finder.add(model.chain_with(1), model.encode([named.tokens], [labels]))
        p = paths.probability
        low, high = (p[p > p[k] * (1 + sign * 1e-9)].sum() for sign in (1, -1))
        assert low - 1e-9 <= finder.sequences[0][0] <= high + 1e-9


def test_sequences_beyond_the_list_are_scored_from_above():
    """15 tokens of three labels without weights: 3^15 label sequences of the same probability."""
    model = Model.from_weights(["A", "B", "C"], {("x", "A"): 1e-9})
    finder = ScoreFinder(model.labels)
    finder.add(model.chain_with(1), model.encode([["x"] * 15], [["C"] * 15]))
    assert finder.sequences == [[pytest.approx(1 - 3.0**-15)]]
    sets = SetFinder({KEY: {"sequences": Calibration(9, [0.5], [0.0]).to_json()}}, model.labels, 0.9, max_size=1000)
    assert sets(model.chain_with(1), model.encode([["x"] * 15]), model.labels) == [None]


# ---- Estimator, spans, files


@pytest.fixture(scope="module")
def fitted():
    X, y = ([[word for word, _ in one] for one in own] if k == 0 else own for k, own in enumerate(sentences(600)))
    crf = CRF(rho1=0.5).fit(X[:150], y[:150])
    return crf.calibrate(X[150:350], y[150:350]), X[350:], y[350:]


def covered(found, gold):
    return found is None or any(labels == gold for labels, _ in found)


@pytest.mark.parametrize("coverage", [0.7, 0.8, 0.9, 0.95])
def test_coverage_on_other_sentences(fitted, coverage):
    """200 sentences to calibrate on, 250 to test: four standard errors are 0.16 at 0.7, and 0.07 at 0.95."""
    crf, X, y = fitted
    slack = 4 * np.sqrt(coverage * (1 - coverage) * (1 / 200 + 1 / 250))
    sets = crf.predict_set(X, coverage, max_size=1000)
    assert np.mean([covered(*pair) for pair in zip(sets, y, strict=True)]) > coverage - slack
    tokens = crf.predict_set(X, coverage, of="tokens")
    share = [
        np.mean([label in dict(own) for own, label in zip(*pair, strict=True)]) for pair in zip(tokens, y, strict=True)
    ]
    assert np.mean(share) > coverage - slack


def test_sets_grow_with_the_coverage(fitted):
    crf, X, _ = fitted
    small, large = (crf.predict_set(X, coverage, max_size=1000) for coverage in (0.8, 0.95))
    sizes = np.array([[len(a), len(b)] for a, b in zip(small, large, strict=True) if a and b])
    assert (sizes[:, 0] <= sizes[:, 1]).all()
    assert sizes[:, 0].sum() < sizes[:, 1].sum()
    assert [one[0][0] for one in small] == [one[0][0] for one in crf.predict_nbest(X, 1)]


def test_sets_of_spans(fitted):
    crf, X, y = fitted
    sets, spans = crf.predict_set(X, 0.9, of="spans"), crf.predict_spans(X)
    assert [[(s.start, s.end) for s in own] for own in sets] == [[(s.start, s.end) for s in own] for own in spans]
    missed = []
    reader = CRF.from_model(crf.model_).model_
    for tokens, gold, own in zip(X, y, sets, strict=True):
        if own:
            right = {(s.start, s.end): s.type for s in _gold_spans(reader, tokens, gold)}
            missed.append(np.mean([right.get((a, b)) not in dict(types) for a, b, types in own]))
            for _, _, types in own:
                assert types == sorted(types, key=lambda item: -item[1])
    assert np.mean(missed) < 0.1 + 4 * np.sqrt(0.09 * (1 / 150 + 1 / len(missed)))


def _gold_spans(model, tokens, gold):
    return model.spans(tokens, fixed=gold)


def test_labels_that_are_integers_and_empty_sequences():
    X = [["a"], ["b"], ["a", "b"], ["b", "a"]] * 10
    y = [[ord(token) for token in tokens] for tokens in X]
    crf = CRF(rho1=0.1).fit(X, y).calibrate(X, y)
    found = crf.predict_set([["a"], []], 0.9)
    assert found[0][0][0] == [97]
    assert found[1] == [([], 1.0)]
    assert crf.predict_set([["b"]], 0.9, of="tokens")[0][0][0][0] == 98


def test_model_answers_as_the_estimator(fitted):
    crf, X, _ = fitted
    assert crf.model_.predict_set(X[:20], 0.9) == crf.predict_set(X[:20], 0.9).tolist()


def test_the_file_keeps_it_as_long_as_the_weights_are_the_same(fitted, tmp_path):
    crf, X, y = fitted
    crf.model_.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert again.predict_set(X[:50], 0.9) == crf.model_.predict_set(X[:50], 0.9)
    for other in (again.scaled(2.0), Model.from_bytes(again.to_bytes(compact=True))):
        with pytest.raises(InputError, match=r"^coverage: expected a calibrated model"):
            other.predict_set(X[:1], 0.9)
    small = Model.from_bytes(again.to_bytes(compact=True)).calibrated(X, y)
    kept = Model.from_bytes(small.to_bytes(compact="int16"))
    assert kept.predict_set(X[:50], 0.9) == small.predict_set(X[:50], 0.9)


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1, float("nan"), "0.9", None, True])
def test_wrong_coverages(fitted, coverage):
    with pytest.raises(InputError, match="coverage: expected a number above 0 and below 1"):
        fitted[0].predict_set(fitted[1], coverage)


def test_more_than_the_calibration_can_tell(fitted):
    with pytest.raises(InputError, match=r"coverage=0.999: expected a model calibrated on at least 999 sentences"):
        fitted[0].predict_set(fitted[1], 0.999)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": "words"}, "of: expected one of sequences, tokens, spans, found 'words'"),
        ({"max_size": 0}, "max_size: expected an integer from 1 to 1000, found 0"),
        ({"max_size": 1001}, "found 1001"),
    ],
)
def test_wrong_options(fitted, options, message):
    with pytest.raises(InputError, match=message):
        fitted[0].predict_set(fitted[1], 0.9, **options)


def test_wrong_calibration_data(fitted):
    crf, X, y = fitted
    before = crf.model_
    with pytest.raises(InputError, match="calibration: expected at least 19 sentences"):
        crf.calibrate(X[:18], y[:18])
    with pytest.raises(InputError, match=r"sequence 1, token 0: expected a label of the model .*found 'NEW'"):
        crf.calibrate(X[:20], [y[0], ["NEW", *y[1][1:]], *y[2:20]])
    with pytest.raises(InputError, match=r"sequence 0, token 0: .*found none"):
        crf.calibrate(X[:20], [[None, *y[0][1:]], *y[1:20]])
    for several in ({"O", "B-PER"}, ["O"]):
        for calibrate in (crf.calibrate, crf.model_.calibrated):
            with pytest.raises(InputError, match=r"sequence 0, token 0: expected a label of .*found [{[]'"):
                calibrate(X[:20], [[several, *y[0][1:]], *y[1:20]])
    with pytest.raises(InputError, match="sequence 0"):
        crf.calibrate(X[:20], [y[0][:-1], *y[1:20]])
    assert crf.model_ is before


def test_a_model_without_chunks_has_no_spans():
    X = [["a"], ["b"]] * 20
    crf = CRF(rho1=0.1).fit(X, X).calibrate(X, X)
    with pytest.raises(InputError, match="not calibrated for spans"):
        crf.predict_set(X, 0.9, of="spans")


@pytest.mark.parametrize(
    "record", [1, {}, {"sequences": 1}, {"sequences": {"n": 9, "score": [2, 1], "missed": [1, 0]}}]
)
def test_a_damaged_record(record):
    model = Model.from_weights(["A"], {("x", "A"): 1.0}).noted(**{KEY: record})
    with pytest.raises(InputError, match="calibrat"):
        model.predict_set([["x"]], 0.5)
