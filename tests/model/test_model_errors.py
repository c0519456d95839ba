"""Questions to a model that make no sense, and constraints that nothing meets."""

import warnings

import numpy as np
import pytest
from problems import weather

from sparsecrf import CRF, InputError, Model, UnsatisfiableError


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: m.log_prob(["dry"], ["snow"]),
            "sequence 0, position 0: expected a label of the model, found str 'snow'",
        ),
        (
            lambda m: m.log_prob(["dry"], []),
            "sequence 0, position 0: expected a label for every token",
        ),
        (
            lambda m: m.log_prob([], []),
            "sequence 0: expected at least one position",
        ),
        (
            lambda m: m.label([]),
            "sequence 0: expected at least one position",
        ),
        (
            lambda m: m.label(["dry", 3]),
            "sequence 0, position 1: expected a token",
        ),
        (
            lambda m: m.label(["dry"], fixed=["snow"]),
            r"expected a label of the model \(sun, rain, fog\), found 'snow'",
        ),
        (
            lambda m: m.label(["dry"], allowed=[["snow"]]),
            "expected a label of the model .* found 'snow'",
        ),
        (
            lambda m: m.label(["dry"], forbidden=[("snow", "sun")]),
            "expected a label of the model .* found 'snow'",
        ),
        (
            lambda m: m.label(["dry"], fixed=["sun", "sun"]),
            "fixed: expected 1 entries, one per token, found 2",
        ),
        (
            lambda m: m.marginals(["dry", "wet"], allowed=[None]),
            "allowed: expected 2 entries, one per token, found 1",
        ),
        (
            lambda m: m.span_prob(["dry", "wet"], 1, ["sun", "sun"]),
            "expected a span within its 2 positions",
        ),
        (
            lambda m: m.span_prob(["dry", "wet"], -1, ["sun"]),
            "expected a span within its 2 positions",
        ),
        (
            lambda m: m.span_prob(["dry"], 0, []),
            "expected a span of labels, found none",
        ),
        (
            lambda m: m.span_prob(["dry"], 0, ["snow"]),
            "expected a label of the model .* found 'snow'",
        ),
        (
            lambda m: m.nbest(["dry"], 0),
            "n-best: expected k >= 1, found 0",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(InputError, match=message):
        call(weather())


@pytest.mark.parametrize(
    ("limits", "position"),
    [
        ({"allowed": [None, [], None]}, 1),
        ({"fixed": ["sun", "sun", None], "forbidden": [("sun", "sun")]}, 1),
        ({"fixed": [None, "sun", None], "allowed": [None, ["rain"], None]}, 1),
        ({"forbidden": [(p, y) for p in ("sun", "rain", "fog") for y in ("sun", "rain", "fog")]}, 1),
        ({"forbidden": [(None, y) for y in ("sun", "rain", "fog")]}, 0),
    ],
)
@pytest.mark.parametrize("question", ["label", "marginals", "nbest"])
def test_constraints_that_nothing_meets(limits, position, question):
    """The error names the first position that no labelling reaches."""
    model = weather()
    extra = (2,) if question == "nbest" else ()
    with pytest.raises(UnsatisfiableError, match=rf"sequence 0, position {position}: no label sequence"):
        getattr(model, question)(["dry", "wet", "grey"], *extra, **limits)


# ---- Data of a different kind from what the model was trained on.
SENTENCES = [["the", "dog", "barks"], ["dogs", "bark"]]
TAGS = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"]]


@pytest.fixture(scope="module")
def of_text():
    return CRF(rho1=0.01).fit(SENTENCES, TAGS)


def as_loaded(crf):
    return Model.from_bytes(crf.model_.to_bytes())


def test_many_sequences_where_one_is_expected(of_text):
    """They would be tokens with an attribute a word, and get a label each."""
    for ask in (of_text.model_.label, as_loaded(of_text).label, as_loaded(of_text).marginals):
        with pytest.raises(InputError, match=r"position 0: expected.*token.*text.*training.*found list"):
            ask(SENTENCES)
    assert of_text.model_.label([["the"], ["dog"], ["barks"]]) == TAGS[0]
    assert of_text.model_.label(iter(SENTENCES[1])) == TAGS[1]


def test_tokens_of_several_kinds_are_no_text():
    crf = CRF(rho1=0.01).fit([["the", ["dog", "animal"]], ["dogs", "bark"]], [["DET", "NOUN"], ["NOUN", "VERB"]])
    assert crf.model_.label([["dog", "animal"], "bark"]) == ["NOUN", "VERB"]


def test_a_matrix_for_a_model_of_text(of_text):
    matrix = np.ones((3, 4))
    for ask in (of_text.model_.label, as_loaded(of_text).marginals, lambda x: of_text.predict([x])):
        with pytest.raises(InputError, match=r"expected tokens as in training \(text\), found a matrix"):
            ask(matrix)
    with pytest.raises(InputError, match=r"expected tokens with attributes such as '.*', found a matrix \(x0 to x3\)"):
        weather().label(matrix)


def test_a_matrix_for_a_model_without_weights():
    """Nothing is left of its columns: no mistake."""
    crf = CRF(rho1=1000.0).fit([np.eye(3)], [["A", "B", "A"]])
    assert len(crf.model_.label(np.eye(3))) == 3
    assert len(as_loaded(crf).label(np.eye(3))) == 3


def test_mappings_without_a_known_attribute(of_text):
    for model in (of_text.model_, as_loaded(of_text)):
        with pytest.warns(UserWarning, match="expected attributes of the model, found none in any mapping"):
            model.label([{"word": "the"}, {"word": "dog"}])
    with pytest.warns(UserWarning, match="expected attributes of the model"):
        CRF.from_model(as_loaded(of_text)).predict([[{"word": "the"}], [{"word": "dog"}]])


def test_mappings_with_a_known_attribute(of_text):
    """No warning; nor later, when one sequence has none."""
    model = as_loaded(of_text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.label([{"new": 1.0}, {"the": 1.0}])
        model.label([{"word": "the"}])
        CRF.from_model(as_loaded(of_text)).predict([[{"new": 1.0}], [{"the": 1.0}]])
        model.label(["nothing", "of", "it"])  # text may be new


def test_text_and_lists_without_a_known_attribute(of_text):
    """Of some tokens: a few may be new. It is said once."""
    X, y = [[["w=the"], ["w=dog"]], [["w=dogs"]]], [["D", "N"], ["N"]]
    of_lists = CRF(rho1=0.01).fit(X, y)
    message = "expected attributes of the model, found none in any of 21 tokens, the first of them"
    for crf, tokens in ((of_text, ["w=the", "w=dog", "w=x"] * 7), (of_lists, ["the", "dog", "x"] * 7)):
        lists = [[token] for token in tokens]
        for given in (tokens, tokens if crf is of_text else lists):
            model = as_loaded(crf)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model.label(given[:10])
            with pytest.warns(UserWarning, match=message):
                model.label(given[10:])  # those of earlier calls count
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model.label(given)
            with pytest.warns(UserWarning, match=message):
                CRF.from_model(as_loaded(crf)).predict([given])
            with pytest.warns(UserWarning, match=message):
                CRF.from_model(as_loaded(crf)).predict([given[:2], given[2:]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF.from_model(as_loaded(of_text)).predict([["new", "words", "only"] * 7, ["the"]])
        CRF.from_model(as_loaded(of_lists)).predict([[["new", "w=the"], ["words"], ["only"]]])


def test_rows_of_other_columns_than_in_training():
    """A list of sentences was read as one of rows of columns: labels came out, of no use."""
    words, tags = [["12", "Oak", "St"], ["14", "Elm", "St"]], [["N", "S", "T"], ["N", "S", "T"]]
    crf = CRF(features="words").fit(words, tags)
    batch = r"position 0: expected 1 column of observations as in training, found 3 in \['12', 'Oak', 'St'\]"
    for model in (crf.model_, as_loaded(crf)):
        for ask in (model.label, model.marginals, lambda x, model=model: model.nbest(x, 2)):
            with pytest.raises(
                InputError, match=rf"{batch}. Is this a list of sequences instead of a single sequence\?"
            ):
                ask(words)
        with pytest.raises(InputError, match=r"CRF\.from_model\(model\)\.predict accepts several sequences$"):
            model.label(words)
        assert model.label([[word] for word in words[0]]) == model.label(words[0])
    with pytest.raises(InputError, match=f"^sequence 1, {batch}"):
        crf.predict([words[0], words])
    with pytest.raises(
        InputError, match=r"^sequence 1, .* Is the last column the label\? Rows must not contain the label here$"
    ):
        crf.predict([words[0], [["12", "N"]]])
    mixed = [["a", "b"], [["a", "x"]]]
    assert list(map(len, CRF(template="U:%x[0,0]\nB").fit(mixed, [["A", "B"], ["A"]]).predict(mixed))) == [2, 1]
    pairs = [[("a", "x"), ("b", "y")], [["a", "x"]]]
    of_words = CRF(template="U:%x[0,0]\nB").fit(pairs, [["A", "B"], ["A"]]).model_
    assert of_words.label([["a"], ["b"]]) == of_words.label(pairs[0])  # the second column is not used
    of_pairs = CRF(template="U:%x[0,0]/%x[0,1]\nB").fit(pairs, [["A", "B"], ["A"]]).model_
    assert len(of_pairs.label(pairs[0])) == 2
    for row in (["a"], ["a", "x", "A"]):
        with pytest.raises(InputError, match=f"expected 2 columns of observations as in training, found {len(row)} in"):
            of_pairs.label([row])
