"""ap, pa and arow: step by step against NumPy, and weight by weight against CRFsuite."""

from itertools import pairwise

import numpy as np
import pycrfsuite
import pytest
from newswire import sentences
from numpy.testing import assert_allclose
from problems import make_problem

from sparsecrf import InputError, Vocabulary
from sparsecrf._core import FeatureSet, Online
from sparsecrf.contrib import compat
from sparsecrf.contrib.report.words import certificate

RULES = [
    ("perceptron", {}),
    ("passive-aggressive", {"type": 0}),
    ("passive-aggressive", {"type": 1, "c": 0.05}),
    ("passive-aggressive", {"type": 2, "c": 0.3, "error_sensitive": False}),
    ("arow", {"variance": 0.5, "gamma": 2.0}),
]
ALGORITHMS = [
    ("ap", {}),
    ("averaged-perceptron", {"feature.possible_states": 1, "feature.possible_transitions": 1}),
    ("pa", {}),
    ("pa", {"type": 0, "averaging": 0}),
    ("passive-aggressive", {"type": 2, "c": 0.3, "error_sensitive": 0}),
    ("arow", {}),
    ("AROW", {"variance": 0.5, "gamma": 2.0, "feature.minfreq": 2}),
]


def made_up(n, seed=0):
    """Sequences with real values, in which the label depends on the attribute and on the label before."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = rng.integers(0, 3, rng.integers(1, 9))
        X.append([{f"w{k + rng.integers(0, 2)}": float(rng.normal() + 1), f"v{rng.integers(6)}": 1} for k in labels])
        y.append([f"L{k}" for k in labels])
    return X, y


def replay(sequences, Y, index, transition, rule, orders, type=1, c=1.0, error_sensitive=True, variance=1.0, gamma=1.0):
    """The algorithms as they are defined, with all weights in arrays. A sequence: attributes with values, labels."""
    K = 1 + max([*index.values(), *transition.values()])
    w, mean, u, cov = np.zeros(K), np.zeros(K), 0, np.full(K, variance)
    losses = []

    def F(x, y):
        f = np.zeros(K)
        for t, item in enumerate(x):
            for a, v in item:
                f[index.get((a, y[t]), -1)] += v * ((a, y[t]) in index)
            if t and (y[t - 1], y[t]) in transition:
                f[transition[y[t - 1], y[t]]] += 1
        return f

    def best(x):
        paths = {y: (0.0, (y,)) for y in range(Y)}
        for t, item in enumerate(x):
            s = [sum(v * w[index[a, y]] for a, v in item if (a, y) in index) for y in range(Y)]
            if t == 0:
                paths = [(s[y], (y,)) for y in range(Y)]
                continue
            lam = lambda i, y: w[transition[i, y]] if (i, y) in transition else 0.0  # noqa: E731
            froms = [max(range(Y), key=lambda i: (paths[i][0] + lam(i, y), -i)) for y in range(Y)]
            paths = [(paths[i][0] + lam(i, y) + s[y], (*paths[i][1], y)) for y, i in enumerate(froms)]
        return max(paths, key=lambda path: (path[0], tuple(-y for y in path[1])))

    for order in orders:
        loss = 0.0
        for i in order:
            x, y = sequences[i]
            score, path = best(x)
            wrong = sum(a != b for a, b in zip(path, y, strict=True))
            if wrong:
                delta = F(x, y) - F(x, path)
                missed = score - w @ F(x, y)
                if rule == "perceptron":
                    w, loss = w + delta, loss + wrong / len(y)
                elif rule == "arow":
                    cost = missed + wrong
                    w = w + cost / (gamma + delta**2 @ cov) * cov * delta
                    cov = 1 / (1 / cov + delta**2 / gamma)
                    loss += cost
                else:
                    cost = missed + (np.sqrt(wrong) if error_sensitive else 1)
                    tau = cost / (delta @ delta + (0.5 / c if type == 2 else 0))
                    w = w + (min(tau, c) if type == 1 else tau) * delta
                    loss += cost
            mean, u = mean + w, u + 1
        losses.append(loss)
    return losses, w, mean / (u + 1)


@pytest.mark.parametrize(("rule", "options"), RULES)
def test_the_core_takes_the_steps_of_the_definition(rule, options):
    X, y = made_up(25)
    corpus = Vocabulary(start=False).encode(X, y, grow=True)
    features = FeatureSet.observed(corpus)
    unigram = zip(features.unigram_attribute.tolist(), features.unigram_label.tolist(), strict=True)
    index = {cell: k for k, cell in enumerate(unigram)}
    bigram = zip(features.bigram_previous.tolist(), features.bigram_label.tolist(), strict=True)
    transition = {pair: features.n_unigram + k for k, pair in enumerate(bigram)}
    arrays, offsets = corpus.to_arrays(), corpus.offsets.tolist()
    entries = list(zip(arrays["unigram_id"].tolist(), arrays["unigram_value"].tolist(), strict=True))
    bounds = arrays["unigram_ptr"].tolist()
    items = [entries[begin:end] for begin, end in pairwise(bounds)]
    sequences = [(items[begin:end], corpus.labels[begin:end].tolist()) for begin, end in pairwise(offsets)]
    learner = Online(corpus, features, rule, **options)
    orders = [learner.order(3, epoch) for epoch in range(4)]
    assert sorted(orders[0].tolist()) == list(range(25)) != orders[0].tolist() != orders[1].tolist()
    losses = [learner.run(order) for order in orders]
    expected, w, mean = replay(sequences, 3, index, transition, rule, orders, **options)
    assert_allclose(losses, expected, rtol=1e-9)
    assert_allclose(learner.weights(average=False), w, rtol=1e-9, atol=1e-12)
    if rule != "arow":
        assert_allclose(learner.weights(average=True), mean, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("algorithm", "params"), ALGORITHMS)
def test_the_weights_of_crfsuite(algorithm, params, tmp_path):
    """One sequence: there is one order only. CRFsuite's weights are known to 6 decimals."""
    X, y = made_up(30, seed=1)
    x, y = [item for seq in X for item in seq], [label for seq in y for label in seq]
    found = []
    for package in (pycrfsuite, compat):
        trainer = package.Trainer(algorithm, {**params, "max_iterations": 6}, verbose=False)
        trainer.append(x, y)
        trainer.train(str(tmp_path / "model"))
        tagger = package.Tagger()
        with tagger.open(str(tmp_path / "model")):
            info = tagger.info()
        log = [(i["num"], i["loss"], i["feature_norm"]) for i in trainer.logparser.iterations]
        found.append((info.state_features, info.transitions, log))
    for theirs, ours in zip(*found, strict=True):
        if isinstance(ours, list):
            assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
        else:
            names = theirs.keys() | ours.keys()
            assert_allclose([ours.get(k, 0) for k in names], [theirs.get(k, 0) for k in names], rtol=0, atol=1e-6)


@pytest.mark.parametrize("algorithm", ["ap", "averaged-perceptron", "pa", "passive-aggressive", "arow"])
def test_parameters_are_theirs(algorithm):
    ours, theirs = compat.Trainer(algorithm, verbose=False), pycrfsuite.Trainer(algorithm, verbose=False)
    assert ours.params() == theirs.params()
    assert ours.get_params() == theirs.get_params()
    assert all(ours.help(name) for name in ours.params())


@pytest.fixture(scope="module")
def news():
    rows = sentences(700, seed=5)
    X = [[{"w": w.lower(), "pos": p, "end": w[-3:]} for w, p, _ in s] for s in rows]
    return X, [[label for _, _, label in s] for s in rows]


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_as_good_as_theirs_and_the_same_every_time(news, algorithm, tmp_path):
    """Beside theirs, which takes the sequences in another order."""
    X, y = news
    scores, contents = [], []
    for package in (pycrfsuite, compat, compat):
        trainer = package.Trainer(algorithm, {"max_iterations": 10}, verbose=False)
        for xseq, yseq in zip(X[:500], y[:500], strict=True):
            trainer.append(xseq, yseq)
        trainer.train(str(tmp_path / "model"))
        tagger = package.Tagger()
        with tagger.open(str(tmp_path / "model")):
            found = [tagger.tag(xseq) for xseq in X[500:]]
        scores.append(compat.metrics.flat_accuracy_score(y[500:], found))
        contents.append((tmp_path / "model").read_bytes())
    assert contents[1] == contents[2]
    assert scores[1] > scores[0] - 0.01
    assert scores[1] > 0.9


def test_the_certificate_says_that_there_is_none():
    crf = compat.CRF("pa", max_iterations=3).fit(*made_up(5))
    assert crf.model_.training["certificate"] == "none: passive-aggressive learning does not maximise a likelihood"
    words = certificate(crf.model_.training)
    assert words.headline == "Not a likelihood model"
    assert "does not maximise a likelihood" in words.detail
    assert not words.good
    shown = " ".join(str(crf.model_.explain()).replace("│", " ").split())  # lines of the table may be broken anywhere
    assert "does not maximise a likelihood" in shown


def test_stopping():
    X, y = made_up(5)
    for algorithm, epsilon, most in (("ap", 0.9, 3), ("pa", 100.0, 1), ("arow", 0.0, 99)):
        trainer = compat.Trainer(algorithm, {"epsilon": epsilon}, verbose=False)
        for xseq, yseq in zip(X, y, strict=True):
            trainer.append(xseq, yseq)
        trainer.train("")
        assert trainer.logparser.last_iteration["num"] <= most
        assert trainer.model.training["stopped_by"] == "loss"
        assert "Terminated with the stopping criterion\n" in trainer.logparser.log
    trainer.set("max_iterations", 0)
    trainer.train("")
    assert trainer.model.n_active == 0


def test_what_is_refused():
    X, y = made_up(3)
    corpus = Vocabulary(start=False).encode(X, y, grow=True)
    features = FeatureSet.observed(corpus)
    with pytest.raises(InputError, match="rule: expected perceptron, passive-aggressive or arow, found 'svm'"):
        Online(corpus, features, "svm")
    with pytest.raises(InputError, match="type: expected 0, 1 or 2, found 3"):
        Online(corpus, features, "passive-aggressive", type=3)
    with pytest.raises(InputError, match="expected numbers above 0, found 1, 1 and 0"):
        Online(corpus, features, "arow", gamma=0)
    with pytest.raises(InputError, match="sequences: expected numbers from 0 to 2, found 3"):
        Online(corpus, features, "arow").run(np.array([3]))
    weighted = make_problem(0, 3, [4, 5], 3, sequence_weights=True).corpus()
    with pytest.raises(InputError, match="weights of sequences and tokens are not supported"):
        Online(weighted, FeatureSet.observed(weighted), "arow")
    rich = make_problem(0, 3, [4, 5], 3).corpus()
    with pytest.raises(InputError, match="expected plain transitions"):
        Online(rich, FeatureSet.observed(rich), "arow")
    started = Vocabulary().encode(X, y, grow=True)
    with pytest.raises(InputError, match="features of the start label are not supported"):
        Online(started, FeatureSet.observed(started), "arow")
    with pytest.raises(InputError, match="type: expected one of 0, 1, 2, found 4"):
        compat.Trainer("pa", {"type": 4})
