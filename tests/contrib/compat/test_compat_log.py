"""The training log: python-crfsuite's own parser reads ours, and ours reads CRFsuite's."""

import re

import numpy as np
import pycrfsuite
import pytest
from newswire import sentences
from pycrfsuite._logparser import TrainLogParser as TheirParser

from sparsecrf.contrib import compat
from sparsecrf.contrib.compat.training_log import TrainLogParser

SENTENCES = sentences(60, seed=3)
DATA = [([{"w": w.lower(), "pos": pos} for w, pos, _ in s], [label for _, _, label in s]) for s in SENTENCES]


def trained(package, algorithm="lbfgs", trainer=None, holdout=True, path="", **params):
    made = (trainer or package.Trainer)(algorithm, params, verbose=False)
    for k, (x, y) in enumerate(DATA):
        made.append(x, y, int(holdout and k >= 40))
    made.train(str(path), holdout=1 if holdout else -1)
    return made


def comparable(parser):
    """Everything but seconds, and what only one of them has."""
    gone = ("time", "kkt", "gap")
    iterations = [{k: v for k, v in info.items() if k not in gone} for info in parser.iterations]
    return parser.featgen_num_features, parser.featgen_percent, iterations


@pytest.mark.parametrize("params", [{"c1": 0.1, "c2": 0.01}, {"c2": 0.1}, {"c1": 0, "c2": 0, "max_iterations": 9}])
def test_their_parser_reads_our_log(params):
    ours = trained(compat, **params).logparser
    theirs = TheirParser()
    events = [theirs.feed(line) for line in ours.log]
    assert [event for event in events if event] == [event for event, _, _ in ours.events]
    assert theirs.last_iteration.keys() == ours.last_iteration.keys() - {"kkt", "gap"}
    features, percent, iterations = comparable(ours)
    assert (theirs.featgen_num_features, theirs.featgen_percent) == (features, percent) == (features, 100)
    for exact, read in zip(iterations, comparable(theirs)[2], strict=True):
        assert read.pop("item_accuracy") == exact.pop("item_accuracy")
        assert read.pop("instance_accuracy") == exact.pop("instance_accuracy")
        scores, exact_scores = read.pop("scores"), exact.pop("scores")
        assert read == pytest.approx(exact, abs=1e-6)
        for label, score in scores.items():
            assert score[:3] == exact_scores[label][:3]
    for name in ("featgen_seconds", "training_seconds"):
        assert getattr(theirs, name) == getattr(ours, name)
    assert (theirs.storing_seconds or 0.0) == ours.storing_seconds  # their parser keeps None for 0.000


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_our_parser_reads_their_log(tmp_path, algorithm):
    class Lines(pycrfsuite.Trainer):
        def message(self, message):
            self.lines = [*getattr(self, "lines", []), message]

    lines = trained(pycrfsuite, algorithm, Lines, path=tmp_path / "model", max_iterations=5).lines
    ours, theirs = TrainLogParser(), TheirParser()
    for line in lines:
        assert ours.feed(line) == theirs.feed(line)
        assert ours.last_log == theirs.last_log
    theirs.storing_seconds = theirs.storing_seconds or 0.0  # None for 0.000
    assert vars(ours) == vars(theirs)


def test_same_numbers_as_theirs(tmp_path):
    """Without a penalty the iterations are the same: so is what is said of them."""
    params = {"c1": 0, "c2": 0, "max_iterations": 8}
    theirs = trained(pycrfsuite, path=tmp_path / "model", **params).logparser
    ours = trained(compat, **params).logparser
    for mine, other in zip(ours.iterations, theirs.iterations, strict=True):
        names = ("loss", "feature_norm", "error_norm", "avg_precision", "avg_recall", "avg_f1", "item_accuracy_float")
        assert [mine[name] for name in names] == pytest.approx([other[name] for name in names], rel=1e-4, abs=1e-6)
        assert mine["linesearch_trials"] >= 1
        assert mine["item_accuracy"] == other["item_accuracy"]
        assert mine["active_features"] == other["active_features"]
    for log in (ours.log, theirs.log):  # what cannot be equal
        log[:] = [re.sub(r"(?<=: )[0-9.]+(?= \()|\d\.\d{3}$", "", line) for line in log]
    first = "***** Iteration #1 *****\n"
    assert ours.log[: ours.log.index(first)] == theirs.log[: theirs.log.index(first)]
    words = [[line.split(":")[0] for line in log[log.index(first) :]] for log in (ours.log, theirs.log)]
    assert words[0] == words[1]


@pytest.mark.parametrize("params", [{"c2": 0.1}, {"c1": 0.5, "c2": 0.1}])
def test_counts_of_a_stored_model(tmp_path, params):
    """The attribute of the transitions is ours alone: it is not counted."""
    found = []
    for package in (pycrfsuite, compat):
        trainer = trained(package, path=tmp_path / "model", epsilon=1e-8, delta=1e-10, **params)
        found.append([line for line in trainer.logparser.log if line.startswith("Number of active")])
    assert found[0] == found[1]
    assert len(found[0]) == 3


def test_norms_with_a_penalty():
    trainer = trained(compat, holdout=False, c1=1.0, c2=0.1)  # solver proximal
    last = trainer.logparser.last_iteration
    assert last["feature_norm"] == pytest.approx(np.linalg.norm(trainer.model.w))
    assert last["error_norm"] < trainer.logparser.iterations[0]["error_norm"]
    assert "Error norm: " in "".join(trainer.logparser.log)


def test_the_solver_dual_has_no_error_norm():
    trainer = trained(compat, holdout=False, c1=0.2, c2=0.1)
    assert "gap" in trainer.logparser.last_iteration
    assert "error_norm" not in trainer.logparser.last_iteration
    assert "Feature norm: " in "".join(trainer.logparser.log)
    assert "Error norm: " not in "".join(trainer.logparser.log)


def test_progress_is_told(capsys):
    class Progress(compat.Trainer):
        def on_featgen_progress(self, log, percent):
            self.seen = [*getattr(self, "seen", []), (log, percent)]

    trainer = Progress(params={"max_iterations": 2})
    trainer.append(*DATA[0])
    trainer.train("")
    assert [percent for _, percent in trainer.seen] == list(range(2, 101, 2)) or len(trainer.seen) == 51
    assert "".join(log for log, _ in trainer.seen).endswith("9....10")
    out = capsys.readouterr().out
    assert out.count("***** Iteration") == 2
    assert out.endswith("\n\n")


def test_all_lines_are_printed_once(capsys):
    trainer = compat.Trainer(params={"max_iterations": 3})
    trainer.append(*DATA[0])
    trainer.train("")
    assert capsys.readouterr().out == "".join(trainer.logparser.log)


def test_header_of_a_dump(tmp_path):
    """As theirs, but that the number of features is right (there it is always 0)."""
    trained(pycrfsuite, path=tmp_path / "model", c1=0.1, c2=0.1)
    found = []
    for package in (compat, pycrfsuite):
        tagger = package.Tagger()
        tagger.open(str(tmp_path / "model"))
        tagger.dump(str(tmp_path / package.__name__))
        found.append((tmp_path / package.__name__).read_text().split("}")[0].splitlines())
        if package is compat:
            header = tagger.info().header
    assert [a for a, b in zip(*found, strict=True) if a != b] == [f"  num_features: {header['num_features']}"]
    assert header == dict(line.strip().split(": ") for line in found[0][1:])


def test_weights_of_a_dump_have_no_exponent(tmp_path):
    """Parsers of dumps look for digits, a point and digits."""
    from pycrfsuite._dumpparser import CRFsuiteDumpParser

    from sparsecrf import Model
    from sparsecrf.contrib.convert.foreign import read_crfsuite, write_crfsuite

    weights = {("a", "x"): 1.25e-7, ("b", "x"): -3e21, ("c", "x"): 0.1 + 0.2}
    write_crfsuite(Model.from_weights(["x"], weights, start=False), tmp_path / "dump")
    parser = CRFsuiteDumpParser()
    for line in (tmp_path / "dump").read_text().splitlines():
        parser.feed(line)
    assert parser.result.state_features == weights
    assert sorted(read_crfsuite(tmp_path / "dump").w) == sorted(weights.values())
