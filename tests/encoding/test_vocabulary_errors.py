"""Python tokens that make no corpus: what is wrong is named, and where."""

import numpy as np
import pytest
from compare import without_address

from sparsecrf import BIAS, InputError, Vocabulary, _core


# Errors. The bad token or label is always the third of the second sequence.
class Silent:
    """Neither text nor iterable nor a mapping."""

    def __repr__(self):
        return "Silent()"


class Unlucky:
    def __iter__(self):
        raise RuntimeError("from the caller's own code")


itself: dict = {}
itself["deeper"] = itself


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (3, r"expected a token \(text, a mapping, or a list of attributes\), found int 3"),
        (None, "expected a token .*, found NoneType None"),
        (b"bytes", "expected a token .*, found bytes b'bytes'"),
        (Silent(), r"expected a token .*, found Silent Silent\(\)"),
        ([3], r"expected an attribute \(text\) or a pair \(attribute, value\), found int 3"),
        ([b"a"], "expected an attribute .*, found bytes"),
        ([("a",)], "expected an attribute .*, found tuple"),
        ([("a", 1, 2)], "expected an attribute .*, found tuple"),
        ([(1, "a")], "expected an attribute .*, found tuple"),
        ([["a", 1.0]], "expected an attribute .*, found list"),
        ([("a", "x")], "expected an attribute's value to be a number, found str 'x'"),
        ([("a", None)], "expected an attribute's value to be a number, found NoneType None"),
        ([("a", float("nan"))], "expected a finite unigram attribute value .*, found -?nan"),
        ({"a": 1e101}, "expected a finite unigram attribute value .*, found 1e\\+101"),
        ({"a": float("inf")}, "expected a finite unigram attribute value .*, found inf"),
        ({"a": -float("inf")}, "expected a finite unigram attribute value .*, found -inf"),
        ({1: "a"}, "expected an attribute's name to be text, found int 1"),
        (
            {"a": None},
            r"expected an attribute's value \(number, text, list of text, or mapping\), found NoneType None",
        ),
        ({"a": [1]}, "expected a list of text as an attribute's value, found int 1"),
        ({"a": {"b": 1j}}, "expected an attribute's value .*, found complex 1j"),
        ({"a": "\ud800"}, "expected text that UTF-8 can encode, found str"),
        ("\ud800", "expected text that UTF-8 can encode, found str"),
    ],
    ids=repr,
)
def test_bad_token_is_named(token, message):
    with pytest.raises(InputError, match="^sequence 1, position 2: " + message):
        Vocabulary().encode([["a"], ["a", "b", token, "c"]], [["L"], "LLLL"], grow=True)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (3, r"expected a label \(text, a set of text, or None where it is missing\), found int 3"),
        (["L"], "expected a label .*, found list"),
        (b"L", "expected a label .*, found bytes"),
        ("\udcff", "expected text that UTF-8 can encode"),
    ],
    ids=repr,
)
def test_bad_label_is_named(label, message):
    with pytest.raises(InputError, match="^sequence 1, position 2: " + message):
        Vocabulary().encode([["a"], ["a", "b", "c"]], [["L"], ["L", "L", label]], grow=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"y": [["L"], ["L"]]},
            "^sequence 1, position 1: expected a label for every token, found too few",
        ),
        (
            {"y": [["L"], "LLL"]},
            r"^sequence 1, position 2: expected one label per token.*found more labels than tokens",
        ),
        (
            {"y": [["L"]]},
            r"^X and label sequences: expected the same number of sequences, found 1 in label sequences and more in X$",
        ),
        (
            {"y": [["L"], "LL", "L"]},
            r"^X and label sequences: expected the same number of sequences, found 2 in X and more in label sequences$",
        ),
        (
            {"sequence_weight": [1, None]},
            r"^sequence 1: expected.*sequence weight.*number.*found NoneType None",
        ),
        (
            {"y": [["L"], 7]},
            "^sequence 1: expected an iterable of labels, found int 7",
        ),
        (
            {"sequence_weight": [1]},
            "^X and sequence weights: expected the same number of sequences, found 1 in sequence weights and more",
        ),
        (
            {"sequence_weight": [1, -1]},
            "^sequence 1: expected a finite weight >= 0, found -1",
        ),
        (
            {"sequence_weight": [1, float("nan")]},
            "^sequence 1: expected a finite weight >= 0, found -?nan",
        ),
        (
            {"sequence_weight": [1, "x"]},
            r"^sequence 1: expected.*sequence weight.*number.*found str 'x'",
        ),
        (
            {"token_weight": [[1], [1]]},
            "^sequence 1, position 1: expected a weight for every token, found too few",
        ),
        (
            {"token_weight": [[1], [1, 1, 1]]},
            "^sequence 1, position 2: expected one weight per token, found more",
        ),
        (
            {"token_weight": [[1], [1, -2]]},
            r"^sequence 1, position 1: expected.*finite token weight.*0.*found -2",
        ),
        (
            {"token_weight": [[1], [1, "x"]]},
            r"^sequence 1, position 1: expected.*token weight.*number.*found str 'x'",
        ),
        (
            {"token_weight": [[1], 1]},
            "^sequence 1: expected an iterable of token weights, found int 1",
        ),
        (
            {"X": [["a"], []]},
            "^sequence 1: expected at least one position, found none",
        ),
        (
            {"X": [["a"], None]},
            "^sequence 1: expected an iterable of tokens, found NoneType None",
        ),
        (
            {"X": [], "y": []},
            "^empty corpus: expected at least one sequence",
        ),
    ],
    ids=repr,
)
def test_bad_sequence_is_named(arguments, message):
    good = {"X": [["a"], ["a", "b"]], "y": [["L"], ["L", "M"]]}
    if arguments.get("X", good["X"])[1:] == [[]]:
        good["y"] = [["L"], []]
    with pytest.raises(InputError, match=message):
        Vocabulary().encode(**{**good, **arguments}, grow=True)


def test_a_mapping_within_itself():
    with pytest.raises(RecursionError):
        Vocabulary().encode([[itself]], [["L"]], grow=True)


def test_errors_of_the_caller_pass_through():
    with pytest.raises(RuntimeError, match="the caller's own code"):
        Vocabulary().encode([["a", Unlucky()]], grow=True)


@pytest.mark.parametrize(
    "bad", [(["a", 3], "LL"), (["a"], "LL"), (["a", Unlucky()], "LL"), ([], "")], ids=without_address
)
def test_encoder_is_usable_after_a_failed_sequence(bad):
    def encoded(*sequences):
        attributes, labels = _core.StringTable(), _core.StringTable()
        for x in (BIAS, "a", "b"):
            attributes.intern(x)
        for y in "LM":
            labels.intern(y)
        encoder = _core.Encoder(attributes=attributes, labels=labels, bigram=True, bias=BIAS, start=True, grow=False)
        for tokens, own in sequences:
            try:
                encoder.add(tokens, own, 2.0)
            except (InputError, RuntimeError):
                assert (tokens, own) == bad
        return encoder.build()

    first, second = (["a", "b"], "LM"), (["b"], "M")
    with_failure, without = encoded(first, bad, second), encoded(first, second)
    assert with_failure.offsets.tolist() == without.offsets.tolist() == [0, 2, 3]
    assert with_failure.labels.tolist() == without.labels.tolist()
    features = _core.FeatureSet.all_virtual(without)
    assert len(features) == len(_core.FeatureSet.all_virtual(with_failure))
    losses = [_core.Oracle(c, threads=1).loss_grad(features, np.zeros(len(features))) for c in (with_failure, without)]
    assert losses[0][0] == losses[1][0]
    assert losses[0][1].tolist() == losses[1][1].tolist()


def test_encoder_is_usable_after_a_failed_matrix():
    encoder = _core.Encoder(
        attributes=_core.StringTable(), labels=_core.StringTable(), bigram=None, bias="", start=True, grow=True
    )
    encoder.add(["a"], ["L"])
    with pytest.raises(InputError, match="sequence 1, position 0: expected a finite unigram attribute value"):
        encoder.add_matrix(np.array([0, 1]), np.zeros(1, np.int32), np.array([np.inf]), np.zeros(1, np.int64), ["L"])
    encoder.add(["b", "c"], ["L", "M"])
    corpus = encoder.build()
    assert corpus.offsets.tolist() == [0, 1, 3]
    assert corpus.labels.tolist() == [0, 0, 1]


def test_a_mapping_in_the_place_of_a_sequence():
    """Its names would be taken for tokens."""
    with pytest.raises(InputError, match=r"^sequence 1: expected an iterable of tokens, found dict"):
        Vocabulary().encode([["a"], {"word": "b"}], [["L"], ["L"]], grow=True)
