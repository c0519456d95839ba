"""A model asked by name, against enumeration of all paths."""

from __future__ import annotations

import copy
import json
import threading

import numpy as np
import pytest
from compare import assert_logs, assert_probabilities, magnitude
from hypothesis import given
from named import Named, named_models
from problems import weather
from strategies import seeds

import reference
from sparsecrf import BIAS, CRF, InputError, Model, Vocabulary, _core, fit

enumeration = reference.enumeration


def check_decodings(named: Named) -> None:
    model, psi = named.model, named.psi
    paths = enumeration.all_paths(psi)

    def probability(labels):
        wanted = np.array([named.labels.index(y) for y in labels])
        return paths.probability[(paths.labels == wanted).all(axis=1)][0]

    assert_probabilities(model.marginals(named.tokens, **named.limits), enumeration.node_marginals(psi))
    best = np.sort(paths.probability[np.isfinite(paths.score)])[::-1]
    assert_probabilities(probability(model.label(named.tokens, **named.limits)), best[0])
    k = 5
    found = model.nbest(named.tokens, k, **named.limits)
    assert len(found) == min(k, len(best))
    assert len({tuple(labels) for labels, _ in found}) == len(found)
    assert_probabilities([p for _, p in found], best[:k])
    assert_probabilities([p for _, p in found], [probability(labels) for labels, _ in found])


@pytest.mark.slow
@given(named_models())
def test_decodings_and_marginals(named):
    check_decodings(named)


@pytest.mark.slow
@given(named_models(limits=True))
def test_the_same_under_constraints_by_name(named):
    check_decodings(named)


@pytest.mark.slow
@given(named_models(), seeds)
def test_probabilities_of_labels(named, seed):
    model, psi = named.model, named.psi
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, len(named.labels), len(psi)).astype(np.int32)
    missing = rng.random(len(psi)) < 0.5
    labels = [named.labels[y] for y in ids]
    assert_logs(model.log_prob(named.tokens, labels), enumeration.log_prob(psi, ids), magnitude(psi))
    known = [None if m else y for y, m in zip(labels, missing, strict=True)]
    assert_logs(
        model.log_prob(named.tokens, known),
        enumeration.log_prob(psi, np.where(missing, -1, ids).astype(np.int32)),
        magnitude(psi),
    )
    start = int(rng.integers(len(psi)))
    stop = int(rng.integers(start, len(psi))) + 1
    assert_probabilities(
        model.span_prob(named.tokens, start, labels[start:stop]),
        np.exp(enumeration.span_log_prob(psi, start, ids[start:stop])),
    )


class TestFromWeights:
    def test_labels_keep_their_order(self):
        assert weather().labels == ["sun", "rain", "fog"]

    def test_order_of_the_weights_does_not_matter(self):
        model = weather()
        unigram = {("dry", "sun"): 2.0, ("wet", "rain"): 3.0, ("wet", "fog"): 0.5, ("grey", "fog"): 1.0}
        bigram = {(BIAS, "rain", "rain"): 1.0, (BIAS, None, "sun"): 0.7, ("grey", "rain", "fog"): 2.0}
        other = Model.from_weights(model.labels, dict(reversed(unigram.items())), dict(reversed(bigram.items())))
        tokens = ["dry", ["wet", "grey"], "grey"]
        assert model.marginals(tokens).tobytes() == other.marginals(tokens).tobytes()

    def test_zero_weights_are_not_active(self):
        model = Model.from_weights("AB", {("x", "A"): 0.0, ("x", "B"): 1.0}, {(BIAS, "A", "B"): 0.0})
        assert (len(model.features), model.n_active) == (3, 1)

    def test_no_weights_at_all(self):
        model = Model.from_weights("AB", {})
        np.testing.assert_array_equal(model.marginals(["x", "y"]), np.full((2, 2), 0.5))

    def test_attributes_condition_pairs_if_they_have_a_pair_weight(self):
        # lambda is exp(2) : 1 : 1 for the pairs (rain, .) if `grey` is present, before the unigram weight of `fog`.
        model = Model.from_weights(["rain", "fog"], {("wet", "rain"): 500.0}, {("grey", "rain", "fog"): 2.0})
        expected = np.exp(2.0) / (1.0 + np.exp(2.0))
        assert_probabilities(model.marginals(["wet", "grey"])[1, 1], expected)
        assert_probabilities(model.marginals(["wet", "nothing"])[1, 1], 0.5)

    @pytest.mark.parametrize("start", [True, False])
    def test_the_start_of_the_sequence(self, start):
        model = Model.from_weights("AB", {}, {(BIAS, None, "A"): np.log(3.0)}, start=start)
        assert_probabilities(model.marginals(["x", "y"])[:, 0], [0.75 if start else 0.5, 0.5])

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e101, -1e101])
    def test_weights_are_finite(self, bad):
        with pytest.raises(InputError, match="finite"):
            Model.from_weights("AB", {("x", "A"): bad})
        with pytest.raises(InputError, match="finite"):
            Model.from_weights("AB", {("x", "A"): 1.0}, {(BIAS, "A", "B"): bad})

    @pytest.mark.parametrize(
        ("unigram", "bigram"),
        [({("x", "C"): 1.0}, {}), ({}, {("x", "C", "A"): 1.0}), ({}, {("x", "A", "C"): 1.0})],
    )
    def test_label_of_a_weight_is_known(self, unigram, bigram):
        with pytest.raises(InputError, match=r"expected a label of the model \(A, B\), found 'C'"):
            Model.from_weights("AB", unigram, bigram)

    def test_at_least_one_label(self):
        with pytest.raises(InputError, match="label"):
            Model.from_weights([], {})


def test_unknown_attributes_are_ignored():
    model = weather()
    known = model.marginals(["dry", ["wet", "grey"], []])
    unknown = model.marginals(["dry", ["wet", "never seen", "grey"], {"never": 3.0}])
    assert known.tobytes() == unknown.tobytes()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_weights_and_values(sign):
    # Scores of 1e200: all the mass is on one path, and nothing is infinite or not a number.
    model = Model.from_weights("AB", {("x", "A"): sign * 1e100}, {("b", "A", "A"): sign * 1e100})
    for x, b in [(1e100, 0.0), (0.0, 1e100), (-1e100, 1e99), (1e100, 1e100)]:
        tokens = [[("x", x), ("b", b)]] * 2
        score = {
            labels: sign * 1e100 * (x * labels.count("A") + b * (labels == "AA")) for labels in ("AA", "AB", "BA", "BB")
        }
        best = [labels for labels in score if score[labels] == max(score.values())]
        assert "".join(model.label(tokens)) in best
        expected = [[sum(labels[t] == y for labels in best) / len(best) for y in "AB"] for t in range(2)]
        assert_probabilities(model.marginals(tokens), expected)
        assert np.isfinite(model.log_prob(tokens, "AA"))


def test_forms_of_tokens():
    model = Model.from_weights("AB", {("w:x", "A"): 1.0, ("n", "B"): 0.5})
    as_mapping = model.marginals([{"w": "x", "n": 2}, {"n": 1}])
    as_pairs = model.marginals([["w:x", ("n", 2.0)], [("n", 1.0)]])
    one_at_a_time = model.marginals(token for token in ({"w": ["x"], "n": 2}, "n"))
    assert as_mapping.tobytes() == as_pairs.tobytes() == one_at_a_time.tobytes()


def test_empty_constraints_change_nothing():
    model = weather()
    tokens = ["dry", "wet"]
    for limits in ({"allowed": [None, None]}, {"forbidden": []}, {"fixed": [None, None]}):
        assert_probabilities(model.marginals(tokens, **limits), model.marginals(tokens))


def test_a_corpus_at_once_and_one_by_one():
    model = weather()
    rng = np.random.default_rng(0)
    words = ["dry", "wet", "grey", "new"]
    X = [[[str(x) for x in rng.choice(words, rng.integers(0, 4))] for _ in range(n)] for n in rng.integers(1, 30, 50)]
    corpus = model.encode(X)
    assert_probabilities(model.chain.marginals(corpus), np.concatenate([model.marginals(x) for x in X]))
    labels, _ = model.chain.viterbi(corpus)
    assert [model.labels[y] for y in labels] == [y for x in X for y in model.label(x)]


def test_a_vocabulary_that_grew_no_longer_fits_a_model():
    """The model keeps the vocabulary that it was made with."""
    vocabulary = Vocabulary()
    corpus = vocabulary.encode([["dry"]], [["sun"]], grow=True)
    features = _core.FeatureSet.observed(corpus)
    model = Model(vocabulary, features, np.ones(len(features)))
    larger = vocabulary.encode([["brand new"]], grow=True)
    with pytest.raises(InputError, match="attributes"):
        model.chain.viterbi(larger)
    assert model.label(["dry", "brand new"]) == ["sun", "sun"]


def test_vocabulary_and_model_together():
    # The parts of a trained model: a vocabulary built from labelled data, and weights.
    vocabulary = Vocabulary(bigrams="all")
    corpus = vocabulary.encode([["dry", "wet"], ["wet"]], [["sun", "rain"], ["rain"]], grow=True)
    features = _core.FeatureSet.observed(corpus)
    w = np.linspace(-1.0, 1.0, len(features))
    model = Model(vocabulary, features, w)
    log_probs = model.log_prob(["dry", "wet"], ["sun", "rain"]) + model.log_prob(["wet"], ["rain"])
    assert_logs(-log_probs, _core.Oracle(corpus, threads=1).loss(features, w), magnitude=10.0)


def test_many_threads_share_one_model():
    rng = np.random.default_rng(1)
    labels = [f"y{k}" for k in range(20)]
    names = [f"x{k}" for k in range(50)]
    model = Model.from_weights(
        labels,
        {(x, y): float(rng.normal()) for x in names for y in rng.choice(labels, 3, replace=False)},
        {(BIAS, y, z): float(rng.normal()) for y in labels for z in rng.choice(labels, 4, replace=False)},
    )
    X = [[list(rng.choice(names, 3)) for _ in range(n)] for n in rng.integers(1, 40, 30)]
    forbidden = [("y0", "y1"), (None, "y3")]

    def answers(x):
        return (
            model.label(x, forbidden=forbidden),
            model.marginals(x).tobytes(),
            model.nbest(x, 3),
            model.log_prob(x, model.label(x)),
            model.chain.marginals(model.encode([x, x])).tobytes(),
        )

    serial = [answers(x) for x in X]
    wrong, together = [], threading.Barrier(8)

    def work(k):
        order = np.random.default_rng(k).permutation(len(X))
        together.wait()
        wrong.extend(int(i) for i in order if answers(X[i]) != serial[i])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_text_is_labelled_alike_after_other_pieces_and_errors():
    """It keeps what it has learnt of words from piece to piece, but nothing of a piece that is wrong."""
    rng = np.random.default_rng(5)
    words = [f"w{k}" for k in range(40)]
    X = [[[str(w)] for w in rng.choice(words, 6)] for _ in range(60)]
    y = [["A" if int(row[0][1:]) % 3 else "B" for row in x] for x in X]
    model = CRF(template="U:%x[0,0]\nU:%x[-1,0]\nU:%x[0,0]/%x[1,0]\nB\n", rho1=0.1).fit(X, y).model_
    pieces = ["".join(f"{w}\n" for w in rng.choice([*words, "new"], 9)).encode() + b"\n" for _ in range(50)]
    content = model.to_bytes()
    wrong = b"w1\nw2 too many columns\n\n"
    for piece in pieces:
        with pytest.raises(InputError, match="expected 1 column"):
            model.label_text(b"w3\nw4\n\n" + wrong, "file")
        assert model.label_text(piece, "file") == Model.from_bytes(content).label_text(piece, "file")


def test_a_model_has_the_names_of_its_corpus_and_no_others():
    vocabulary = Vocabulary(bigrams="all")
    corpus = vocabulary.encode([["a", "b"]] * 3, [["X", "Y"]] * 3, grow=True)
    found = fit(corpus, rho1=0.1, threads=1)
    before = found.model(vocabulary)
    vocabulary.encode([[f"new{k}" for k in range(5000)]], [["Z"] * 5000], grow=True)
    after = found.model(vocabulary)
    assert after.labels == before.labels == ["X", "Y"]
    assert after.to_bytes() == before.to_bytes()
    tokens, piece = ["a", "new4999"], b"?\ta\n?\tnew4999\n\n"
    assert after.nbest(tokens, 2) == before.nbest(tokens, 2)
    assert after.label_text(piece, "file") == before.label_text(piece, "file")
    with pytest.raises(InputError, match="expected 2 labels and 3 attributes, as in the features, found 3 and 5003"):
        Model(vocabulary, found.model(vocabulary).features, found.w)


def test_a_model_has_as_many_attributes_as_its_file():
    """Those with a weight, whatever the vocabulary knows."""
    vocabulary = Vocabulary()
    corpus = vocabulary.encode([["a", "b", "c"], ["b", "d"]] * 3, [["A", "B", "A"], ["B", "A"]] * 3, grow=True)
    model = fit(corpus, rho1=1.0).model(vocabulary)
    loaded = Model.from_bytes(model.to_bytes())
    assert (
        0 < model.n_attributes == loaded.n_attributes == len(loaded.vocabulary.attributes) < len(vocabulary.attributes)
    )
    assert repr(model) == repr(loaded)
    assert model.explain().summary == loaded.explain().summary


def test_a_model_does_not_change():
    model = Model.from_weights(["N"], {("a", "N"): 1.0})
    before = model.to_bytes()
    for name in ("template", "training", "dense", "vectors", "features", "chain", "w", "new"):
        with pytest.raises(AttributeError):
            setattr(model, name, None)
    with pytest.raises(TypeError, match=r"use Model\.noted"):
        model.training["more"] = 1
    assert copy.deepcopy(model.training) == model.training == json.loads(json.dumps(model.training))
    weights = model.w
    with pytest.raises(ValueError, match="read-only"):
        weights[0] = 2.0
    assert model.to_bytes() == before
    other = model.noted(more=1)
    assert (other.training, "more" in model.training) == ({**model.training, "more": 1}, False)
    assert other.w.tolist() == model.w.tolist()
