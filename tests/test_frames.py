"""Data frames with a row for each token: groups= tells sentences apart, predictions are a column."""

import re

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from sentences import sentences
from sparsecrf import CRF, CRFCV, InputError

LIBRARIES = ["pandas", "polars"]


def library(name):
    return pytest.importorskip(name, reason="data frames are optional")


@pytest.fixture(scope="module")
def data():
    return sentences(30, seed=4)


def table(data):
    """By column: the sentence, word and tag of each token, its label."""
    X, y = data
    rows = [(f"s{i}", *token, label) for i in range(len(X)) for token, label in zip(X[i], y[i], strict=True)]
    return dict(zip(("sentence", "word", "tag", "label"), map(list, zip(*rows, strict=True)), strict=True))


def mappings(X):
    return [[{"word": word, "tag": tag} for word, tag in tokens] for tokens in X]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_frame_is_its_sentences(name, data):
    X, y = data
    frame = library(name).DataFrame(table(data))
    expected = CRF(rho1=0.1).fit(mappings(X), y)
    tokens = frame[["sentence", "word", "tag"]]
    for crf in (
        CRF(rho1=0.1).fit(tokens, frame["label"], groups="sentence"),
        CRF(rho1=0.1).fit(frame, "label", groups="sentence"),
        CRF(rho1=0.1).fit(frame, "label", groups=["sentence"]),
    ):
        assert crf.model_.w.tolist() == expected.model_.w.tolist()
        assert crf.feature_names_in_.tolist() == ["word", "tag"]
        flat = [label for labels in expected.predict(mappings(X)) for label in labels]
        assert crf.predict(frame, groups="sentence").to_list() == flat
        assert crf.predict(tokens, groups="sentence").to_list() == flat
        assert crf.score(frame, "label", groups="sentence") == expected.score(mappings(X), y)
        marginals = np.concatenate(list(expected.predict_marginals(mappings(X))))
        assert np.array_equal(crf.predict_marginals(frame, groups="sentence"), marginals)
        assert len(crf.predict_nbest(frame, 2, groups="sentence")) == len(X)
        assert len(crf.predict_spans(frame, groups="sentence")) == len(X)


@pytest.mark.parametrize("name", LIBRARIES)
def test_words_make_features(name, data):
    X, y = data
    words = [[word for word, _ in tokens] for tokens in X]
    columns = table(data)
    frame = library(name).DataFrame({key: columns[key] for key in ("sentence", "word", "label")})
    expected = CRF(features="words").fit(words, y)
    crf = CRF(features="words").fit(frame, "label", groups="sentence", dev=(frame, "label"))
    assert crf.model_.w.tolist() == expected.model_.w.tolist()
    assert crf.history_[-1].dev_error == 100 * (1 - crf.score(frame, "label", groups="sentence"))


def test_predictions_fit_back(data):
    pandas = library("pandas")
    frame = pandas.DataFrame(table(data), index=[f"row {k}" for k in range(len(table(data)["word"]))])
    crf = CRF(rho1=0.1).fit(frame, "label", groups="sentence")
    frame["found"] = crf.predict(frame, groups="sentence")
    assert (frame["found"] == frame["label"]).mean() == crf.score(frame, "label", groups="sentence")
    some = frame[frame["sentence"] != "s0"]
    assert crf.predict(some, groups="sentence").index.equals(some.index)


def test_predictions_fit_back_in_polars(data):
    polars = library("polars")
    frame = polars.DataFrame(table(data))
    crf = CRF(rho1=0.1).fit(frame, "label", groups="sentence")
    found = frame.with_columns(crf.predict(frame, groups="sentence").alias("found"))
    assert found.columns[-1] == "found"
    assert isinstance(crf.predict(frame, groups="sentence"), polars.Series)


def test_several_columns_tell_sentences_apart():
    pandas = library("pandas")
    frame = pandas.DataFrame({"d": [1, 1, 2, 2], "s": [0, 0, 0, 1], "w": list("abab"), "y": list("ABAB")})
    crf = CRF(rho1=0.01).fit(frame, "y", groups=["d", "s"])
    assert list(map(len, crf.predict_marginals([[{"w": "a"}]]))) == [1]
    lists = [[{"w": "a"}, {"w": "b"}], [{"w": "a"}], [{"w": "b"}]]
    expected = CRF(rho1=0.01).fit(lists, [["A", "B"], ["A"], ["B"]])
    assert crf.model_.w.tolist() == expected.model_.w.tolist()


def test_rows_of_a_sentence_stand_together():
    pandas = library("pandas")
    frame = pandas.DataFrame({"s": [1, 2, 1], "w": ["a", "b", "c"], "y": ["A", "B", "A"]})
    message = r"groups: expected the rows of a sentence one after the other, found 1 in rows 0 and 2 .*sort the frame"
    with pytest.raises(InputError, match=message):
        CRF().fit(frame, "y", groups="s")
    crf = CRF(rho1=0.01).fit(frame.sort_values("s", kind="stable"), "y", groups="s")
    with pytest.raises(InputError, match=message):
        crf.predict(frame, groups="s")


def test_cross_validation_takes_them_too(data):
    pandas = library("pandas")
    frame = pandas.DataFrame(table(data))
    crf = CRFCV(rho1s=[3, 1, 0.3, 0.1], cv=3).fit(frame, "label", groups="sentence")
    expected = CRFCV(rho1s=[3, 1, 0.3, 0.1], cv=3).fit(mappings(data[0]), data[1])
    assert crf.scores_.tolist() == expected.scores_.tolist()


@pytest.mark.parametrize("name", LIBRARIES)
def test_searches_of_scikit_learn_take_a_frame_for_each_sentence(name, data):
    frame = library(name).DataFrame(table(data))
    # One frame is dealt out by tokens: the error says what to do, and that does.
    with pytest.raises(
        InputError, match=r"Searches of scikit-learn .* deal out sentences if X and y are lists"
    ) as refused:
        cross_val_score(CRF(), frame[["word", "tag"]], frame["label"], cv=3, error_score="raise")
    parts, X, y = re.search(r"parts = (.*), then, .*, X = (.*), y = (.*)$", str(refused.value)).groups()
    parts = eval(parts, {"frame": frame})
    X, y = eval(X, {"parts": parts}), eval(y, {"parts": parts})
    expected = cross_val_score(CRF(rho1=0.1), mappings(data[0]), data[1], cv=3)
    assert cross_val_score(CRF(rho1=0.1), X, y, cv=3).tolist() == expected.tolist()
    assert GridSearchCV(CRF(), {"rho1": [30.0, 0.1]}, cv=3).fit(X, y).best_params_ == {"rho1": 0.1}


def test_what_is_refused(data):
    pandas = library("pandas")
    frame = pandas.DataFrame(table(data))
    with pytest.raises(InputError, match="groups: expected a data frame with it, found list"):
        CRF().fit(data[0], data[1], groups="sentence")
    with pytest.raises(InputError, match=r"groups: expected a column of X \(sentence, word, tag, label\), found 'id'"):
        CRF().fit(frame, "label", groups="id")
    with pytest.raises(InputError, match=r"y: expected a column of X .*, found 'gold'"):
        CRF().fit(frame, "gold", groups="sentence")
    with pytest.raises(InputError, match="X: expected a column of tokens besides sentence, label, found none"):
        CRF().fit(frame[["sentence", "label"]], "label", groups="sentence")
    with pytest.raises(InputError, match="lengths: expected none with groups='sentence', found both"):
        CRF().fit(frame, "label", groups="sentence", lengths=[len(frame)])
    with pytest.raises(InputError, match="y: expected the index of X, found another"):
        CRF().fit(frame, frame["label"].sort_values(), groups="sentence")
    with pytest.raises(InputError, match=f"y: expected {len(frame)} labels, one for each row of X, found 3"):
        CRF().fit(frame, frame["label"][:3], groups="sentence")
    with pytest.raises(InputError, match=r"groups: expected a value of 'sentence' in every row, found .* in row 1"):
        CRF().fit(frame.assign(sentence=["s", None, *["t"] * (len(frame) - 2)]), "label", groups="sentence")
    later = frame.index[frame["sentence"] == "s1"][0]
    with_gap = frame.assign(tag=frame["tag"].where(frame.index != later))
    with pytest.raises(InputError, match="sequence 1, position 0, column 'tag': expected text or a number, found"):
        CRF().fit(with_gap, "label", groups="sentence")
    crf = CRF().fit(frame, "label", groups="sentence")
    with pytest.raises(InputError, match=r"X: expected a column of X .*, found 'tag'"):
        crf.predict(frame[["sentence", "word"]], groups="sentence")
