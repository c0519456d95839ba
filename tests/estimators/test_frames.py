"""Data frames with a row for each token: sentences= tells sentences apart, predictions are a column."""

import re
import warnings

import numpy as np
import pytest
from sentences import sentences
from sklearn.model_selection import GridSearchCV, cross_val_score

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


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_frame_is_its_sentences(name, data):
    X, y = data
    frame = library(name).DataFrame(table(data))
    expected = CRF(rho1=0.1).fit(mappings(X), y)
    tokens = frame[["sentence", "word", "tag"]]
    for crf in (
        CRF(rho1=0.1).fit(tokens, frame["label"], sentences="sentence"),
        CRF(rho1=0.1).fit(frame, "label", sentences="sentence"),
        CRF(rho1=0.1).fit(frame, "label", sentences=["sentence"]),
    ):
        assert crf.model_.w.tolist() == expected.model_.w.tolist()
        assert crf.feature_names_in_.tolist() == ["word", "tag"]
        flat = [label for labels in expected.predict(mappings(X)) for label in labels]
        assert crf.predict(frame, sentences="sentence").to_list() == flat
        assert crf.predict(tokens, sentences="sentence").to_list() == flat
        assert crf.score(frame, "label", sentences="sentence") == expected.score(mappings(X), y)
        marginals = np.concatenate(list(expected.predict_marginals(mappings(X))))
        assert np.array_equal(crf.predict_marginals(frame, sentences="sentence"), marginals)
        assert len(crf.predict_nbest(frame, 2, sentences="sentence")) == len(X)
        assert len(crf.predict_spans(frame, sentences="sentence")) == len(X)


@pytest.mark.parametrize("name", LIBRARIES)
def test_words_make_features(name, data):
    X, y = data
    words = [[word for word, _ in tokens] for tokens in X]
    columns = table(data)
    frame = library(name).DataFrame({key: columns[key] for key in ("sentence", "word", "label")})
    expected = CRF(features="words").fit(words, y)
    crf = CRF(features="words").fit(frame, "label", sentences="sentence", dev=(frame, "label"))
    assert crf.model_.w.tolist() == expected.model_.w.tolist()
    assert crf.history_[-1].dev_error == 100 * (1 - crf.score(frame, "label", sentences="sentence"))


def test_predictions_fit_back(data):
    pandas = library("pandas")
    frame = pandas.DataFrame(table(data), index=[f"row {k}" for k in range(len(table(data)["word"]))])
    crf = CRF(rho1=0.1).fit(frame, "label", sentences="sentence")
    frame["found"] = crf.predict(frame, sentences="sentence")
    assert (frame["found"] == frame["label"]).mean() == crf.score(frame, "label", sentences="sentence")
    some = frame[frame["sentence"] != "s0"]
    assert crf.predict(some, sentences="sentence").index.equals(some.index)


def test_predictions_fit_back_in_polars(data):
    polars = library("polars")
    frame = polars.DataFrame(table(data))
    crf = CRF(rho1=0.1).fit(frame, "label", sentences="sentence")
    found = frame.with_columns(crf.predict(frame, sentences="sentence").alias("found"))
    assert found.columns[-1] == "found"
    assert isinstance(crf.predict(frame, sentences="sentence"), polars.Series)


def test_several_columns_tell_sentences_apart():
    pandas = library("pandas")
    frame = pandas.DataFrame({"d": [1, 1, 2, 2], "s": [0, 0, 0, 1], "w": list("abab"), "y": list("ABAB")})
    crf = CRF(rho1=0.01).fit(frame, "y", sentences=["d", "s"])
    assert list(map(len, crf.predict_marginals([[{"w": "a"}]]))) == [1]
    lists = [[{"w": "a"}, {"w": "b"}], [{"w": "a"}], [{"w": "b"}]]
    expected = CRF(rho1=0.01).fit(lists, [["A", "B"], ["A"], ["B"]])
    assert crf.model_.w.tolist() == expected.model_.w.tolist()


def test_rows_of_a_sentence_stand_together():
    pandas = library("pandas")
    frame = pandas.DataFrame({"s": [1, 2, 1], "w": ["a", "b", "c"], "y": ["A", "B", "A"]})
    message = r"sentences: expected the rows of a sentence to be adjacent, found 1 in rows 0 and 2 .*sort the frame"
    with pytest.raises(InputError, match=message):
        CRF().fit(frame, "y", sentences="s")
    crf = CRF(rho1=0.01).fit(frame.sort_values("s", kind="stable"), "y", sentences="s")
    with pytest.raises(InputError, match=message):
        crf.predict(frame, sentences="s")


@pytest.mark.slow
def test_cross_validation_takes_them_too(data):
    pandas = library("pandas")
    frame = pandas.DataFrame(table(data))
    crf = CRFCV(rho1s=[3, 1, 0.3, 0.1], cv=3).fit(frame, "label", sentences="sentence")
    expected = CRFCV(rho1s=[3, 1, 0.3, 0.1], cv=3).fit(mappings(data[0]), data[1])
    assert crf.scores_.tolist() == expected.scores_.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_searches_of_scikit_learn_take_a_frame_for_each_sentence(name, data):
    frame = library(name).DataFrame(table(data))
    # A search splits one frame by tokens: the error says what to do, and its advice works.
    with pytest.raises(
        InputError, match=r"The searches of scikit-learn .* split by sentence if X and y are lists"
    ) as refused:
        cross_val_score(CRF(), frame[["word", "tag"]], frame["label"], cv=3, error_score="raise")
    parts, X, y = re.search(r"parts = (.*), then, .*, X = (.*), y = (.*)$", str(refused.value)).groups()
    parts = eval(parts, {"frame": frame})
    X, y = eval(X, {"parts": parts}), eval(y, {"parts": parts})
    expected = cross_val_score(CRF(rho1=0.1), mappings(data[0]), data[1], cv=3)
    assert cross_val_score(CRF(rho1=0.1), X, y, cv=3).tolist() == expected.tolist()
    assert GridSearchCV(CRF(), {"rho1": [30.0, 0.1]}, cv=3).fit(X, y).best_params_ == {"rho1": 0.1}


@pytest.mark.slow
def test_what_is_refused(data):
    pandas = library("pandas")
    frame = pandas.DataFrame(table(data))
    with pytest.raises(InputError, match="sentences: expected X to be a data frame, found list"):
        CRF().fit(data[0], data[1], sentences="sentence")
    with pytest.raises(
        InputError, match=r"sentences: expected a column of X \(sentence, word, tag, label\), found 'id'"
    ):
        CRF().fit(frame, "label", sentences="id")
    with pytest.raises(InputError, match=r"y: expected a column of X .*, found 'gold'"):
        CRF().fit(frame, "gold", sentences="sentence")
    with pytest.raises(InputError, match=r"X: expected.*column besides.*found none"):
        CRF().fit(frame[["sentence", "label"]], "label", sentences="sentence")
    with pytest.raises(InputError, match="lengths: cannot be combined with sentences='sentence'"):
        CRF().fit(frame, "label", sentences="sentence", lengths=[len(frame)])
    with pytest.raises(InputError, match="y: expected the same index as X, found a different index"):
        CRF().fit(frame, frame["label"].sort_values(), sentences="sentence")
    with pytest.raises(InputError, match=f"y: expected {len(frame)} labels, one for each row of X, found 3"):
        CRF().fit(frame, frame["label"][:3], sentences="sentence")
    with pytest.raises(InputError, match=r"sentences: expected a value of 'sentence' in every row, found .* in row 1"):
        CRF().fit(frame.assign(sentence=["s", None, *["t"] * (len(frame) - 2)]), "label", sentences="sentence")
    later = frame.index[frame["sentence"] == "s1"][0]
    with_gap = frame.assign(tag=frame["tag"].where(frame.index != later))
    with pytest.raises(InputError, match="sequence 1, position 0, column 'tag': expected text or a number, found"):
        CRF().fit(with_gap, "label", sentences="sentence")
    crf = CRF().fit(frame, "label", sentences="sentence")
    with pytest.raises(InputError, match=r"X: expected a column of X .*, found 'tag'"):
        crf.predict(frame[["sentence", "word"]], sentences="sentence")


def columns_of(data, *names):
    return library("pandas").DataFrame(table(data))[list(names)]


def test_a_column_that_is_y_is_no_feature(data):
    """A series of the frame is left out of the features as its name would be: else the model learns to copy it."""
    frame = columns_of(data, "sentence", "word", "tag", "label")
    expected = CRF(rho1=0.1).fit(frame, "label", sentences="sentence")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crf = CRF(rho1=0.1).fit(frame, frame["label"], sentences="sentence")
    assert crf.feature_names_in_.tolist() == ["word", "tag"]
    assert crf.model_.w.tolist() == expected.model_.w.tolist()
    some = frame["label"].value_counts().index[-1]  # the rarest
    changed = CRF(rho1=0.1).fit(frame, frame["label"].replace(some, "other"), sentences="sentence")
    assert changed.feature_names_in_.tolist() == ["word", "tag"]


@pytest.mark.slow
def test_series_that_have_the_name_of_a_column_they_were_made_of(data):
    """Labels, or numbers of sentences, that were made of words have their name: words are features all the same."""
    pandas = library("pandas")
    frame = columns_of(data, "sentence", "word", "tag", "label")
    labels = frame["word"].map(lambda word: "AB"[len(word) % 2])
    assert labels.name == "word"
    crf = CRF(rho1=0.1).fit(frame[["sentence", "word", "tag"]], labels, sentences="sentence")
    assert crf.feature_names_in_.tolist() == ["word", "tag"]
    numbers = (frame["sentence"] != frame["sentence"].shift()).cumsum().rename("word")
    by_number = CRF(rho1=0.1).fit(frame, "label", sentences=numbers)
    assert by_number.feature_names_in_.tolist() == ["sentence", "word", "tag"]
    with pytest.raises(InputError, match="sentences: with dev, expected the name of a column in both frames"):
        CRF(rho1=0.1).path(frame, "label", sentences=numbers, dev=(frame, "label"), n_rho=2)
    gaps = frame.assign(extra=pandas.array([pandas.NA, *range(1, len(frame))], dtype="Int64"))
    assert (
        "extra"
        not in CRF(rho1=0.1).fit(gaps[["sentence", "word", "label"]], "label", sentences=numbers).feature_names_in_
    )
    kept = gaps["label"].astype("string").where(frame.index > 0)  # the first label is not known
    partly = CRF(rho1=0.1).fit(gaps.assign(label=kept)[["word", "label"]], kept.fillna("O"), sentences=gaps["sentence"])
    assert partly.feature_names_in_.tolist() == ["word"]


@pytest.mark.slow
def test_a_column_that_is_the_same_as_y(data):
    frame = columns_of(data, "sentence", "word", "label")
    parts = [part for _, part in frame.groupby("sentence", sort=False)]
    lengths = list(map(len, parts))
    tokens, labels = frame[["word", "label"]], frame["label"]
    message = "X: column 'label' equals y at every token; if the column contains the label"
    for fit in (
        lambda crf: crf.fit(frame, labels.tolist(), sentences="sentence"),
        lambda crf: crf.fit(frame, labels.rename("gold"), sentences="sentence"),
        lambda crf: crf.fit(tokens, labels, lengths=lengths),
        lambda crf: crf.fit(tokens, labels.to_numpy(), lengths=lengths),
        lambda crf: crf.fit([part[["word", "label"]] for part in parts], [part["label"].tolist() for part in parts]),
        lambda crf: crf.fit([part[["word", "label"]] for part in parts], [part["label"] for part in parts]),
    ):
        with pytest.warns(UserWarning, match=re.escape(message)) as told:
            fit(CRF())
        assert told[0].filename == __file__
    nearly = frame.assign(label=[*labels[:-1], "another"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF().fit(nearly, labels.tolist(), sentences="sentence")
        CRF().fit(frame[["sentence", "word"]], labels.tolist(), sentences="sentence")


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_sentences_may_be_the_column_itself(name, data):
    frame = library(name).DataFrame(table(data))
    expected = CRF(rho1=0.1).fit(frame, "label", sentences="sentence")
    found = expected.predict(frame, sentences="sentence").to_list()
    ids = frame["sentence"]
    for column in (ids, ids.to_list(), ids.to_numpy(), tuple(ids)):
        crf = CRF(rho1=0.1).fit(frame, "label", sentences=column)
        assert crf.feature_names_in_.tolist() == ["word", "tag"]
        assert crf.model_.w.tolist() == expected.model_.w.tolist()
        assert crf.predict(frame, sentences=column).to_list() == found
        assert crf.score(frame, "label", sentences=column) == expected.score(frame, "label", sentences="sentence")
    with_dev = CRF(rho1=0.1).fit(frame, "label", sentences=ids, dev=(frame[:20], "label"))
    named = CRF(rho1=0.1).fit(frame, "label", sentences="sentence", dev=(frame[:20], "label"))
    assert with_dev.history_[-1].dev_error == named.history_[-1].dev_error
    chosen = CRFCV(rho1s=[3, 1, 0.3, 0.1], cv=3).fit(frame, "label", sentences=ids)
    assert chosen.feature_names_in_.tolist() == ["word", "tag"]


def test_sentences_that_are_refused(data):
    frame = columns_of(data, "sentence", "word", "label")
    n, ids = len(frame), frame["sentence"]
    with pytest.raises(InputError, match=f"sentences: expected {n} values, one for each row of X, found 3"):
        CRF().fit(frame, "label", sentences=ids[:3])
    with pytest.raises(InputError, match="sentences: expected the same index as X, found a different index"):
        CRF().fit(frame, "label", sentences=ids.sort_values(ascending=False))
    with pytest.raises(InputError, match=r"sentences: .*list of names, found DataFrame; keep .* sentences='sentence'"):
        CRF().fit(frame, "label", sentences=frame[["sentence"]])
    with pytest.raises(InputError, match=r"sentences: with dev, expected the name of a column .*, found ndarray"):
        CRF().fit(frame, "label", sentences=ids.to_numpy(), dev=(frame, "label"))
    with pytest.raises(InputError, match="lengths: cannot be combined with sentences"):
        CRF().fit(frame, "label", sentences=ids, lengths=[n])


@pytest.mark.slow
def test_labels_that_a_column_does_not_have(data):
    """They are not known: pandas makes NaN of None."""
    pandas = library("pandas")
    X, y = mappings(data[0]), [list(labels) for labels in data[1]]
    frame = columns_of(data, "sentence", "word", "tag", "label")
    y[0][0] = y[2][1] = None
    flat = [label for labels in y for label in labels]
    expected = CRF(rho1=0.1).fit(X, y)
    for missing in (None, float("nan"), pandas.NA):
        column = pandas.Series([missing if label is None else label for label in flat], name="label")
        gappy = frame.assign(label=column)
        parts = [part for _, part in gappy.groupby("sentence", sort=False)]
        X_parts, y_parts = [part[["word", "tag"]] for part in parts], [part["label"] for part in parts]
        for crf in (
            CRF(rho1=0.1).fit(gappy, "label", sentences="sentence"),
            CRF(rho1=0.1).fit(frame.drop(columns="label"), column, sentences="sentence"),
            CRF(rho1=0.1).fit(X_parts, y_parts),
        ):
            assert crf.model_.w.tolist() == expected.model_.w.tolist()
        assert crf.score(X_parts, y_parts) == expected.score(X, y)
    numbers = pandas.Series([None if label is None else len(label) for label in flat])
    with pytest.raises(InputError, match=r"give integers or text, with y.astype\(int\) or y.astype\('Int64'\) if some"):
        CRF().fit(frame.drop(columns="label"), numbers, sentences="sentence")
    CRF().fit(frame.drop(columns="label"), numbers.astype("Int64"), sentences="sentence")


@pytest.mark.slow
def test_columns_that_a_template_does_not_read_are_told(data):
    frame = columns_of(data, "sentence", "tag", "word", "label")
    message = "X: column 'tag' is used as the word; 'word' is not used"
    with pytest.warns(UserWarning, match=message) as told:
        CRF(features="words").fit(frame, "label", sentences="sentence")
    assert told[0].filename == __file__
    parts = [part for _, part in frame.groupby("sentence", sort=False)]
    with pytest.warns(UserWarning, match=message):
        CRF(template="U:%x[0,0]\nB").fit([part[["tag", "word"]] for part in parts], [part["label"] for part in parts])
    more = frame.assign(more="x")[["sentence", "tag", "word", "more", "label"]]
    with pytest.warns(UserWarning, match="X: the template reads 'tag', 'word'; 'more' is not used"):
        CRF(template="U:%x[0,1]\nB").fit(more, "label", sentences="sentence")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF(features="columns").fit(frame, "label", sentences="sentence")
        CRF(features="words").fit(frame.drop(columns="tag"), "label", sentences="sentence")
    with pytest.raises(InputError, match=r"column 'n': .*\(X.astype\(str\)\), or leave it out"):
        CRF(features="columns").fit(frame.assign(n=1), "label", sentences="sentence")


@pytest.mark.slow
def test_whole_documents_of_a_frame_are_left_out_together(data):
    frame = library("pandas").DataFrame(table(data))
    documents = [k // 2 for k in range(len(data[0]))]
    by_frame = CRFCV([1.0, 0.3], cv=3, random_state=1).fit(frame, "label", sentences="sentence", groups=documents)
    by_list = CRFCV([1.0, 0.3], cv=3, random_state=1).fit(mappings(data[0]), data[1], groups=documents)
    assert by_frame.scores_.tolist() == by_list.scores_.tolist()
