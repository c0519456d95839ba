"""Training and labelling on a Dask cluster: what one machine gives, the same bits on any workers, and clear errors."""

import signal
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("distributed", reason="clusters need the extra `dask`")

import dask
import dask.bag
from dask import delayed
from partitions import OPTIONS, cut, left_on, made_up, names
from sentences import sentences

import sparsecrf.contrib.dask.cluster
from sparsecrf import CRF, InputError, Template, fit
from sparsecrf._core import Corpus
from sparsecrf.contrib.dask import ClusterError, DaskCRF, label, train
from sparsecrf.contrib.dask.cluster import Cluster, OnDask
from sparsecrf.contrib.dask.encoding import encode
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.shards import Shards
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet

pytestmark = pytest.mark.slow

TEMPLATE = "U1:%x[0,0]\n*2:%x[0,1]\nU3:%x[-1,0]\nB\n"


@pytest.fixture(scope="module")
def data():
    return made_up()


@pytest.fixture(scope="module")
def trained(client, data):
    X, y = data
    return train(client, cut(X), cut(y), **OPTIONS)


# ---- What comes out


def test_vocabulary_and_objective_are_those_of_one_machine(trained, data):
    X, y = data
    local = CRF(n_jobs=1, **OPTIONS)
    encoded = local._encoded(X, y)
    assert names(trained.data.vocabulary.attributes) == names(encoded.vocabulary.attributes)
    assert names(trained.data.vocabulary.labels) == names(encoded.vocabulary.labels)
    found = fit(encoded.corpus, threads=1, **OPTIONS)
    assert trained.fit.stopped_by == "tol"
    assert trained.fit.objective == pytest.approx(found.objective, rel=1e-4)
    assert trained.fit.n_features == found.n_features
    assert (trained.fit.corpus.n_sequences, trained.fit.corpus.n_tokens) == (60, encoded.corpus.n_tokens)


def test_label_ngrams(client, data):
    X, y = data
    local = CRF(n_jobs=1)._encoded(X, y)
    options = OPTIONS | {"rho1": 0.5, "order": 3}
    found, expected = train(client, cut(X), cut(y), **options).fit, fit(local.corpus, threads=1, **options)
    assert found.n_ngram > 0
    assert found.objective == pytest.approx(expected.objective, rel=1e-3)


def test_estimator_with_label_ngrams(client, data):
    X, y = data
    crf = DaskCRF(rho1=0.5, order=3, tol=1e-3, solver_options={"order_factor": 1.2}).fit(cut(X), cut(y))
    assert crf.model_.features.n_ngram > 0
    assert (crf.model_.training["order"], crf.model_.training["order_factor"]) == (3, 1.2)
    alone = CRF(rho1=0.5, order=3, tol=1e-3, solver_options={"order_factor": 1.2}).fit(X, y)
    assert crf.objective_ == pytest.approx(alone.objective_, rel=3e-3)


def test_loss_and_gradient_are_those_of_one_machine(client, data):
    X, y = data
    encoded = CRF()._encoded(X, y)
    shards = encode(Cluster(client), cut(X), cut(y), None, Recipe(), 1).shards
    whole, several = Objective(encoded.corpus, ElasticNet(0.1, 0.1), threads=1), Objective(shards, ElasticNet(0.1, 0.1))
    known = whole.hopeful()
    w = np.random.default_rng(0).normal(size=known.size)
    for found, expected in zip(several.loss_grad(known, w), whole.loss_grad(known, w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    # Shards in this process, merged in the same tree, give identical results.
    corpora = [encoded.vocabulary.encode(a, b) for a, b in zip(cut(X), cut(y), strict=True)]
    here = Objective(Shards.in_process([partial(_itself, corpus) for corpus in corpora]), ElasticNet(0.1, 0.1))
    assert here.loss_grad(known, w)[0] == several.loss_grad(known, w)[0]
    assert_array_equal(here.loss_grad(known, w)[1], several.loss_grad(known, w)[1])
    shards.release()
    with pytest.raises(InputError, match="found released ones"):
        several.loss_grad(known, w)


def _itself(corpus: Corpus) -> Corpus:
    return corpus


def test_same_bits_on_1_2_and_4_workers(cluster, client, trained, data):
    X, y = data
    for n in (1, 4):
        cluster.scale(n)
        client.wait_for_workers(n, timeout=30)
        while len(client.scheduler_info()["workers"]) != n:
            time.sleep(0.05)
        found = train(client, cut(X), cut(y), **OPTIONS)
        assert_array_equal(found.fit.w, trained.fit.w)
        assert [r.objective for r in found.fit.history] == [r.objective for r in trained.fit.history]
        assert found.model.to_bytes() == trained.model.to_bytes()
    cluster.scale(2)


@pytest.mark.parametrize("kind", ["bags", "bag of pairs", "delayed", "futures"])
def test_kinds_of_partitions(client, trained, data, kind):
    X, y = data
    if kind == "bag of pairs":
        pairs = [list(zip(a, b, strict=True)) for a, b in zip(cut(X), cut(y), strict=True)]
        parts = (dask.bag.from_delayed([delayed(part) for part in pairs]),)
    elif kind == "bags":
        parts = tuple(dask.bag.from_delayed([delayed(part) for part in cut(values)]) for values in (X, y))
    elif kind == "delayed":
        parts = tuple([delayed(part) for part in cut(values)] for values in (X, y))
    else:
        parts = tuple([client.submit(list, part) for part in cut(values)] for values in (X, y))
    found = train(client, *parts, max_iter=3, **OPTIONS)
    assert found.fit.history[-1].objective == trained.fit.history[3].objective


def test_nothing_stays_on_the_cluster(client, trained):
    assert left_on(client) == []


def test_weights_init_and_dev(client, data):
    X, y = data
    weights = [1.0 + (i % 3) for i in range(len(X))]
    records = []
    found = train(client, cut(X), cut(y), cut(weights), dev=(X[:20], y[:20]), callback=records.append, **OPTIONS)
    local = CRF(n_jobs=1, **OPTIONS).fit(X, y, weights)
    assert found.fit.objective == pytest.approx(local.objective_, rel=1e-4)
    assert records[-1]["dev_error"] < 10
    again = train(client, cut(X), cut(y), cut(weights), init_model=found.model, **OPTIONS)
    assert again.fit.history[0].objective == pytest.approx(found.fit.objective, rel=1e-6)


# ---- Labelling and the estimator


def test_label(client, trained, data):
    X, _ = data
    expected = [trained.model.label(tokens) for tokens in X]
    parts = label(client, trained.model, cut(X))
    assert [labels for part in client.gather(client.compute(parts)) for labels in part] == expected
    bag = dask.bag.from_sequence([*X, []], npartitions=3)
    assert label(client, trained.model, bag).compute() == [*expected, []]
    marginals = label(client, trained.model, bag, marginals=True).compute()
    assert_array_equal(marginals[5], trained.model.marginals(X[5]))
    with pytest.raises(InputError, match=r"expected.*bag.*list.*partitions.*found int"):
        label(client, trained.model, 3)


def test_estimator(client, trained, data):
    X, y = data
    y = [[len(name) for name in labels] for labels in y]  # integers come back as integers
    bags = [dask.bag.from_delayed([delayed(part) for part in cut(values)]) for values in (X, y)]
    crf, local = DaskCRF(**OPTIONS), CRF(n_jobs=1, **OPTIONS).fit(X, y)
    assert crf.fit(*bags) is crf
    assert crf.classes_.tolist() == local.classes_.tolist()
    assert crf.objective_ == pytest.approx(local.objective_, rel=1e-4)
    assert crf.score(*bags) == pytest.approx(local.score(X, y), abs=0.01)
    predicted = crf.predict(bags[0]).compute()
    assert predicted == list(CRF.predict(crf._local(), X))
    assert crf.predict_marginals(bags[0]).compute()[3].shape == (len(X[3]), len(crf.classes_))
    again = DaskCRF(**crf.get_params()).fit(*bags)
    assert_array_equal(again.model_.w, crf.model_.w)
    with pytest.raises(InputError, match="y: expected the labels of X, found None"):
        crf.fit(bags[0], None)


def test_template_and_warm_start(client):
    X, y = sentences(30, seed=2)
    crf = DaskCRF(template=Template(TEMPLATE), warm_start=True, rho1=0.1)
    crf.fit(cut(X, 2), cut(y, 2))
    assert crf.model_.template is not None
    first = crf.objective_
    crf.fit(cut(X, 2), cut(y, 2))
    assert crf.history_[0].objective == pytest.approx(first, rel=1e-6)


def test_cross_validation_through_joblib(client, data):
    joblib = pytest.importorskip("joblib", reason="comes with scikit-learn")
    from sparsecrf import CRFCV

    X, y = data
    options = {"n_rho": 3, "cv": 3, "tol": 0.05}
    here = CRFCV(**options).fit(X, y)
    with joblib.parallel_config(backend="dask"):
        there = CRFCV(**options).fit(X, y)
    assert_array_equal(there.scores_, here.scores_)
    assert there.rho1_ == here.rho1_


# ---- Errors


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (lambda X, y: (X[:3] + [[]] + X[4:], y[:3] + [[]] + y[4:]), "partition 3: expected sequences, found none"),
        (lambda X, y: (X[:5] + [[[]]], y[:5] + [[[]]]), "partition 5: .*expected at least one sequence, found none"),
        (lambda X, y: (X[:5], y), r"the same number of partitions in X, y, found {'X': 5, 'y': 6}"),
        (lambda X, y: (X, y[:2] + [[[1] * 9]] + y[3:]), "partition 2: "),
        (
            lambda X, y: (X[:1] + [[[{"a": 1.0}, 7]]] + X[2:], y[:1] + [[["O", "O"]]] + y[2:]),
            "partition 1: sequence 0, po",
        ),
        (
            lambda X, y: (X, [[[len(n) for n in s] for s in y[0]]] + y[1:]),
            "partition 1: expected labels of int as in",
        ),
        (lambda X, y: ([], []), "X: expected partitions, found none"),
        (lambda X, y: ("text", y), r"X: expected.*bag.*list.*partitions.*found str"),
        (lambda X, y: (X, None), r"partition \d: expected pairs"),
    ],
)
def test_broken_partitions(client, data, broken, expected):
    X, y = (cut(values) for values in data)
    with pytest.raises(InputError, match=expected):
        train(client, *broken(X, y))
    assert left_on(client) == []


def test_solvers_that_need_the_data_are_refused(client, data):
    with pytest.raises(InputError, match="'sbcd' does not support data on a cluster; use auto, owlqn"):
        train(client, *map(cut, data), solver="sbcd")


def test_every_wait_has_a_limit(client, data):
    X, y = (cut(values) for values in data)
    began = time.monotonic()
    try:
        with pytest.raises(ClusterError, match="expected an answer within 1 s, found none"):
            train(client, [delayed(_stuck)(X[0]), *X[1:]], y, timeout=1.0)
        assert time.monotonic() - began < 15.0
    finally:
        _ENOUGH.set()
    with pytest.raises(InputError, match=r"timeout: expected.*number.*seconds > 0.*found 0"):
        train(client, X, y, timeout=0)


_ENOUGH = threading.Event()


def _stuck(part):
    _ENOUGH.wait(20.0)
    return part


def test_interrupt_in_the_middle_of_a_pass(client, trained, data, monkeypatch):
    """What there is is returned, and nothing goes on."""
    real, passes = OnDask.total, []

    def total(self, question, *arguments, **options):
        passes.append(question.__name__)
        if len(passes) == 20:
            monkeypatch.setattr(sparsecrf.contrib.dask.cluster, "wait", _interrupted)
        try:
            return real(self, question, *arguments, **options)
        finally:
            monkeypatch.setattr(sparsecrf.contrib.dask.cluster, "wait", wait)

    wait = sparsecrf.contrib.dask.cluster.wait
    monkeypatch.setattr(OnDask, "total", total)
    found = train(client, *map(cut, data), **OPTIONS)
    assert found.fit.stopped_by == "interrupt"
    assert found.fit.history[3].objective == trained.fit.history[3].objective
    assert left_on(client) == []


def test_an_interrupt_while_a_future_is_finalized_is_not_lost(client, data):
    """Python drops exceptions there; 2 of 290 interrupts were lost so."""

    class Finalized:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def interrupt(record):
        if record["iter"] == 1:
            Finalized()

    hook = sys.unraisablehook
    crf = DaskCRF(tol=1e-12, max_iter=8, solver_options={"callback": interrupt})
    crf.client = client
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            crf.fit(*map(cut, data))
    finally:
        signal.signal(signal.SIGINT, before)
    assert crf.stopped_by_ == "interrupt"  # what there was has been kept
    assert len(crf.history_) == 2
    assert sys.unraisablehook is hook


def _interrupted(*_, **__):
    raise KeyboardInterrupt
