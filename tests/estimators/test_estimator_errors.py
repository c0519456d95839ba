"""What the estimator says of wrong input and wrong options."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sparsecrf import CRF, InputError


@pytest.mark.parametrize("method", ["predict", "predict_marginals", "predict_spans", "score", "predict_nbest"])
def test_nothing_is_answered_before_training(method):
    arguments = {"score": ([["a"]], [["b"]]), "predict_nbest": ([["a"]], 2)}.get(method, ([["a"]],))
    with pytest.raises(NotFittedError):
        getattr(CRF(), method)(*arguments)


@pytest.mark.parametrize(
    ("X", "y", "options", "expected"),
    [
        ([["a", "b"]], [["A"]], {}, "y, sequence 0: expected 2 labels, one for each token, found 1$"),
        ([["a"], ["b"]], [["A"], ["B", "B"]], {}, "y, sequence 1: expected 1 label, one for each token, found 2$"),
        (
            [["a"]] * 5,
            [["A"]] * 4,
            {},
            "X and y: expected the same number of sequences, found 5 in X and 4 in y$",
        ),
        ([["a"]], [["A"], ["B"]], {}, "X and y: expected the same number of sequences, found 1 in X and 2 in y$"),
        (
            [["a"], ["b"]],
            iter([["A"]]),
            {},
            "X and y: expected the same number of sequences, found 2 in X and 1 in y$",
        ),
        (
            iter([["a"]]),
            iter([["A"], ["B"]]),
            {},
            "X and y: expected the same number of sequences, found 1 in X and more in y$",
        ),
        (
            [["a"], ["b"]],
            [["A"], ["B"]],
            {"dev": ([["a"]] * 3, [["A"]] * 2)},
            "X and dev y: expected the same number of sequences, found 3 in X and 2 in dev y$",
        ),
        ([["a"]], None, {}, "y is None"),
        ([["a"]], ["A"], {}, r"y, sequence 0: expected.*list.*entry.*token.*found 'A'"),
        ([["a"]], "A", {}, "y: expected a list of sequences, found str"),
        (
            ["word"],
            [["A"]],
            {},
            r"sequence 0: expected a list of tokens, found str 'word'; .*for a single sentence, pass \[X\]",
        ),
        (
            ["a text"],
            [["A", "B"]],
            {},
            r"sequence 0: expected a list of tokens, found str 'a text'; split texts .*, such as \[text.split\(\) for",
        ),
        ([{"a": 1}], [["A"]], {}, "sequence 0: expected a list of tokens, found dict"),
        ("word", [["A"]], {}, "X: expected a list of sequences, found str"),
        (None, [["A"]], {}, "X: expected a list of sequences, found None"),
        (3, [["A"]], {}, "X: expected a list of sequences, found int"),
        ([3], [["A"]], {}, "sequence 0: expected a list of tokens, found int"),
        ([[3]], [["A"]], {}, "sequence 0, position 0: expected a token"),
        ([["a"]], [[1.5]], {}, "sequence 0, position 0: expected a label"),
        ([["a"], ["b"]], [["A"], ["B"]], {"sample_weight": [1.0]}, "found 2 in X and 1 in sequence weights$"),
        ([["a"]], [["A"]], {"sample_weight": [[1.0, 2.0]]}, "expected one weight per token, found more"),
        ([["a"]], [["A"]], {"sample_weight": [-1.0]}, "expected a finite weight >= 0"),
        ([["a"]], [["A"]], {"sample_weight": [0.0]}, "expected at least one weight above 0"),
        (np.ones((3, 2)), [["A"] * 3], {}, "X: a single matrix for all sequences needs lengths="),
        (np.ones((3, 2)), [["A"] * 3], {"lengths": [2]}, "lengths: expected a sum of 3"),
        (np.ones((3, 2)), [["A"] * 3], {"lengths": [4, -1]}, "lengths: expected a length >= 0 for sequence 1"),
        (
            np.array([[1.0, 0.0], [0.0, np.nan]]),
            [["A"], ["A"]],
            {"lengths": [1, 1]},
            "sequence 1, position 0, column 1: expected a finite number, found nan; fill or drop it",
        ),
        ([np.array([[1.0], [np.inf]])], [["A", "A"]], {}, "sequence 0, position 1, column 0: expected a finite number"),
        ([["a", "b"]], [[None, None]], {}, "y: expected at least one label, found None for all 2"),
        ([["a"]], [[2.0]], {}, r"y, sequence 0, position 0: .*found 2.0; give integers or text, with y.astype.int"),
        ([["a"]], [np.array([2.0])], {}, r"position 0: expected a label .*found 2.0; give integers"),
        (
            [["a", "b"]],
            [["A", np.nan]],
            {},
            "position 1: expected a label .*found nan; give None where the label is unknown",
        ),
        ([[], ["b"]], [[], [7.5]], {}, "sequence 1, position 0: expected a label"),
        ([], [], {}, "expected at least one sequence"),
        ([[]], [[]], {}, "expected at least one sequence"),
        ([np.ones((1, 2)), np.ones((1, 3))], [["A"], ["B"]], {}, "expected 2 columns in every matrix, found 3"),
    ],
)
def test_wrong_input_is_named(X, y, options, expected):
    with pytest.raises(InputError, match=expected):
        CRF().fit(X, y, **options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"rho1": -1}, "rho1"),
        ({"rho1": "a"}, "rho1: expected a number, 'small' or 'auto', found 'a'"),
        ({"rho2": None}, "rho2: expected a finite number >= 0, found None"),
        ({"tol": -1}, "tol: expected a number >= 0"),
        ({"solver": "newton"}, "solver: expected one of auto"),
        ({"bigrams": "some"}, "bigrams: expected"),
        (
            {"rho2": "search"},
            "rho2='search' is supported only by path and CRFCV; for one fit, give a number or rho1='auto'",
        ),
        ({"rho1": "auto", "rho2": "search"}, "rho2='search' is supported only by path and CRFCV"),
        ({"solver_options": {"group_weight": 2.0}}, "group_weight=2.0 needs penalty group:attribute"),
        ({"solver_options": {"order_factor": 1.5}}, "order_factor=1.5 needs order above 2"),
        ({"solver_options": {"patience": 3}}, "patience=3 needs dev"),
        ({"solver_options": {"tol": 1.0}}, "solver_options: expected one of group_weight, .*, found 'tol'"),
        ({"solver_options": {"nosuch": 1}}, "solver_options: expected one of group_weight, .*memory.*, found 'nosuch'"),
    ],
)
def test_wrong_options_are_named(options, expected):
    with pytest.raises(InputError, match=expected):
        CRF(**options).fit([["a"]], [["A"]])


def test_dev_is_a_pair(data):
    with pytest.raises(InputError, match=r"dev: expected a pair \(X, y\)"):
        CRF().fit(*data, dev=data[0])


def test_a_data_frame_alone():
    pandas = pytest.importorskip("pandas", reason="data frames are optional")
    with pytest.raises(InputError, match="expected lengths= with one data frame"):
        CRF().fit(pandas.DataFrame({"word": ["a", "b"]}), ["A", "B"])


def test_a_sequence_where_a_model_expects_a_token(fitted, data):
    with pytest.raises(InputError, match="is this a list of sequences"):
        fitted.model_.label([data[0][0]])


def test_missing_cells_of_data_frames():
    pd = pytest.importorskip("pandas", reason="data frames are optional")
    with pytest.raises(
        InputError, match=r"sequence 0, position 1, column 'size': expected text or a number, found nan; "
    ):
        CRF().fit(pd.DataFrame({"word": ["a", "b"], "size": [1.0, np.nan]}), ["A", "B"], lengths=[2])
    frames = [pd.DataFrame({"word": ["a"]}), pd.DataFrame({"word": [None]})]
    with pytest.raises(InputError, match=r"sequence 1, position 0, column 'word': .* found None; fill it \(X.fillna"):
        CRF().fit(frames, [["A"], ["B"]])
    with pytest.raises(InputError, match=r"column 'word': .* found (None|<NA>)"):
        CRF().fit([pd.DataFrame({"word": pd.array([pd.NA], dtype="Int64")})], [["A"]])


def test_cells_of_columns_are_text():
    pd = pytest.importorskip("pandas", reason="data frames are optional")
    frame = pd.DataFrame({"word": ["a", "b"], "size": [1.0, 2.0]})
    with pytest.raises(
        InputError, match=r"column 'size': expected text, found 1.0; make the column text .X.astype.str"
    ):
        CRF(template="U:%x[0,0]").fit(frame, ["A", "B"], lengths=[2])
    crf = CRF(template="U:%x[0,0]").fit(frame.astype(str), ["A", "B"], lengths=[2])
    with pytest.raises(InputError, match="column 'word': expected text, found None; fill it"):
        crf.predict(pd.DataFrame({"word": [None], "size": ["1"]}), lengths=[1])


@pytest.mark.parametrize("n_jobs", ["all", 1.5, True])
def test_n_jobs_that_is_no_number(n_jobs):
    crf = CRF().fit([["a"]], [["A"]]).set_params(n_jobs=n_jobs)
    for ask in (lambda: crf.fit([["a"]], [["A"]]), lambda: crf.predict([["a"]])):
        with pytest.raises(InputError, match=r"n_jobs: expected an integer .-1.*None.*found"):
            ask()


def test_a_template_of_one_line(tmp_path, monkeypatch):
    """A file, if there is one by that name, else the template itself; if neither, an error."""
    monkeypatch.chdir(tmp_path)
    X, y = [[["a"], ["b"]]], [["A", "B"]]
    assert CRF(template="U:%x[0,0]").fit(X, y).model_.template.text == "U:%x[0,0]"
    for name in ("words.txt", "template.txt", "Tagging", "B.txt", "Unigrams"):  # T, B and U begin a line of a template
        with pytest.raises(InputError, match=f"found '{name}', but there is no file with this name$"):
            CRF(template=name).fit(X, y)
    with pytest.raises(InputError, match=r"no file with this name \(did you mean features='tagging'\?\)"):
        CRF(template="tagging").fit(X, y)
    with pytest.raises(InputError, match=r"no file with this name, and it is not a valid template \(template, line 1"):
        CRF(template="X:%x[0,0]").fit(X, y)
    assert CRF(template="U01").fit(X, y).model_.template.text == "U01"
    (tmp_path / "words.txt").write_text("U1:%x[0,0]\n")
    for template in ("words.txt", tmp_path / "words.txt"):
        assert CRF(template=template).fit(X, y).model_.template.text == "U1:%x[0,0]\n"
    with pytest.raises(InputError, match=r"template: expected a file name.*lines.*Template.*found 3"):
        CRF(template=3).fit(X, y)
    with pytest.raises(InputError, match=r"^template, line 2, column 1: expected a line"):
        CRF(template="U\nX\n").fit(X, y)
