"""Training with penalties over groups: every solver on random forests, certified on the explicit space by duality."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import make_problem

from sparsecrf import InputError, Vocabulary
from sparsecrf._core import FeatureSet
from sparsecrf.path.grid import rho_max
from sparsecrf.shards import Shards
from sparsecrf.training import SOLVERS, fit
from sparsecrf.training.data import TrainingData
from sparsecrf.training.forest import Level
from sparsecrf.training.group_penalty import OnFeatures
from sparsecrf.training.groups import ByLine, Grouping
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalties import kind_of
from sparsecrf.training.penalty import ElasticNet

OVER_GROUPS = ["auto", "fista"]
every_solver = pytest.mark.parametrize("solver", OVER_GROUPS)


class RandomForest(Grouping):
    """Nested groups of feature numbers, whatever they are: parts of each level are merged to make the next."""

    def __init__(self, seed, n_levels=3):
        self.name, self.seed, self.n_levels = f"random forest {seed}", seed, n_levels

    def keys(self, cells):
        n = cells.numbering.first_ngram
        numbers = np.where(
            cells.previous < 0,
            cells.numbering.unigram(cells.attribute, cells.label),
            cells.numbering.bigram(cells.attribute, cells.previous, cells.label),
        )
        rng = np.random.default_rng(self.seed)
        part, levels = rng.permutation(n) // 3, {}
        for level in range(self.n_levels):
            alone = rng.random(n) < 0.2
            levels[f"level {level}"] = np.where(alone[part], -1, part)[numbers]
            part = part // 3
        return levels


def grouping_for(asked, problem):
    if asked == "group:line":
        return ByLine(np.arange(len(problem.mu)) % 3)
    return RandomForest(int(asked.removeprefix("random "))) if asked.startswith("random") else asked


def parts(grouping, rho1, weight, data, numbers):
    """The norms of the penalty by the definition: cells and weight of each, those of single cells included."""
    from sparsecrf.training.groups import Cells

    grouping = kind_of(grouping)
    observed = grouping.keys(Cells.of(data, data.observed))
    found = [(np.array([k]), rho1) for k in range(len(numbers))]
    for level, keys in grouping.keys(Cells.of(data, numbers)).items():
        for key in np.unique(keys[keys >= 0]):
            n = max(1, int((observed[level] == key).sum()) if level in observed else 1)
            found.append((np.flatnonzero(keys == key), rho1 * weight * np.sqrt(n)))
    return found


def distance_to_ball(G, norms):
    """min |G - sum_G u_G|^2 over ||u_G|| <= eta_G, one after the other: right for groups of any kind."""
    rest, u = G.copy(), [np.zeros(len(cells)) for cells, _ in norms]
    for _ in range(400):
        for k, (cells, eta) in enumerate(norms):
            full = rest[cells] + u[k]
            size = np.linalg.norm(full)
            u[k] = full * (min(1.0, eta / size) if size > 0 else 0.0)
            rest[cells] = full - u[k]
    return rest @ rest


def certified(problem, grouping, found, rho1, rho2, weight):
    """P(w) and a lower bound on min P over the explicit space: D = H - Omega*(g) of the model itself."""
    data = TrainingData(problem.corpus(), threads=1)
    numbers = FeatureSet.all_virtual(data.whole).numbers
    w = np.zeros(len(numbers))
    w[np.searchsorted(numbers, found.numbers)] = found.w
    objective = Objective(data, ElasticNet(rho1, rho2))
    loss, g = objective.loss_grad(data.working_set(numbers), w)
    norms = parts(grouping, rho1, weight, data, numbers)
    value = loss + rho2 / 2 * w @ w + sum(eta * np.linalg.norm(w[cells]) for cells, eta in norms)
    return value, loss - w @ g - distance_to_ball(g, norms) / (2 * rho2)


KINDS = ["group:attribute", "group:label", "group:line", "tree", "random 1", "random 2", "random 3"]


def check_optimum(solver, asked, max_iter=4000):
    problem = make_problem(seed=7, n_labels=3, lengths=[5] * 12, n_attributes=6, density=0.5)
    rho1, rho2, weight, grouping = 0.25, 0.1, 0.7, grouping_for(asked, problem)
    how = {"rho1": rho1, "rho2": rho2, "penalty": grouping, "group_weight": weight, "solver": solver, "threads": 1}
    found = fit(problem.corpus(), tol=1e-10, max_iter=max_iter, **how)
    value, bound = certified(problem, grouping, found, rho1, rho2, weight)
    assert_allclose(found.objective, value, rtol=1e-9)
    assert value - bound <= 1e-6 * value
    assert 0 <= found.gap <= 1e-5 * value
    assert 0 < len(found.w) < 66
    early = fit(problem.corpus(), tol=0.0, max_iter=2, **how)
    assert early.gap >= early.objective - value > 1e-3 * value


@pytest.mark.slow
@every_solver
@pytest.mark.parametrize("asked", KINDS)
def test_the_optimum_of_the_whole_space(solver, asked):
    check_optimum(solver, asked)


@pytest.mark.slow
def test_a_skipped_candidate_a_wrong_sweep_or_weight_is_found(monkeypatch):
    """The check above can fail."""

    def run(solver, asked):
        check_optimum(solver, asked, max_iter=150)

    with monkeypatch.context() as patch:  # the screening that rules out all but the known features
        patch.setattr(Objective, "screen", lambda self, known, w: (known, w, *self.loss_grad(known, w)))
        with pytest.raises(AssertionError):
            run("auto", "group:attribute")
    with monkeypatch.context() as patch:  # no group may leave zero
        patch.setattr(OnFeatures, "movable", lambda self, w, g, share: w != 0)
        with pytest.raises(AssertionError):
            run("auto", "random 1")
    with monkeypatch.context() as patch:
        shrink = Level.shrink
        patch.setattr(Level, "shrink", lambda self, z, c, only=None: shrink(self, z, 0.5 * c, only))
        for solver in OVER_GROUPS:
            with pytest.raises(AssertionError):
                run(solver, "tree")
    with monkeypatch.context() as patch:
        patch.setattr(OnFeatures, "conjugate", lambda self, size: 0.0)
        with pytest.raises(AssertionError):
            run("auto", "random 2")
    run("auto", "group:attribute")


@pytest.mark.parametrize("asked", KINDS)
def test_solvers_agree_without_a_quadratic_term(asked):
    problem = make_problem(seed=8, n_labels=3, lengths=[5] * 12, n_attributes=6, density=0.5)
    how = {"rho1": 0.4, "rho2": 0.0, "penalty": grouping_for(asked, problem), "tol": 1e-9, "threads": 1}
    a, b = (fit(problem.corpus(), solver=solver, max_iter=6000, **how) for solver in OVER_GROUPS)
    assert_allclose(a.objective, b.objective, rtol=1e-6)
    assert a.gap >= a.objective - b.objective - 1e-9


@pytest.mark.parametrize("asked", KINDS)
def test_rho_max_is_where_the_first_weight_appears(asked):
    problem = make_problem(seed=9, n_labels=4, lengths=[6] * 15, n_attributes=8, density=0.5)
    grouping = grouping_for(asked, problem)
    largest = rho_max(problem.corpus(), penalty=grouping, group_weight=0.6, threads=1)
    how = {"rho2": 0.01, "penalty": grouping, "group_weight": 0.6, "tol": 1e-9, "threads": 1}
    assert len(fit(problem.corpus(), rho1=largest * (1 + 1e-6), **how).w) == 0
    assert len(fit(problem.corpus(), rho1=largest * (1 - 1e-3), **how).w) > 0
    assert largest < rho_max(problem.corpus(), threads=1)


@pytest.mark.slow
def test_weight_zero_is_the_elastic_net():
    problem = make_problem(seed=10, n_labels=4, lengths=[6] * 15, n_attributes=8, density=0.5)
    how = {"rho1": 0.3, "rho2": 0.05, "tol": 1e-9, "threads": 1}
    plain = fit(problem.corpus(), **how)
    groups = fit(problem.corpus(), penalty="group:attribute", group_weight=0.0, **how)
    assert_allclose(groups.objective, plain.objective, rtol=1e-8)
    np.testing.assert_array_equal(groups.numbers, plain.numbers)
    assert_allclose(groups.w, plain.w, atol=1e-4)


def test_what_is_said_of_groups():
    problem = make_problem(seed=11, n_labels=3, lengths=[6] * 15, n_attributes=8, density=0.5)
    found = fit(problem.corpus(), rho1=1.0, penalty="group:attribute", threads=1)
    kept, of = found.groups["attributes"]
    attributes = np.unique(TrainingData(problem.corpus()).working_set(found.numbers).attributes())
    assert kept == len(attributes) < of == 8
    record = found.training_record()
    assert record["penalty"] == "group:attribute"
    assert record["group_weight"] == 1.0
    assert record["groups"] == {"attributes": [kept, of]}
    assert "penalty" not in fit(problem.corpus(), rho1=1.0, threads=1).training_record()


@pytest.mark.parametrize("solver", sorted(set(SOLVERS) - {*OVER_GROUPS, "proximal"}))
def test_other_solvers_refuse(solver):
    corpus = make_problem(seed=1, n_labels=2, lengths=[3], n_attributes=2).corpus()
    with pytest.raises(InputError, match=f"penalty='tree' is not supported by solver='{solver}'; use auto or fista"):
        fit(corpus, penalty="tree", solver=solver)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "lasso"}, "penalty: expected one of elastic-net, group:attribute, .*, found 'lasso'"),
        ({"penalty": "group:line"}, "penalty: group:line needs the names of attributes"),
        ({"penalty": "tree", "rho1": 0.0}, "penalty='tree' cannot be combined with rho1=0.0: .*; use rho1 above 0"),
        ({"penalty": "tree", "group_weight": -1.0}, "group_weight: expected a finite number >= 0, found -1.0"),
        ({"penalty": "tree", "rho2": np.nan}, "rho2: expected a finite number >= 0, found nan"),
    ],
)
def test_what_is_no_penalty(options, message):
    corpus = make_problem(seed=1, n_labels=2, lengths=[3], n_attributes=2).corpus()
    with pytest.raises(InputError, match=message):
        fit(corpus, **options)


@pytest.mark.slow
def test_long_strings_of_labels_are_under_their_suffix():
    from sparsecrf.training.groups import Cells, Tree

    problem = make_problem(seed=12, n_labels=3, lengths=[6] * 20, n_attributes=4, density=0.5)
    data = TrainingData(problem.corpus(), order=None, threads=1)
    found = fit(data, rho1=0.3, rho2=0.1, penalty="tree", group_weight=0.2, tol=1e-8, threads=1)
    assert found.n_ngram > 0
    again = fit(data, rho1=0.3, rho2=0.1, penalty="tree", group_weight=0.2, tol=1e-8, solver="fista", threads=1)
    assert_allclose(again.objective, found.objective, rtol=1e-6)
    assert found.gap <= 1e-4 * found.objective
    table = data.ngrams.numbers(found.ngrams)
    cells = Cells.of(data, np.sort(np.concatenate([data.observed, table])))
    strings, x, levels = cells.strings(), cells.attribute, list(Tree().keys(cells).values())
    for finer, coarser in pairwise(levels):
        for key in np.unique(finer[finer >= 0]):  # every group is contained in one, or disjoint from all
            assert len(np.unique(coarser[finer == key])) == 1
    last = levels[-2]  # strings that are longer than their last label
    for a in range(len(strings)):
        for b in range(len(strings)):
            longer = len(strings[a]) > 1 and len(strings[b]) > 1
            together = longer and x[a] == x[b] and strings[a][-1] == strings[b][-1]
            assert (last[a] == last[b] >= 0) == together


def test_shards_and_one_thread_or_two_give_what_one_corpus_gives():
    corpus = make_problem(seed=13, n_labels=4, lengths=[6] * 30, n_attributes=8, density=0.5).corpus()
    how = {"rho1": 0.4, "rho2": 0.1, "penalty": "group:attribute", "tol": 1e-8}
    one, two = (fit(corpus, threads=n, **how) for n in (1, 2))
    np.testing.assert_array_equal(one.w, two.w)
    parts = np.array_split(np.arange(corpus.n_sequences), 3)
    apart = fit(Shards.in_process([partial(corpus.subset, part) for part in parts], threads=1), **how)
    assert_allclose(apart.objective, one.objective, rtol=1e-7)
    assert apart.groups == one.groups
    assert 0 <= apart.gap <= 1e-4 * apart.objective


@pytest.mark.slow
def test_a_checkpoint_goes_on_to_the_same_bits(tmp_path):
    problem = make_problem(seed=14, n_labels=4, lengths=[6] * 30, n_attributes=8, density=0.5)
    for solver in OVER_GROUPS:
        how = {"rho1": 0.3, "rho2": 0.1, "penalty": "tree", "solver": solver, "tol": 1e-7, "threads": 1}
        whole, file = fit(problem.corpus(), **how), tmp_path / solver
        fit(problem.corpus(), checkpoint=file, max_iter=7, **how)
        resumed = fit(problem.corpus(), checkpoint=file, resume=True, **how)
        np.testing.assert_array_equal(resumed.w, whole.w)
        assert resumed.gap == whole.gap
        for other in ({"penalty": "group:label"}, {"group_weight": 2.0}):
            with pytest.raises(InputError, match="expected a checkpoint with"):
                fit(problem.corpus(), checkpoint=file, resume=True, **{**how, **other})


@pytest.mark.slow
def test_negative_values_and_missing_labels():
    signed = make_problem(seed=15, n_labels=3, lengths=[6] * 20, n_attributes=6, real_values=True)
    how = {"rho1": 0.3, "rho2": 0.1, "penalty": "group:attribute", "group_weight": 0.7, "threads": 1}
    found = fit(signed.corpus(), tol=1e-9, **how)
    value, bound = certified(signed, "group:attribute", found, 0.3, 0.1, 0.7)
    assert value - bound <= 1e-6 * value
    missing = make_problem(seed=15, n_labels=3, lengths=[6] * 20, n_attributes=6, missing=0.3)
    assert fit(missing.corpus(), tol=1e-6, **how).gap == np.inf


def test_values_that_cancel_do_not_change_the_groups_or_the_size_of_the_space():
    """An attribute whose values sum to 0 occurs all the same: only its sum of |value| may say whether it does."""
    found = []
    for value in (-1.0, -0.999999999):
        X = [[[("a", 1.0)], [("a", value)]], [[("b", 1.0)], ["a"]], [[("a", -1.0)], ["b"]]]
        vocabulary = Vocabulary(bigrams="all")
        data = TrainingData(vocabulary.encode(X, [["P", "Q"], ["Q", "P"], ["P", "P"]], grow=True))
        fitted = fit(data, rho1=0.01, rho2=0.01, penalty="tree", gap=1e-7)
        found.append((fitted.objective, data.n_virtual()))
    assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    assert found[0][1] == found[1][1] == 2 * 2 + 3 * (2 * 2 + 2)  # BIAS conditions pairs alone
