"""A penalty on the difference from another model: against SciPy, over solvers and shards, and by name."""

import numpy as np
import pytest
from explicit_objective import Explicit
from problems import make_problem
from sklearn.base import clone

from sparsecrf import CRF, CRFCV, InputError, Model, fit
from sparsecrf.shards import InProcess, Shard, Shards
from sparsecrf.training import Weights


def random_prior(problem, rng):
    """Weights for some of the features, observed or not."""
    n = problem.w.size
    w0 = np.where(rng.random(n) < rng.random(), rng.normal(size=n) * rng.choice([0.3, 1.0, 3.0]), 0.0)
    numbers = np.flatnonzero(w0)
    return w0, Weights(numbers.astype(np.int64), w0[numbers])


def tiny(seed):
    rng = np.random.default_rng(seed)
    lengths = [int(rng.integers(1, 4)) for _ in range(rng.integers(1, 4))]
    shape = {"n_labels": int(rng.integers(2, 4)), "lengths": lengths, "n_attributes": int(rng.integers(1, 3))}
    problem = make_problem(seed=seed, density=0.7, **shape)
    rho1, rho2 = float(rng.choice([0.0, 0.05, 0.3, 1.0])), float(rng.choice([0.01, 0.1, 1.0]))
    w0, prior = random_prior(problem, rng)
    return Explicit(problem, rho1, rho2, w0), prior, int(rng.choice([1, 3, 1000]))


@pytest.mark.parametrize("seed", range(30))
def test_certificate(seed):
    """The objective is what the definition says, and the lower bound below the minimum that SciPy finds.
    benchmarks/uncertain/prior_certificates.py tries any number of problems."""
    explicit, prior, max_iter = tiny(seed)
    found = fit(
        explicit.problem.corpus(), rho1=explicit.rho1, rho2=explicit.rho2, prior=prior, max_iter=max_iter, threads=1
    )
    assert found.objective == pytest.approx(explicit.value(explicit.weights(found)), rel=1e-9, abs=1e-9)
    slack = 1e-8 * (1 + abs(explicit.minimum))
    assert found.objective - found.gap <= explicit.minimum + slack
    assert found.objective >= explicit.minimum - slack


@pytest.fixture(scope="module")
def problem():
    return make_problem(seed=3, n_labels=3, lengths=[5] * 12, n_attributes=8, density=0.4)


@pytest.fixture(scope="module")
def prior(problem):
    return random_prior(problem, np.random.default_rng(1))[1]


@pytest.mark.parametrize("rho1", [0.0, 0.5])
@pytest.mark.parametrize("solver", ["auto", "owlqn", "lbfgs", "fista"])
def test_solvers_agree(problem, prior, solver, rho1):
    """To a certified gap, so the bound is tight, too."""
    options = {"rho1": rho1, "rho2": 0.1, "prior": prior, "threads": 1}
    found = fit(problem.corpus(), solver=solver, gap=1e-6, **options)
    assert found.stopped_by == "gap"
    assert found.objective == pytest.approx(fit(problem.corpus(), gap=1e-8, **options).objective, rel=1e-6)


@pytest.mark.parametrize("solver", ["sbcd", "cd", "sgd", "sgd-l1"])
def test_solvers_that_look_at_single_sequences_refuse(problem, prior, solver):
    rho1 = 0.0 if solver == "sgd" else 0.5
    with pytest.raises(InputError, match=r"prior is not supported by solver=.*; use auto, owlqn, lbfgs or fista"):
        fit(problem.corpus(), solver=solver, rho1=rho1, prior=prior)


def test_shards_agree(problem, prior):
    options = {"rho1": 0.5, "rho2": 0.1, "prior": prior, "gap": 1e-6}
    parts = [problem.corpus().subset(np.arange(k, 12, 3)) for k in range(3)]
    shards = Shards(InProcess([Shard.of(part, threads=1) for part in parts]))
    assert fit(shards, **options).objective == pytest.approx(fit(problem.corpus(), **options).objective, rel=2e-6)


def test_token_weights_and_groups(prior):
    """Layers, and another penalty: the bound closes."""
    problem = make_problem(seed=3, n_labels=3, lengths=[5] * 12, n_attributes=8, density=0.4)
    found = fit(problem.corpus(), rho1=0.3, rho2=0.1, penalty="group:attribute", prior=prior, gap=1e-4, threads=1)
    assert found.stopped_by == "gap"
    arrays = problem.corpus().to_arrays()
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(arrays["labels"]))
    corpus = type(problem.corpus()).from_arrays(**{**arrays, "token_weight": weight})
    assert fit(corpus, rho1=0.3, rho2=0.1, prior=prior, gap=1e-4, threads=1).stopped_by == "gap"


def test_a_prior_of_nothing_changes_nothing(problem):
    none = Weights(np.empty(0, dtype=np.int64), np.empty(0))
    options = {"rho1": 0.3, "rho2": 0.1, "threads": 1}
    plain, with_none = fit(problem.corpus(), **options), fit(problem.corpus(), prior=none, **options)
    assert with_none.objective == plain.objective
    assert (with_none.w == plain.w).all()
    assert (plain.n_changed, with_none.n_changed) == (None, len(plain.w))


def test_large_penalties_leave_the_prior_as_it_is(problem, prior):
    found = fit(problem.corpus(), rho1=1e3, rho2=0.1, prior=prior)
    assert found.n_changed == 0
    assert (found.numbers.tolist(), found.w.tolist()) == (prior.numbers.tolist(), prior.w.tolist())
    assert found.gap == pytest.approx(0, abs=1e-9)


def test_the_optimum_is_a_prior_without_differences(problem):
    """If no feature of the optimum at rho1 = 0 leaves |g| > 0, nothing is gained by a difference."""
    best = fit(problem.corpus(), rho1=0.0, rho2=0.0, observed_only=True, tol=1e-10, max_iter=3)
    again = fit(problem.corpus(), rho1=0.5, rho2=0.1, prior=Weights(best.numbers, best.w), tol=1e-6)
    plain = fit(problem.corpus(), rho1=0.5, rho2=0.1, tol=1e-6)
    assert again.loss < plain.loss
    assert again.n_changed < len(plain.w)


def test_start_and_checkpoint(problem, prior, tmp_path):
    options = {"rho1": 0.3, "rho2": 0.1, "prior": prior, "threads": 1, "tol": 1e-9}
    whole = fit(problem.corpus(), **options)
    fit(problem.corpus(), **options, max_iter=4, checkpoint=tmp_path / "run")
    resumed = fit(problem.corpus(), **options, checkpoint=tmp_path / "run", resume=True)
    assert (resumed.w == whole.w).all()
    other = Weights(prior.numbers, prior.w + 1)
    with pytest.raises(InputError, match="prior"):
        fit(problem.corpus(), **{**options, "prior": other}, checkpoint=tmp_path / "run", resume=True)
    warm = fit(problem.corpus(), **options, init=whole)
    assert len(warm.history) < len(whole.history)
    assert warm.objective == pytest.approx(whole.objective, rel=1e-8)


# ---- By name

X_OLD = [["the", "dog", "barks"], ["dog", "sleeps"], ["sleeps", "a", "cat"], ["cat", "barks", "the", "dog"]] * 5
Y_OLD = [["D", "N", "V"], ["N", "V"], ["V", "D", "N"], ["N", "V", "D", "N"]] * 5
X_NEW = [["the", "robot", "barks", "loudly"], ["a", "robot", "sleeps", "loudly"]] * 4
Y_NEW = [["D", "N", "V", "ADV"]] * 8


@pytest.fixture(scope="module")
def old():
    return CRF(rho1=0.1).fit(X_OLD, Y_OLD).model_


def weights(model):
    return {(w.attribute, w.previous, w.label): w.weight for w in model.explain(top=None).largest(None)}


@pytest.mark.parametrize("as_file", [False, True])
def test_the_result_is_one_model(old, as_file, tmp_path):
    old.save(tmp_path / "old")
    crf = CRF(rho1=0.1, prior=tmp_path / "old" if as_file else old).fit(X_NEW, Y_NEW)
    assert sorted(crf.classes_) == ["ADV", "D", "N", "V"]
    assert crf.predict(X_NEW).tolist() == Y_NEW
    assert crf.predict(X_OLD).tolist() == Y_OLD
    before, after = weights(old), weights(crf.model_)
    unseen = {key: w for key, w in before.items() if key[0] in ("dog", "cat")}
    assert unseen
    assert all(after[key] == w for key, w in unseen.items())
    assert crf.n_active_ == crf.model_.n_active == len(after)
    assert crf.model_.training["changed"] == sum(after.get(k, 0) != before.get(k, 0) for k in {**before, **after})
    again = Model.from_bytes(crf.model_.to_bytes())
    assert again.label(X_OLD[0]) == Y_OLD[0]
    assert weights(again) == after


def test_a_template_and_the_start_label_are_those_of_the_prior():
    rows = [[[word] for word in sentence] for sentence in X_OLD]
    old = CRF(rho1=0.1, template="U:%x[0,0]\nU:%x[-1,0]\nB", start=False).fit(rows, Y_OLD).model_
    new = CRF(rho1=0.1, prior=old).fit([[[word] for word in sentence] for sentence in X_NEW], Y_NEW).model_
    assert new.template.text == old.template.text
    assert not new.vocabulary.start


def test_dev_data_are_labelled_by_the_sum(old):
    crf = CRF(rho1=1e3, prior=old).fit(X_OLD, Y_OLD, dev=(X_OLD, Y_OLD))
    assert [record.dev_error for record in crf.history_] == [0.0]
    assert weights(crf.model_) == weights(old)


def test_warm_start_with_a_prior(old):
    crf = CRF(rho1=0.1, prior=old, warm_start=True, tol=1e-6).fit(X_NEW, Y_NEW)
    first = crf.objective_
    assert crf.fit(X_NEW, Y_NEW).objective_ == pytest.approx(first, rel=1e-5)


def test_a_parameter_of_scikit_learn(old):
    crf = CRF(prior=old)
    assert crf.solver_options == {"prior": old}
    assert weights(clone(crf).solver_options["prior"]) == weights(old)
    assert CRF().set_params(prior=old).solver_options == {"prior": old}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda old: CRF(prior=3), "prior: expected a Model or a model file, found int"),
        (lambda old: CRF(prior=old, order=3), "prior cannot be combined with order=3"),
        (lambda old: CRF(prior=old, solver="sbcd"), "prior is not supported by solver='sbcd'"),
        (lambda old: CRF(prior=old, label_parts="|"), "prior cannot be combined with label_parts"),
        (lambda old: CRF(prior=with_vectors()), "prior: not supported for models with vectors"),
        (
            lambda old: CRF(prior=CRF(order=3, rho1=0.01).fit(X_OLD, Y_OLD).model_),
            "not supported for models with label n-grams longer than pairs",
        ),
        (lambda old: CRFCV(solver_options={"prior": old}), "'prior' is not supported for multiple fits"),
    ],
)
def test_what_is_refused(old, make, message):
    with pytest.raises(InputError, match=message):
        make(old).fit(X_NEW, Y_NEW)
    with pytest.raises(InputError, match="'prior' is not supported for multiple fits"):
        CRF(prior=old).path(X_NEW, Y_NEW)


def test_labels_of_another_kind(old):
    with pytest.raises(
        InputError, match="prior: expected a model whose labels are integers, as in y, found 'D', 'N', 'V'"
    ):
        CRF(prior=old).fit([["the"]], [[1]])


def with_vectors():
    dense = [np.ones((len(sentence), 2)) * k for k, sentence in enumerate(X_OLD)]
    return CRF(rho1=0.1).fit(X_OLD, Y_OLD, dense=dense).model_
