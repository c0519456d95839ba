"""The registry of penalties, and what it takes to add one."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import make_problem

from sparsecrf import defaults
from sparsecrf.compatibility import OptionError
from sparsecrf.training import SOLVERS, fit
from sparsecrf.training.data import TrainingData
from sparsecrf.training.objective import Objective
from sparsecrf.training.order_penalty import WeightedNet
from sparsecrf.training.penalties import PENALTIES
from sparsecrf.training.penalty import ElasticNet, PenaltyKind


class DearPairs(PenaltyKind):
    """The elastic net with twice the rho1 for label pairs: a penalty that the package does not have."""

    name = "dear-pairs"

    def make(self, strengths, data):
        return DearPairsOfAll(strengths.rho1, strengths.rho2, data.numbering.first_bigram)


@dataclass(frozen=True)
class DearPairsOfAll:
    rho1: float
    rho2: float
    first_bigram: int

    @property
    def threshold(self):
        return self.rho1

    def threshold_of(self, n_labels):
        return self.rho1 * min(n_labels, 2)

    def thresholds(self, numbers):
        return self.on(numbers).rho1_of

    def on(self, numbers):
        return WeightedNet(self.rho1, self.rho2, np.where(numbers < self.first_bigram, 1.0, 2.0))

    def record(self):
        return {"penalty": DearPairs.name, "rho1": self.rho1, "rho2": self.rho2}

    def summary(self, numbers):
        return {"penalty": DearPairs.name}


def test_a_new_penalty_is_one_class():
    problem = make_problem(seed=5, n_labels=3, lengths=[5] * 12, n_attributes=6, density=0.5)
    options = {"rho1": 0.3, "rho2": 0.1, "gap": 1e-8, "threads": 1}
    found = fit(problem.corpus(), penalty=DearPairs(), solver="fista", **options)
    data = TrainingData(problem.corpus(), threads=1)
    everything = data.working_set(np.arange(data.numbering.first_ngram))
    w = everything.carry(found.w, data.working_set(found.numbers))
    loss, g = Objective(data, ElasticNet(0.0, 0.0)).loss_grad(everything, w)
    rho1 = np.where(everything.numbers < data.numbering.first_bigram, 0.3, 0.6)
    assert_allclose(found.objective, loss + rho1 @ np.abs(w) + 0.05 * w @ w, rtol=1e-12)
    residual = np.where(w != 0, np.abs(g + 0.1 * w + rho1 * np.sign(w)), np.maximum(np.abs(g) - rho1, 0))
    assert residual.max() < 1e-3
    assert found.training_record()["penalty"] == "dear-pairs"
    assert len(found.w) < len(fit(problem.corpus(), **options).w)


@pytest.mark.parametrize("solver", sorted(set(SOLVERS) - {"fista"}))
def test_a_new_penalty_needs_a_solver_for_any_penalty(solver):
    corpus = make_problem(seed=5, n_labels=2, lengths=[3], n_attributes=2).corpus()
    with pytest.raises(OptionError, match="penalty='dear-pairs' needs solver fista"):
        fit(corpus, penalty=DearPairs(), solver=solver, rho1=0 if solver == "sgd" else 0.1)


def test_penalties_have_their_names_in_the_registry():
    assert {name: kind.name for name, kind in PENALTIES.items()} == {name: name for name in defaults.PENALTIES}


@pytest.mark.parametrize("wrong", [None, 3, ("tree",)])
def test_something_else_is_refused(wrong):
    corpus = make_problem(seed=5, n_labels=2, lengths=[3], n_attributes=2).corpus()
    with pytest.raises(OptionError, match="expected one of elastic-net"):
        fit(corpus, penalty=wrong)
