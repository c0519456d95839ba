"""From Python tokens to a corpus: forms of a token, laziness, which attributes condition pairs."""

import weakref
from types import MappingProxyType

import numpy as np
import pytest
from compare import without_address
from hypothesis import given
from hypothesis import strategies as st
from problems import make_problem
from strategies import seeds

from sparsecrf import BIAS, Corpus, InputError, Vocabulary, _core


def contents(vocabulary, corpus):
    """Sums of values over the corpus by (attribute, label) and by (attribute, previous or None, label)."""
    features = _core.FeatureSet.observed(corpus)
    counts = _core.Oracle(corpus, threads=1).counts(features)
    x, y = vocabulary.attributes, [*(vocabulary.labels[k] for k in range(corpus.n_labels)), None]
    unigram = zip(features.unigram_attribute, features.unigram_label, strict=True)
    bigram = zip(features.bigram_attribute, features.bigram_previous, features.bigram_label, strict=True)
    keys = [(x[a], y[b]) for a, b in unigram], [(x[a], y[p], y[b]) for a, p, b in bigram]
    split = features.n_unigram
    return (
        dict(zip(keys[0], counts[:split].tolist(), strict=True)),
        dict(zip(keys[1], counts[split:].tolist(), strict=True)),
    )


def unigrams_of(token):
    vocabulary = Vocabulary()
    unigram, _ = contents(vocabulary, vocabulary.encode([[token]], [["L"]], grow=True))
    return {x: v for (x, _), v in unigram.items()}


class Upper(str):
    pass


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("word", {"word": 1}),
        ("", {"": 1}),
        ("naïve 語 \U0001f600 \0", {"naïve 語 \U0001f600 \0": 1}),
        (Upper("sub"), {"sub": 1}),
        (np.str_("numpy"), {"numpy": 1}),
        ([], {}),
        ({}, {}),
        (["a", "b"], {"a": 1, "b": 1}),
        (("a", "b"), {"a": 1, "b": 1}),
        ({"a"}, {"a": 1}),
        (["a", "a", ("a", 0.5)], {"a": 2.5}),
        ([("a", 2), ("b", -0.5)], {"a": 2, "b": -0.5}),
        ((x for x in "ab"), {"a": 1, "b": 1}),
        (np.array(["a", "b"]), {"a": 1, "b": 1}),
        ({"w": "cat"}, {"w:cat": 1}),
        (
            {"n": 3, "x": 0.25, "yes": True, "f": np.float32(1.5), "i": np.int64(7)},
            {"n": 3, "x": 0.25, "yes": 1, "f": 1.5, "i": 7},
        ),
        ({"s": ["x", "y"]}, {"s:x": 1, "s:y": 1}),
        ({"s": ("x", "y")}, {"s:x": 1, "s:y": 1}),
        ({"s": frozenset({"x"}), "t": {"y"}}, {"s:x": 1, "t:y": 1}),
        ({"a": {"b": {"c": 2.0}, "d": "e"}}, {"a:b:c": 2, "a:d:e": 1}),
        (MappingProxyType({"w": "cat"}), {"w:cat": 1}),
    ],
    ids=without_address,
)
def test_forms_of_a_token(token, expected):
    assert unigrams_of(token) == expected


def test_false_has_the_value_zero():
    # A feature that never fires has no count, but the attribute is known.
    vocabulary = Vocabulary()
    corpus = vocabulary.encode([[{"no": False}]], [["L"]], grow=True)
    assert contents(vocabulary, corpus)[0].get(("no", "L"), 0.0) == 0.0
    assert vocabulary.attributes.find("no") is not None


class TestBigrams:
    """Which attributes condition label pairs."""

    X = (["a", "b"], ["b"], [("c", 2.0)])
    y = ("P", "Q", "P")

    def pairs(self, **options):
        vocabulary = Vocabulary(**options)
        _, bigram = contents(vocabulary, vocabulary.encode([self.X], [self.y], grow=True))
        return bigram

    BIAS_PAIRS = {(BIAS, None, "P"): 1, (BIAS, "P", "Q"): 1, (BIAS, "Q", "P"): 1}  # noqa: RUF012
    B_PAIRS = {("b", None, "P"): 1, ("b", "P", "Q"): 1}  # noqa: RUF012

    def test_default_is_plain_transitions(self):
        assert self.pairs() == self.pairs(bigrams="bias") == self.BIAS_PAIRS

    def test_all(self):
        assert self.pairs(bigrams="all") == {
            **self.BIAS_PAIRS,
            **self.B_PAIRS,
            ("a", None, "P"): 1,
            ("c", "Q", "P"): 2,
        }

    @pytest.mark.parametrize("bigrams", [["b", "never"], {"b"}, ("b",), {"b": 1}.keys(), lambda x: x == "b"])
    def test_some(self, bigrams):
        assert self.pairs(bigrams=bigrams) == {**self.BIAS_PAIRS, **self.B_PAIRS}

    def test_none_but_the_bias(self):
        assert self.pairs(bigrams=[]) == self.BIAS_PAIRS

    def test_no_pair_at_the_first_position_without_start(self):
        assert self.pairs(start=False, bigrams="all") == {
            (BIAS, "P", "Q"): 1,
            (BIAS, "Q", "P"): 1,
            ("b", "P", "Q"): 1,
            ("c", "Q", "P"): 2,
        }

    def test_bias_given_as_an_attribute_conditions_pairs_once(self):
        vocabulary = Vocabulary(bigrams="all")
        _, bigram = contents(vocabulary, vocabulary.encode([[[BIAS, "a"]]], [["P"]], grow=True))
        assert bigram == {(BIAS, None, "P"): 1, ("a", None, "P"): 1}

    def test_function_is_asked_once_for_each_attribute(self):
        asked = []

        def conditions(attribute):
            asked.append(attribute)
            return np.bool_(attribute == "b")  # any truthy or falsy value is accepted

        assert self.pairs(bigrams=conditions) == {**self.BIAS_PAIRS, **self.B_PAIRS}
        assert sorted(asked) == ["a", "b", "c"]

    def test_function_that_fails(self):
        with pytest.raises(ZeroDivisionError):
            self.pairs(bigrams=lambda x: 1 / 0)

    def test_unknown_word(self):
        with pytest.raises(InputError, match=r"bigrams: expected 'bias', 'all'.*found 'some'"):
            self.pairs(bigrams="some")


class Tracked:
    """Items that weak references can watch."""

    def __init__(self, items):
        self.items_held = list(items)

    def __iter__(self):
        return iter(self.items_held)


def test_python_objects_are_not_held():
    alive: weakref.WeakSet = weakref.WeakSet()
    most = 0

    def watched(items):
        nonlocal most
        made = Tracked(items)
        alive.add(made)
        most = max(most, len(alive))
        return made

    def sequences(n):
        return (watched(watched([f"t{i % 7}"]) for _ in range(1)) for i in range(n))

    def lazy_sequences(n):
        return ((watched([f"t{i % 7}", f"s{t}"]) for t in range(9)) for i in range(n))

    corpus = Vocabulary().encode(sequences(100), (["L"] for _ in range(100)), grow=True)
    assert corpus.n_tokens == 100
    assert most <= 6  # the current sequence, and two that loops still reference, each with its token
    assert len(alive) == 0
    most = 0
    corpus = Vocabulary().encode(lazy_sequences(50), (iter("LM" + "L" * 7) for _ in range(50)), grow=True)
    assert corpus.n_tokens == 450
    assert most <= 2  # the current token and the one before
    assert len(alive) == 0


def test_one_sequence_is_read_at_a_time():
    read = []

    def sequences():
        for i in range(5):
            read.append(i)
            yield ["a"] if i < 3 else 5

    with pytest.raises(InputError, match="sequence 3: expected an iterable of tokens, found int 5"):
        Vocabulary().encode(sequences(), grow=True)
    assert read == [0, 1, 2, 3]


def test_known_strings_only_unless_growing():
    vocabulary = Vocabulary()
    vocabulary.encode([["a", "b"]], [["P", "Q"]], grow=True)
    known = len(vocabulary.attributes)
    corpus = vocabulary.encode([["a", ["new", "b"], "new"]], [["P", None, "Q"]])
    assert contents(vocabulary, vocabulary.encode([["a", ["new", "b"]]], [["P", "Q"]]))[0] == {
        ("a", "P"): 1,
        ("b", "Q"): 1,
    }
    assert corpus.labels.tolist() == [0, -1, 1]
    assert len(vocabulary.attributes) == known
    assert len(vocabulary.labels) == 2
    with pytest.raises(InputError, match=r"sequence 1, position 2: expected a label of the model, found str 'new'"):
        vocabulary.encode([["a"], ["a", "a", "a"]], [["P"], ["P", "Q", "new"]])


@given(
    seed=seeds,
    n_labels=st.integers(1, 4),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    n_attributes=st.integers(1, 5),
    real_values=st.booleans(),
    missing=st.sampled_from([0.0, 0.4]),
    weighted=st.booleans(),
)
def test_same_corpus_from_tokens_and_from_arrays(seed, n_labels, lengths, n_attributes, real_values, missing, weighted):
    problem = make_problem(
        seed, n_labels, lengths, n_attributes, 3, 0.7, "moderate", real_values, missing, weighted, weighted, missing
    )

    def named(y, sets):
        return None if y == -1 else f"y{y}" if y >= 0 else {f"y{z}" for z in sets[-1 - y]}

    # Every attribute of a token conditions pairs; the bias is one more attribute, the last.
    vocabulary = Vocabulary(bigrams="all")
    names = [f"x{k}" for k in range(n_attributes)]
    for name in (*names, BIAS):
        vocabulary.attributes.intern(name)
    for y in range(n_labels):
        vocabulary.labels.intern(f"y{y}")
    from_tokens = vocabulary.encode(
        ([[(names[x], v) for x, v in token] for token in s.unigram] for s in problem.sequences),
        ([named(y, s.label_sets) for y in s.labels] for s in problem.sequences),
        sequence_weight=[s.weight for s in problem.sequences],
        token_weight=[s.token_weight or [1.0] * len(s) for s in problem.sequences],
    )
    arrays = problem.corpus_arrays()
    lists = [(*token, (n_attributes, 1.0)) for s in problem.sequences for token in s.unigram]
    pairs = [pair for token in lists for pair in token]
    arrays["n_attributes"] += 1
    arrays["bigram_ptr"] = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    arrays["bigram_id"] = np.array([x for x, _ in pairs], dtype=np.int32)
    arrays["bigram_value"] = np.array([v for _, v in pairs], dtype=np.float64)
    from_arrays = Corpus.from_arrays(**arrays)

    for name in (
        "n_sequences",
        "n_tokens",
        "n_labels",
        "n_attributes",
        "n_unigram_lists",
        "n_base_lists",
        "n_rest_lists",
    ):
        assert getattr(from_tokens, name) == getattr(from_arrays, name), name
    assert from_tokens.offsets.tolist() == from_arrays.offsets.tolist()
    assert from_tokens.labels.tolist() == from_arrays.labels.tolist()
    features = _core.FeatureSet.all_virtual(from_arrays)
    w = np.random.default_rng(seed).normal(size=len(features))
    chain = _core.Chain(features, w, threads=1)
    assert chain.marginals(from_tokens).tobytes() == chain.marginals(from_arrays).tobytes()
    loss_a, gradient_a = _core.Oracle(from_tokens, threads=1).loss_grad(features, w)
    loss_b, gradient_b = _core.Oracle(from_arrays, threads=1).loss_grad(features, w)
    assert loss_a == loss_b
    assert gradient_a.tobytes() == gradient_b.tobytes()
