"""Without a penalty (c1 = c2 = 0) the number of iterations is the regulariser: iterations must be those of CRFsuite."""

import numpy as np
import pycrfsuite
import pytest
from newswire import sentences
from problems import make_problem

from sparsecrf import InputError
from sparsecrf.contrib import compat
from sparsecrf.training import fit


def tokens(sentence):
    around = [("^", "^"), *[row[:2] for row in sentence], ("$", "$")]
    return [
        {"word": word.lower(), "tag": tag, "end": word[-3:], "before": around[t][0], "after": around[t + 2][0]}
        for t, (word, tag, _) in enumerate(sentence)
    ]


@pytest.fixture(scope="module")
def news():
    """Enough tokens for a stochastic start, were there one."""
    return [(tokens(s), [label for _, _, label in s]) for s in sentences(1300)]


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [5, 20])
def test_same_model_after_as_many_iterations(news, tmp_path, iterations):
    found = []
    for package in (pycrfsuite, compat):
        trainer = package.Trainer(params={"c1": 0, "c2": 0, "max_iterations": iterations}, verbose=False)
        for x, y in news[:1000]:
            trainer.append(x, y)
        trainer.train(str(tmp_path / "model"))
        tagger = package.Tagger()
        with tagger.open(str(tmp_path / "model")):
            labels = [tagger.tag(x) for x, _ in news[1000:]]
        found.append(([info["loss"] for info in trainer.logparser.iterations], labels))
    (their_losses, their_labels), (losses, labels) = found
    assert losses == pytest.approx(their_losses, rel=1e-4)
    assert labels == their_labels


def test_plain_lbfgs_finds_the_optimum():
    corpus = make_problem(0, 3, [5] * 20, 6).corpus()
    options = {"plain": True, "memory": 6}
    best = fit(corpus, rho1=0, rho2=0.3, tol=1e-9)
    found = fit(corpus, rho1=0, rho2=0.3, tol=1e-9, solver="lbfgs", solver_options=options)
    assert found.objective == pytest.approx(best.objective, rel=1e-8)
    assert found.kkt < 1e-4
    values = np.array([record.objective for record in found.history])
    assert (np.diff(values) <= 0).all()
    with pytest.raises(InputError, match="rho1: expected 0 for plain L-BFGS, found 0"):
        fit(corpus, rho1=0.1, solver="lbfgs", solver_options=options)


def test_plain_lbfgs_resumes(tmp_path):
    """A run that was stopped goes on to the same bits."""
    corpus = make_problem(1, 3, [5] * 20, 6).corpus()
    options = {"rho1": 0, "rho2": 0.01, "solver": "lbfgs", "solver_options": {"plain": True}, "tol": 0}
    whole = fit(corpus, max_iter=12, **options)
    for limit in (5, 12):
        found = fit(corpus, max_iter=limit, checkpoint=tmp_path / "state", resume=True, **options)
    assert found.w.tolist() == whole.w.tolist()
