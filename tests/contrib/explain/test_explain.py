"""Explanations of models and of labellings: contributions add up, margins are those of all paths."""

import io
import sys

import numpy as np
import pytest
from compare import assert_logs, assert_probabilities, magnitude
from hypothesis import given
from named import named_models
from numpy.testing import assert_allclose, assert_array_equal
from problems import weather
from strategies import seeds

import reference
from sparsecrf import BIAS, CRF, InputError, Model, Template, Vocabulary, fit
from sparsecrf.contrib.explain import START, Contribution, Weight
from sparsecrf.shards.dataset import encode_columns

enumeration = reference.enumeration


def total(explained):
    """The sum of all contributions, and the same from the arrays."""
    y = [explained.labels.index(name) for name in explained.path]
    arrays = sum(t.unigram[:, k].sum() + t.bigram[:, k].sum() for t, k in zip(explained.tokens, y, strict=True))
    listed = sum(term.amount for t in explained.tokens for term in t.contributions())
    assert_allclose(arrays, listed, rtol=1e-9, atol=1e-9)
    return listed


def by_definition(model, attributes, path):
    """theta . F of a path, from weights by name; attributes: (name, value) lists of every position."""
    weights = {weight[:3]: weight.weight for weight in model.explain(top=None).largest()}
    pairs = model.vocabulary.bigrams
    score = 0.0
    for t, (token, y) in enumerate(zip(attributes, path, strict=True)):
        score += sum(v * weights.get((x, None, y), 0.0) for x, v in token)
        if t > 0 or model.vocabulary.start:
            conditioning = [(x, v) for x, v in token if pairs == "all" or (pairs != "bias" and x in pairs)]
            previous = path[t - 1] if t else START
            score += sum(v * weights.get((x, previous, y), 0.0) for x, v in [*conditioning, (BIAS, 1.0)])
    return score


# A labelling


@pytest.mark.slow
@given(named_models(), seeds)
def test_contributions_add_up_and_margins_are_those_of_all_paths(named, seed):
    """Of the best path, and of any other."""
    model, psi = named.model, named.psi
    paths = enumeration.all_paths(psi)
    node = enumeration.node_marginals(psi)
    other = np.random.default_rng(seed).integers(0, len(named.labels), len(psi)).astype(np.int32)
    for given_labels in (None, [named.labels[y] for y in other]):
        explained = model.explain(named.tokens, given_labels)
        ids = np.array([named.labels.index(y) for y in explained.path], dtype=np.int32)
        if given_labels is None:
            assert explained.path == model.label(named.tokens)
        else:
            assert explained.path == given_labels
        assert_allclose(explained.score, reference.path_score(psi, ids), rtol=1e-9, atol=1e-9)
        assert_allclose(total(explained), explained.score, rtol=1e-9, atol=1e-9)
        assert_logs(explained.log_prob, enumeration.log_prob(psi, ids), magnitude(psi))
        assert_probabilities(explained.marginals, node)
        for t, token in enumerate(explained.tokens):
            assert token.previous == (explained.path[t - 1] if t else START)
            assert_allclose(token.score, psi[t, ids[t - 1] if t else len(named.labels), ids[t]], rtol=1e-9, atol=1e-9)
            here = paths.labels[:, t] == ids[t]
            if here.all():
                assert (token.runner_up, token.margin, token.path_margin) == (None, np.inf, np.inf)
                continue
            best_other = np.delete(node[t], ids[t]).max()
            assert_allclose(node[t, named.labels.index(token.runner_up)], best_other, rtol=1e-9)
            assert_allclose(token.margin, np.log(node[t, ids[t]] / best_other), rtol=1e-7, atol=1e-9)
            margin = paths.score[here].max() - paths.score[~here].max()
            assert_allclose(token.path_margin, margin, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@given(named_models())
def test_contributions_to_other_labels(named):
    """The score of every label after the path's previous one, not only of the path's own."""
    psi, explained = named.psi, named.model.explain(named.tokens)
    for t, token in enumerate(explained.tokens):
        previous = len(named.labels) if t == 0 else named.labels.index(token.previous)
        for y, name in enumerate(named.labels):
            terms = token.contributions(name)
            assert_allclose(sum(term.amount for term in terms), psi[t, previous, y], rtol=1e-9, atol=1e-9)
            assert all(term.amount == term.value * term.weight != 0 for term in terms)
            assert [abs(term.amount) for term in terms] == sorted((abs(term.amount) for term in terms), reverse=True)


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("bigrams", ["bias", "all"])
def test_a_trained_model(bigrams, start):
    """Real values, mappings, an attribute twice, unknown ones."""
    X = [[{"w": "a", "n": 0.5}, {"w": "b", "n": -2.0}], [{"w": "b"}, {"w": "a", "n": 3.0}, {"w": "c", "n": 1.0}]]
    y = [["P", "Q"], ["R", "P", "Q"]]
    vocabulary = Vocabulary(bigrams=bigrams, start=start)
    model = fit(vocabulary.encode(X, y, grow=True), rho1=0.01, rho2=0.1).model(vocabulary)
    tokens = [{"w": ["a", "a", "new"], "n": 1.5}, {"w": "new"}, {"w": "b", "n": -0.25}]
    plain = [[("w:a", 2.0), ("n", 1.5)], [], [("w:b", 1.0), ("n", -0.25)]]
    for labels in (None, ["Q", "Q", "R"]):
        explained = model.explain(tokens, labels)
        assert_allclose(total(explained), explained.score, rtol=1e-9, atol=1e-9)
        assert_allclose(by_definition(model, plain, explained.path), explained.score, rtol=1e-9, atol=1e-9)
        assert_allclose(explained.log_prob, model.log_prob(tokens, explained.path), rtol=1e-9, atol=1e-9)
    first, second, third = explained.tokens
    assert dict(zip(first.attributes, first.values, strict=True)) == dict(plain[0])
    assert second.attributes == []
    assert dict(zip(third.attributes, third.values, strict=True)) == dict(plain[2])
    assert (first.bigram_attributes == []) == (not start)
    assert set(third.bigram_attributes) == ({BIAS, "w:b", "n"} if bigrams == "all" else {BIAS})
    assert [token.text for token in explained.tokens] == ["w, n", "new", "b"]


@pytest.mark.parametrize("start", [True, False])
def test_a_model_with_a_template(start):
    template = Template("U0:%x[0,0]\n*1:%x[-1,0]\nB2:%x[0,1]\nB\n*\nU\n")
    vocabulary = Vocabulary(bigrams=Template.conditions_pairs, start=start)
    data = io.BytesIO(b"a x P\nb y Q\na y Q\n\nb x Q\nb x P\n")
    corpus = encode_columns([data], vocabulary, template, grow=True).corpus
    model = fit(corpus, rho1=0.01, rho2=0.1).model(vocabulary, template=template, n_columns=2)
    rows = [["b", "y"], ["a", "x"], ["new", "x"]]
    weights = {weight[:3]: weight.weight for weight in model.explain(top=None).largest()}
    for labels in (None, ["Q", "P", "P"]):
        explained = model.explain(rows, labels)
        score = 0.0
        for t, (made, label) in enumerate(zip(template.attributes(rows), explained.path, strict=True)):
            previous = explained.path[t - 1] if t else START
            score += sum(weights.get((x, None, label), 0.0) for x in made)
            if t > 0 or start:
                score += sum(weights.get((x, previous, label), 0.0) for x in made)
        assert_allclose(score, explained.score, rtol=1e-9, atol=1e-9)
        assert_allclose(total(explained), score, rtol=1e-9, atol=1e-9)
        assert set(explained.tokens[0].bigram_attributes) == ({"*1:_B-1", "B2:y", "B", "*"} if start else set())
        assert [token.text for token in explained.tokens] == ["b", "a", "new"]


def test_contributions_by_hand():
    explained = weather().explain(["dry", ["wet", "grey"], [("grey", 1.5), "nix", ("grey", 0.5)]])
    assert explained.path == ["sun", "rain", "fog"]
    assert explained.tokens[0].contributions() == [
        Contribution("dry", "unigram", 1.0, 2.0, 2.0),
        Contribution(BIAS, "transition", 1.0, 0.7, 0.7),
    ]
    assert explained.tokens[2].contributions() == [
        Contribution("grey", "transition", 2.0, 2.0, 4.0),
        Contribution("grey", "unigram", 2.0, 1.0, 2.0),
    ]
    assert explained.tokens[2].contributions("rain") == [Contribution(BIAS, "transition", 1.0, 1.0, 1.0)]
    assert_allclose(explained.score, 11.7)
    assert_allclose(explained.probability, np.exp(explained.log_prob))


def test_labels_that_are_missing_are_the_best():
    explained = weather().explain(["dry", "wet", "wet"], ["fog", None, None])
    assert explained.path == weather().label(["dry", "wet", "wet"], fixed=["fog", None, None])
    assert explained.tokens[0].runner_up == "sun"
    assert explained.tokens[0].margin < 0
    assert explained.tokens[0].path_margin < 0


def test_nothing_known_and_one_label():
    explained = Model.from_weights(["only"], {}).explain(["a", iter(["b"])])
    assert (explained.path, explained.score, explained.log_prob) == (["only", "only"], 0.0, 0.0)
    assert [(token.text, token.attributes, token.contributions()) for token in explained.tokens] == [
        ("a", [], []),
        ("b", [], []),
    ]


def test_probabilities_that_are_zero_to_a_double():
    model = Model.from_weights(["P", "Q", "R"], {("a", "P"): 2000.0, ("a", "R"): -2000.0})
    for labels, runner_up, margin, path_margin in (
        (["P"], "Q", np.inf, 2000.0),
        (["Q"], "P", -np.inf, -2000.0),
        (["R"], "P", -np.inf, -4000.0),
    ):
        [token] = model.explain(["a"], labels).tokens
        assert (token.runner_up, token.margin, token.path_margin) == (runner_up, margin, path_margin)


def test_errors_of_sequences():
    model = weather()
    with pytest.raises(InputError, match="expected at least one position, found none"):
        model.explain([])
    with pytest.raises(InputError, match="labels: expected 2 entries, one per token, found 1"):
        model.explain(["dry", "wet"], ["sun"])
    with pytest.raises(InputError, match=r"expected a label of the model \(sun, rain, fog\), found 'snow'"):
        model.explain(["dry"], ["snow"])
    with pytest.raises(InputError, match="found 'snow'"):
        model.explain(["dry"]).tokens[0].contributions("snow")
    with pytest.raises(InputError, match=r"top: expected.*positive integer.*None.*found 0"):
        model.explain(["dry"], top=0)
    with pytest.raises(InputError, match="labels: expected a sequence for these labels, found none"):
        model.explain(labels=["sun"])


# A model


@pytest.mark.slow
@given(named_models())
def test_all_weights_of_a_model(named):
    model = named.model
    explained = model.explain(top=None)
    found = {weight[:3]: weight.weight for own in explained.weights.values() for weight in own}
    found |= {weight[:3]: weight.weight for weight in explained.bigrams}
    names, previous = [*named.attributes, BIAS], [*named.labels, START]
    expected = {}
    for (x, y), w in np.ndenumerate(named.mu):
        if names[x] != BIAS:
            expected[names[x], None, named.labels[y]] = w
    for (x, p, y), w in np.ndenumerate(named.lam):
        if w != 0 and names[x] in named.conditioning:
            expected[names[x], previous[p], named.labels[y]] = w
    assert found == expected
    assert_array_equal(explained.transitions, named.lam[-1])
    everything = explained.largest()
    assert len(everything) == model.n_active == len(expected) + np.count_nonzero(named.lam[-1])
    sizes = [abs(weight.weight) for weight in everything]
    assert sizes == sorted(sizes, reverse=True)
    for y in named.labels:
        assert model.explain(top=1).weights[y] == explained.weights[y][:1]
        assert model.explain(top=None, label=y).largest() == [weight for weight in everything if weight.label == y]
    uses = explained.templates
    assert sum(use.unigram + use.bigram for use in uses) == model.n_active
    assert_allclose(sum(use.mass for use in uses), np.abs(model.w).sum())


def test_a_label_and_an_attribute():
    explained = weather().explain(label="fog", top=1)
    assert explained.weights == {"fog": [Weight("grey", None, "fog", 1.0)]}
    assert explained.bigrams == [Weight("grey", "rain", "fog", 2.0)]
    explained = weather().explain(attribute="wet")
    assert explained.largest() == [Weight("wet", None, "rain", 3.0), Weight("wet", None, "fog", 0.5)]
    assert weather().explain().plain_transitions() == [
        Weight(BIAS, "rain", "rain", 1.0),
        Weight(BIAS, START, "sun", 0.7),
    ]


def test_zero_weights_are_not_there():
    made = weather()
    w = made.w.copy()
    w[0] = 0.0
    explained = Model(made.vocabulary, made.features, w).explain()
    assert explained.summary["active_unigram"] == 3
    assert len(explained.largest()) == 6


def test_errors_of_models():
    with pytest.raises(InputError, match=r"the model's 3 labels \(such as 'rain'\), found 'rian'"):
        weather().explain(label="rian")
    with pytest.raises(InputError, match=r"the model's 4 attributes \(such as 'grey', 'dry'\), found 'gray'"):
        weather().explain(attribute="gray")
    with pytest.raises(InputError, match="found -1"):
        weather().explain(top=-1)


# Frames


def test_frames():
    pytest.importorskip("pandas", reason="frames are optional")
    frame = weather().explain(top=1).to_frame()
    assert list(frame.columns) == ["attribute", "previous", "label", "weight"]
    assert len(frame) == 7
    assert frame.previous[frame.attribute == "wet"].isna().all()
    explained = weather().explain(["dry", ["wet", "grey"]])
    frame = explained.to_frame()
    assert_allclose(frame.amount.sum(), explained.score)
    assert list(frame.position) == [0, 0, 1]
    assert len(Model.from_weights(["only"], {}).explain(["a"]).to_frame()) == 0


def test_no_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs the package pandas"):
        weather().explain().to_frame()


# Other tokens, size


def test_rows_of_a_matrix():
    model = Model.from_weights(["P", "Q"], {("x0", "P"): 2.0, ("x2", "Q"): 1.5}, {(BIAS, "P", "Q"): 0.5})
    matrix = np.array([[1.0, 5.0, 0.0], [0.0, 0.0, 3.0]])
    explained = model.explain(matrix)
    assert [token.text for token in explained.tokens] == ["0", "1"]
    assert explained.score == total(explained) == 2.0 + 4.5 + 0.5


@pytest.mark.slow
def test_a_large_model_gives_names_to_what_is_shown_only():
    """300,000 weights of 100,000 attributes: a lookup for each would be seen in the count."""
    X, Y = 100_000, 10
    vocabulary = Vocabulary()
    for k in range(Y):
        vocabulary.labels.intern(f"L{k}")
    for k in range(X):
        vocabulary.attributes.intern(f"w:{k}")
    rng = np.random.default_rng(0)
    number = np.sort(rng.choice(X * Y, 300_000, replace=False))
    w = rng.normal(size=len(number))
    model = Model.from_cells(vocabulary, np.stack([number // Y, number % Y], axis=1), w, [], [])
    explained = model.explain(top=3)
    lookups = _Counting(explained._table.attribute_names)
    object.__setattr__(explained._table, "attribute_names", lookups)
    best = number[np.argsort(-np.abs(w))]
    for y in range(Y):
        own = best[best % Y == y][:3]
        assert [weight.attribute for weight in explained.weights[f"L{y}"]] == [f"w:{k // Y}" for k in own]
    assert lookups.count == 3 * Y


class _Counting:
    def __init__(self, table):
        self.table, self.count = table, 0

    def __getitem__(self, k):
        self.count += 1
        return self.table[k]


@pytest.mark.parametrize("boundary", ["crf++", "wapiti"])
def test_every_line_without_macro_has_plain_transitions(boundary):
    """CRF++'s templates may have B00 instead of B."""
    template = Template("U0:%x[0,0]\nB00\n*\nB1:%x[0,0]\n", boundary)
    X, y = [[["a"], ["b"], ["a"]]] * 5, [["x", "y", "x"]] * 5
    model = CRF(rho1=0.01, template=template).fit(X, y).model_
    everywhere = set.intersection(*(set(here) for here in template.attributes(X[0])))
    assert len(everywhere) == 2
    plain = {w.attribute for w in model.explain(top=None).plain_transitions()}
    assert {w.attribute for w in model.explain(top=None).largest() if w.previous} & everywhere == plain != set()
    assert model.transitions().sum() == pytest.approx(sum(w.weight for w in model.explain().plain_transitions()))
    assert not everywhere & {w.attribute for w in model.explain(top=None).bigrams}
