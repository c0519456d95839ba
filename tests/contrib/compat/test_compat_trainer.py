"""compat.Trainer and compat.Tagger beside those of python-crfsuite: parameters, messages, errors, model files."""

import pycrfsuite
import pytest
from sklearn.exceptions import NotFittedError

from sparsecrf import InputError, Model, Template
from sparsecrf.contrib.compat import CRF, ItemSequence, Tagger, Trainer
from sparsecrf.training.history import REASONS

XSEQ = [
    {"walk": 1, "shop": 0.5},
    {"walk": 1},
    {"walk": 1, "clean": 0.5},
    {"shop": 0.5, "clean": 1},
    {"día": {"b": "c"}},
]
YSEQ = ["sunny", "sunny", "sunny", "rainy", "rainy"]


def trained(path, package=None, xseq=XSEQ, **params):
    trainer = (package or Trainer)(params=params, verbose=False)
    trainer.append(xseq, YSEQ)
    trainer.append(xseq[:2], YSEQ[:2])
    trainer.train(str(path))
    return trainer


@pytest.fixture
def path(tmp_path):
    trained(tmp_path / "model.crfsuite", c2=0.1)
    return str(tmp_path / "model.crfsuite")


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd"])
def test_parameters_and_defaults(algorithm):
    ours, theirs = Trainer(algorithm, verbose=False), pycrfsuite.Trainer(algorithm, verbose=False)
    assert ours.params() == theirs.params()
    assert ours.get_params() == theirs.get_params()
    for name in ours.params():
        assert ours.help(name)
        assert type(ours.get(name)) is type(theirs.get(name))
    given = {"c2": "0.25", "max_iterations": 7.0, "feature.possible_states": 1, "feature.minfreq": 2}
    for trainer in (ours, theirs):
        trainer.set_params(given)
        assert [trainer.get(name) for name in given] == [0.25, 7, True, 2.0]
    ours.select(algorithm.upper())
    assert ours.get("c2") == 1.0  # as in python-crfsuite: selecting an algorithm resets the parameters


@pytest.mark.parametrize("call", ["set", "get", "help"])
def test_unknown_parameters(call):
    for trainer in (Trainer(verbose=False), pycrfsuite.Trainer(verbose=False)):
        with pytest.raises(ValueError, match="foo"):
            getattr(trainer, call)(*["foo", "1"][: 1 + (call == "set")])


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("c1", "much", r"c1: expected.*number.*least 0.*found 'much'"),
        ("c2", float("inf"), "c2: expected a number"),
        ("linesearch", "Armijo", "expected one of MoreThuente, Backtracking, StrongBacktracking, found 'Armijo'"),
        ("feature.possible_states", "True", "expected a number, found 'True'"),
    ],
)
def test_wrong_values(name, value, expected):
    with pytest.raises(InputError, match=expected):
        Trainer(params={name: value})


def test_wrong_data(tmp_path):
    trainer = Trainer(verbose=False)
    for x, y, expected in [
        (XSEQ, YSEQ[:2], "expected as many labels as items, found 5 items and 2 labels"),
        (XSEQ[:1], [None], "expected labels to be text, found NoneType None"),
        ([{"a": None}], ["x"], "position 0: expected an attribute's value"),
    ]:
        with pytest.raises(InputError, match=f"sequence 0.*{expected}"):
            trainer.append(x, y)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        *(([{"a": 1}], [label]) for label in (None, 1, 1.5, ["x"])),
        *(([item], ["x"]) for item in ({1: 1}, {None: 1}, [1], [None], [{"a": 1}], 1, None, {"a": None}, {"a": [1]})),
        ([{"a": {"b": None}}], ["x"]),
        ([{b"a": 1, "b": None}], ["x"]),
        (3, ["x"]),
        ([{"a": 1}], 3),
    ],
)
def test_wrong_types_are_type_errors(path, x, y):
    """As in python-crfsuite, where tagging such items ends with a SystemError."""
    with pytest.raises(TypeError):
        pycrfsuite.Trainer(verbose=False).append(x, y)
    with pytest.raises(TypeError) as caught:
        Trainer(verbose=False).append(x, y)
    if 3 not in (x, y):
        assert isinstance(caught.value, InputError)
        assert str(caught.value).startswith("sequence 0")
    if y == ["x"]:
        tagger = Tagger()
        tagger.open(path)
        for call in (tagger.tag, tagger.set, ItemSequence):
            with pytest.raises(TypeError):
                call(x)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_wrong_values_are_no_type_errors(value):
    with pytest.raises(InputError, match="expected a finite") as caught:
        Trainer(verbose=False).append([{"a": value}], ["x"])
    assert not isinstance(caught.value, TypeError)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
@pytest.mark.parametrize("held_out", [True, False])
def test_without_data(tmp_path, algorithm, held_out):
    """The model is CRFsuite's: labels of the holdout group, and nothing else."""
    found, holdout = [], 2 if held_out else -1
    for package in (Trainer, pycrfsuite.Trainer):
        trainer = package(algorithm, {"max_iterations": 2}, verbose=False)
        if held_out:
            trainer.append(XSEQ, YSEQ, 2)
        path = tmp_path / package.__module__
        if package is Trainer:
            with pytest.warns(UserWarning, match="no sequences to train on.* call append first") as warned:
                trainer.train(path, holdout=holdout, format="crfsuite")
            assert [w.filename for w in warned] == [__file__]
        else:
            trainer.train(str(path), holdout=holdout)
        tagger = Tagger()
        tagger.open(path)
        log = [line for line in trainer.logparser.log if line.startswith(("Number", "L-BFGS"))]
        found.append((path.read_bytes(), tagger.labels(), vars(tagger.info()), log))
    assert found[0] == found[1]
    if held_out:
        assert tagger.tag(XSEQ) == ["sunny"] * 5
    else:
        with pytest.raises(InputError, match="expected 1 to 32767 labels, found 0"):
            tagger.tag(XSEQ)


def test_an_estimator_without_data(tmp_path):
    crf = CRF(c2=0.1).fit([XSEQ], [YSEQ])
    with pytest.warns(UserWarning, match="no sequences to train on"):
        crf.fit([], [])
    assert crf.modelfile.name is None
    with pytest.raises(NotFittedError):
        crf.predict([XSEQ])
    named = CRF(model_filename=str(tmp_path / "model"))
    with pytest.warns(UserWarning, match="no sequences to train on"):
        named.fit([], [])
    assert named.classes_ == named.attributes_ == []


def test_data_may_grow_after_training(tmp_path):
    """The second run has all sequences, and the first model still answers."""
    trainer = Trainer(params={"c2": 0.1}, verbose=False)
    trainer.append(XSEQ, YSEQ)
    trainer.append([], [])
    trainer.train("")
    first = trainer.model
    before = first.label(XSEQ)
    trainer.append([["new"], ["walk"]], ["cloudy", "sunny"])
    trainer.train("")
    assert first.label(XSEQ) == before
    assert trainer.model.labels == ["sunny", "rainy", "cloudy"]
    at_once = Trainer(params={"c2": 0.1}, verbose=False)
    at_once.append(ItemSequence(XSEQ), YSEQ)
    at_once.append([["new"], ["walk"]], ["cloudy", "sunny"])
    at_once.train(tmp_path / "model")
    assert at_once.model.to_bytes() == trainer.model.to_bytes() == (tmp_path / "model").read_bytes()
    trainer.clear()
    with pytest.warns(UserWarning, match="no sequences to train on"):
        trainer.train("")
    assert trainer.model is None


def test_messages(capsys):
    class Captured(Trainer):
        def __init__(self):  # without calling Trainer's, as python-crfsuite allows
            self.messages = []

        def message(self, message):
            self.messages.append(message)

    trainer = Captured()
    trainer.append(XSEQ, YSEQ)
    assert not trainer.messages
    trainer.train("")
    assert "type: CRF1d\n" in trainer.messages
    assert "***** Iteration #1 *****\n" in trainer.messages
    assert trainer.messages == trainer.logparser.log
    assert not capsys.readouterr().out

    class ByEvent(Trainer):
        def on_iteration(self, log, info):
            self.seen = [*getattr(self, "seen", []), info["num"]]

    for verbose in (True, False):
        trainer = ByEvent(verbose=verbose)
        trainer.append(XSEQ, YSEQ)
        trainer.train("")
        assert getattr(trainer, "seen", []) == [info["num"] for info in trainer.logparser.iterations if verbose]
        assert bool(capsys.readouterr().out) == verbose


def test_an_error_in_a_message_ends_training(tmp_path):
    class Bad(Trainer):
        def on_iteration(self, log, info):
            raise RuntimeError("enough")

    trainer = Bad()
    trainer.append(XSEQ, YSEQ)
    with pytest.raises(RuntimeError, match="enough"):
        trainer.train(str(tmp_path / "model"))

    class Interrupted(Trainer):
        def on_iteration(self, log, info):
            raise KeyboardInterrupt

    trainer = Interrupted()
    trainer.append(XSEQ, YSEQ)
    with pytest.raises(KeyboardInterrupt):
        trainer.train(str(tmp_path / "model"))
    assert not list(tmp_path.iterdir())


def test_stopping(tmp_path):
    unlimited = trained("", c2=0.001, delta=0, epsilon=0, max_iterations=0)
    assert unlimited.model.training["stopped_by"] in ("tol", "precision")
    by_delta = trained("", c2=0.001, period=3, delta=0.1)
    assert by_delta.model.training["stopped_by"] == "delta"
    assert "delta" in REASONS
    assert 3 < by_delta.logparser.last_iteration["num"] < unlimited.logparser.last_iteration["num"]
    assert trained("", max_iterations=2).logparser.last_iteration["num"] == 2


def test_l2sgd_is_the_same_objective(tmp_path):
    found = []
    for package in (pycrfsuite.Trainer, Trainer):
        trainer = package("l2sgd", {"c2": 0.1}, verbose=False)
        for _ in range(5):
            trainer.append(XSEQ, YSEQ)
        trainer.train(str(tmp_path / "model"))
        found.append(trainer.logparser.last_iteration["loss"])
    assert found[1] == pytest.approx(found[0], rel=0.05)  # theirs is the sum of the losses during the iteration
    assert found[1] <= found[0]


def test_everything_zero(tmp_path):
    for package in (Trainer, pycrfsuite.Trainer):
        trained(tmp_path / "model", package, c1=1000.0)
        tagger = Tagger()
        tagger.open(tmp_path / "model")
        assert tagger.labels() == ["sunny", "rainy"]
        assert tagger.tag(XSEQ) == ["sunny"] * 5
        assert tagger.info().attributes == {}


def test_tagger_beside_theirs(tmp_path):
    """The same CRFsuite model in both: every answer."""
    path = str(tmp_path / "model")
    trained(path, pycrfsuite.Trainer, c1=0.05, c2=0.01)
    ours, theirs = Tagger(), pycrfsuite.Tagger()
    with ours.open(path) as tagger:
        assert tagger is ours
        theirs.open(path)
        assert ours.tag() == theirs.tag() == []
        for x in (XSEQ, [list(item) for item in XSEQ], [["unknown"]], ["ab"], [], ItemSequence(XSEQ)):
            their_x = XSEQ if isinstance(x, ItemSequence) else x
            assert ours.tag(x) == theirs.tag(their_x) == ours.tag()
            for t in range(len(x)):
                for label in ours.labels():
                    assert ours.marginal(label, t) == pytest.approx(theirs.marginal(label, t))
            for labels in (["sunny"] * len(x), ours.tag()):
                if labels:
                    assert ours.probability(labels) == pytest.approx(theirs.probability(labels))
        ours_, theirs_ = ours.info(), theirs.info()
        assert ours_.labels == theirs_.labels
        assert ours_.attributes == theirs_.attributes
        assert ours_.transitions == pytest.approx(theirs_.transitions, abs=1e-6)
        assert ours_.state_features == pytest.approx(theirs_.state_features, abs=1e-6)
        assert {name: theirs_.header[name] for name in ("size", "type", "num_labels", "num_attrs")}.items() <= (
            ours_.header.items()
        )
    with pytest.raises(ValueError, match="expected an open model"):
        ours.labels()


def test_tagger_errors(path, tmp_path):
    tagger = Tagger()
    for call in (tagger.labels, tagger.tag, lambda: tagger.set(XSEQ)):
        with pytest.raises(ValueError, match="expected an open model"):
            call()
    for call in (tagger.info, tagger.dump):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    with pytest.raises(FileNotFoundError):
        tagger.open(str(tmp_path / "nowhere"))
    for content in (b"", b"foo", b"lCRFfoo" * 100, b"{}" * 100):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(ValueError, match="bad: expected a"):
            tagger.open(str(tmp_path / "bad"))
    with tagger.open(path):
        tagger.set(XSEQ)
        with pytest.raises(RuntimeError, match="expected a label of the model"):
            tagger.marginal("foggy", 0)
        with pytest.raises(RuntimeError, match="'foggy'"):
            tagger.probability(["foggy"] * 5)
        for t in (-1, 5):
            with pytest.raises(ValueError, match=f"expected 0 to 4, found {t}"):
                tagger.marginal("sunny", t)
        with pytest.raises(ValueError, match="expected 5 labels, one per item, found 1"):
            tagger.probability(["sunny"])


def test_dump_and_memory(path, tmp_path, capsys):
    with open(path, "rb") as file:
        content = file.read()
    with Tagger().open_inmemory(content) as tagger:
        assert tagger.info().header["size"] == str(len(content))
        assert tagger.tag(XSEQ) == YSEQ
        tagger.dump(str(tmp_path / "dump"))
        tagger.dump()
    text = (tmp_path / "dump").read_text(encoding="utf-8")
    assert capsys.readouterr().out == text
    assert "(0) día:b:c --> rainy: " in text
    assert Model.from_bytes(content).label(XSEQ) == YSEQ


def test_models_with_a_template_are_refused(tmp_path):
    model = Model.from_weights(["a", "b"], {("U:x", "a"): 1.0})
    model = Model(model.vocabulary, model.features, model.w, template=Template("U:%x[0,0]\n"))
    model.save(tmp_path / "model")
    with pytest.raises(InputError, match="found a model with a template; use sparsecrf"):
        Tagger().open(tmp_path / "model")
