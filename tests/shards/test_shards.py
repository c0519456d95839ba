"""A corpus in shards gives what the whole gives: sums, candidates, certificates, and of one shard the same bits."""

import pickle
import sys
from functools import partial
from threading import Event, current_thread, main_thread
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import make_problem

from sparsecrf import InputError, fit
from sparsecrf._core import Corpus, FeatureSet, Oracle, StringTable
from sparsecrf._core import Sgd as Stepper
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.path import rho_max
from sparsecrf.shards import FAN_IN, InProcess, Shard, Shards, add, merge_tree
from sparsecrf.shards.oracle import ShardedOracle, feature_set, features_of
from sparsecrf.shards.protocol import Oracle as OracleProtocol
from sparsecrf.shards.shards import extent, one_extent
from sparsecrf.training.data import virtual_features
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers import proximal, sgd
from sparsecrf.training.solvers.sgd import _WarmUp, warm_up
from sparsecrf.training.solvers.solver import Point

RHO1, RHO2 = 0.5, 0.1


def corpus_of(seed=0, n=40, **options):
    lengths = np.random.default_rng(seed).integers(1, 9, n).tolist()
    return make_problem(seed=seed, n_labels=4, lengths=lengths, n_attributes=12, **options).corpus()


def cut(corpus, n_shards, **options):
    """The corpus in shards of about as many sequences; opened anew at each question."""
    parts = np.array_split(np.arange(corpus.n_sequences), n_shards)
    return Shards.in_process([partial(corpus.subset, part) for part in parts], threads=1, **options)


def point_of(corpus, seed=1, share=0.3):
    """Some features and weights."""
    rng = np.random.default_rng(seed)
    everything = FeatureSet.all_virtual(corpus).numbers
    numbers = everything[rng.random(len(everything)) < share]
    return FeatureSet.from_numbers(corpus.n_labels, corpus.n_attributes, numbers), rng.normal(size=len(numbers))


@pytest.mark.parametrize("kind", [{}, {"real_values": True}, {"missing": 0.2}, {"token_weights": True}])
@pytest.mark.parametrize("n_shards", [1, 2, 7, 20])
def test_sums_are_those_of_the_whole(kind, n_shards):
    corpus = corpus_of(**kind)
    features, w = point_of(corpus)
    whole, shards = Oracle(corpus, 1), ShardedOracle(cut(corpus, n_shards))
    counts = whole.counts(features)
    close = {"rtol": 1e-12, "atol": 1e-12 * corpus.n_tokens} if n_shards > 1 else {"rtol": 0, "atol": 0}
    for found, expected in zip(
        shards.loss_grad_curvature(features, w, counts), whole.loss_grad_curvature(features, w, counts), strict=True
    ):
        assert_allclose(found, expected, **close)
    for found, expected in zip(
        shards.loss_grad(features, w, counts), whole.loss_grad(features, w, counts), strict=True
    ):
        assert_allclose(found, expected, **close)
    for found, expected in zip(shards.masses(), whole.masses(), strict=True):
        assert_allclose(found, expected, **close)
    observed = FeatureSet.observed(corpus)
    numbers, counts = shards.observed()
    assert_array_equal(numbers, observed.numbers)
    assert_allclose(counts, whole.counts(observed), **close)
    assert_array_equal(shards.virtual(), FeatureSet.all_virtual(corpus).numbers)
    assert shards.signs_agree == whole.signs_agree
    assert virtual_features(cut(corpus, n_shards)) == virtual_features(corpus)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [{}, {"real_values": True}, {"missing": 0.2}, {"sequence_weights": True}])
@pytest.mark.parametrize("bound", [0.1, 1.0, 3.0, 8.0])
def test_no_candidate_is_missed(kind, bound):
    corpus = corpus_of(n=60, **kind)
    for seed in range(3):
        features, w = point_of(corpus, seed, share=0.2)
        expected = Oracle(corpus, 1).candidates(features, 3 * w, bound)
        assert_array_equal(ShardedOracle(cut(corpus, 1)).candidates(features, 3 * w, bound), expected)
        for n_shards in (2, 5, 30):
            found = ShardedOracle(cut(corpus, n_shards)).candidates(features, 3 * w, bound)
            assert (np.diff(found) > 0).all()
            assert np.isin(expected, found).all()


def test_few_candidates_are_none():
    """An attribute that is in all shards must not become a candidate for being in one of them."""
    corpus = corpus_of(n=400, list_size=4)
    features, w = point_of(corpus, share=0.2)
    expected = Oracle(corpus, 1).candidates(features, 3 * w, 20.0)
    everything = len(FeatureSet.all_virtual(corpus))
    found = ShardedOracle(cut(corpus, 8)).candidates(features, 3 * w, 20.0)
    assert 0 < len(expected) < 0.9 * everything
    assert len(found) - len(expected) < 0.5 * (everything - len(expected))


@given(st.integers(1, 4), st.integers(1, 5), st.data())
def test_features_of_cells(n_labels, n_attributes, data):
    """Against the definition, one feature at a time."""
    size = n_labels * n_attributes
    chosen = data.draw(st.sets(st.integers(0, 4 * size - 1)))
    Y, expected = n_labels, []
    for x in range(n_attributes):
        expected += [x * Y + y for y in range(Y) if x * Y + y in chosen]
    for x in range(n_attributes):
        pairs = [(p, y) for p in range(Y) for y in range(Y)]
        first = size + x * (Y + 1) * Y
        expected += [
            first + p * Y + y for p, y in pairs if size + x * Y + p in chosen and 2 * size + x * Y + y in chosen
        ]
        expected += [first + Y * Y + y for y in range(Y) if 3 * size + x * Y + y in chosen]
    cells = np.array(sorted(chosen), dtype=np.int64)
    assert_array_equal(features_of(cells, Numbering(n_labels, n_attributes)), expected)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "owlqn", "lbfgs"])
def test_training(solver):
    corpus = corpus_of(n=80)
    options = {"rho1": RHO1, "rho2": RHO2, "solver": solver, "tol": 1e-6}
    whole = fit(corpus, threads=1, **options)
    one = fit(cut(corpus, 1), **options)
    assert_array_equal(one.numbers, whole.numbers)
    assert_array_equal(one.w, whole.w)
    assert (one.objective, one.kkt, one.gap) == (whole.objective, whole.kkt, whole.gap)
    assert [r.objective for r in one.history] == [r.objective for r in whole.history]
    several = fit(cut(corpus, 6), **options)
    assert several.stopped_by == "tol"
    assert several.objective == pytest.approx(whole.objective, rel=1e-6)
    assert several.n_features == whole.n_features
    # The certificate of the shards, recomputed over the whole corpus.
    again = fit(corpus, threads=1, init=several, max_iter=0, **{**options, "tol": 0.0})
    assert again.kkt == pytest.approx(several.kkt, rel=1e-6)
    # The bound improves during a run: that of the last point alone is no better.
    assert several.gap <= again.gap + 1e-12 * several.objective  # a difference of such numbers


@pytest.mark.slow
def test_keeping_oracles_changes_nothing():
    corpus = corpus_of(n=40)
    opened = fit(cut(corpus, 5, n_kept=0), rho1=RHO1, rho2=RHO2)
    for keep in (2, 5):
        assert_array_equal(fit(cut(corpus, 5, n_kept=keep), rho1=RHO1, rho2=RHO2).w, opened.w)


def test_two_shards_at_a_time_are_open():
    """Memory follows the largest shards: the one that is worked on, and the next, which gets ready meanwhile."""
    corpus, shards, others = corpus_of(n=20), [], []

    def opened(part):
        others.append(sum(shard._corpus is not None or shard._ahead is not None for shard in shards))
        return corpus.subset(part)

    shards += [Shard(partial(opened, part), keep=False) for part in np.array_split(np.arange(20), 5)]
    assert len(fit(Shards(InProcess(shards)), rho1=RHO1, max_iter=3).w) > 0
    assert 2 in others
    assert max(others) == 2
    assert all(shard._corpus is None and shard._ahead is None for shard in shards)


def test_the_next_shard_gets_ready_while_one_is_worked_on():
    corpus, opened_by = corpus_of(n=12), []
    ready = [Event() for _ in range(3)]

    def opened(k, part):
        opened_by.append((k, current_thread() is main_thread()))
        ready[k].set()
        return corpus.subset(part)

    shards = [Shard(partial(opened, k, part), keep=False) for k, part in enumerate(np.array_split(np.arange(12), 3))]
    workers = InProcess(shards)

    def question(shard):
        following = shards.index(shard) + 1
        assert shard.oracle.signs_agree in (True, False)
        assert following == 3 or ready[following].wait(20)  # although it was not queried
        return (shard.corpus.n_tokens,)

    assert workers.total(question, add) == (corpus.n_tokens,)
    assert opened_by == [(0, True), (1, False), (2, False)]
    opened_by.clear()
    assert workers.total(extent, one_extent).n_tokens == corpus.n_tokens  # it needs no oracle, so none is made
    assert opened_by == [(0, True), (1, True), (2, True)]


@pytest.mark.parametrize("broken", [0, 1])
def test_a_shard_that_cannot_be_read(broken):
    """The error is that of the question which needs the shard; what another thread had begun is left."""
    corpus, asked = corpus_of(n=12), []

    def opened(k, part):
        if k == broken:
            raise InputError(f"shard {k} is broken")
        return corpus.subset(part)

    shards = [Shard(partial(opened, k, part), keep=False) for k, part in enumerate(np.array_split(np.arange(12), 3))]

    def question(shard):
        asked.append(shard)
        return (shard.oracle.signs_agree,)

    with pytest.raises(InputError, match=f"shard {broken} is broken"):
        InProcess(shards).total(question, add)
    assert asked == shards[: broken + 1]
    assert all(shard._corpus is None and shard._ahead is None and shard.following is None for shard in shards)


@pytest.mark.parametrize("n_shards", [1, 3, 12])
def test_stochastic_start_goes_from_shard_to_shard(n_shards, monkeypatch):
    """As over the whole corpus in the same order, with the penalty of 1/N of all data at each step. Of twelve shards
    five have enough tokens, and an epoch is that of these five."""
    size, rho1, rho2, eta0 = 16, 0.3, 0.2, 0.05
    corpus = corpus_of(n=size * n_shards)
    if n_shards == 12:
        monkeypatch.setattr(sgd, "_WARM_TOKENS", 0.4 * corpus.n_tokens)
    point = _zero(Objective(corpus, ElasticNet(rho1, rho2), threads=1))
    parts = np.arange(size * n_shards).reshape(n_shards, size)
    start = _WarmUp(Objective(cut(corpus, n_shards), ElasticNet(rho1, rho2)), eta0=eta0)
    found = start.run(_zero(start.objective), 2, 10)
    chosen = np.array([0, 2, 5, 8, 11]) if n_shards == 12 else np.arange(n_shards)
    stepper, n = Stepper(corpus, threads=1), size * len(chosen)
    w, q, u = np.zeros(point.known.size), np.zeros(point.known.size), 0.0
    for epoch in range(2):
        order = [parts[k][Stepper(corpus.subset(parts[k]), threads=1).order(0, epoch)] for k in chosen]
        w, q, u = stepper.run(
            point.known.feature_set,
            w,
            q,
            u,
            np.concatenate(order),
            rho1=rho1,
            rho2=rho2,
            eta0=eta0,
            decay=corpus.n_sequences / n,
            done=float(epoch * n),
            at_once=8,
        )
    assert_array_equal(found.known.numbers, point.known.numbers)
    assert np.abs(w).max() > 0.01
    assert_allclose(found.w, w, rtol=1e-9, atol=1e-12)
    assert start.u == pytest.approx(u, rel=1e-12)


def _zero(objective):
    known = objective.working_set(objective.prepared.observed)
    w = np.zeros(known.size)
    return Point(known, w, *objective.loss_grad(known, w))


@pytest.mark.slow
def test_auto_starts_stochastically_over_shards(monkeypatch):
    corpus, starts = larger().corpus(), []

    def noted(objective, point):
        starts.append(len(objective.data.workers))
        return warm_up(objective, point)

    monkeypatch.setattr(proximal, "warm_up", noted)
    fit(cut(corpus, 3), rho1=RHO1, rho2=RHO2, max_iter=2)
    fit(cut(corpus, 3), rho1=RHO1, rho2=RHO2, max_iter=2, solver_options={"warm_up": False})
    assert starts == [3]


def larger():
    """As many tokens, and features for each, as a stochastic start needs."""
    return make_problem(seed=0, n_labels=4, lengths=[5] * 2100, n_attributes=200)


@pytest.mark.slow
def test_a_first_shard_of_weight_0():
    """There is nothing in it to find a step size on."""
    arrays = {**larger().corpus_arrays(), "sequence_weight": np.repeat([0.0, 1.0, 1.0], 700)}
    corpus = Corpus.from_arrays(**arrays)
    found = fit(cut(corpus, 3), rho1=RHO1, rho2=RHO2, max_iter=3)
    assert found.objective < fit(corpus, rho1=RHO1, rho2=RHO2, max_iter=0).objective


@pytest.mark.slow
@pytest.mark.parametrize("n_shards", [1, 3])
def test_a_stochastic_start_opens_few_shards_at_a_time(n_shards):
    """Its steps take one after the other; in passes the next one gets ready."""
    corpus, made, others = larger().corpus(), [], []

    def opened(part):
        # Only the list still references the earlier ones.
        others.append(sum(sys.getrefcount(made[k]) > 2 for k in range(len(made))))
        made.append(corpus.subset(part))
        return made[-1]

    parts = np.array_split(np.arange(corpus.n_sequences), n_shards)
    fit(Shards.in_process([partial(opened, part) for part in parts], threads=1), rho1=RHO1, rho2=RHO2, max_iter=2)
    assert len(others) > 5 * n_shards
    assert max(others) <= 1


@pytest.mark.slow
def test_limits_callback_dev_and_checkpoint(tmp_path):
    corpus, dev, file = corpus_of(n=60), corpus_of(seed=7, n=20), tmp_path / "run.ckpt"
    options = {"rho1": RHO1, "rho2": RHO2, "tol": 1e-5, "dev": dev}
    records = []
    never_stopped = fit(cut(corpus, 3), callback=records.append, **options)
    assert all(record["dev_error"] is not None for record in records)
    stopped = fit(cut(corpus, 3), checkpoint=file, max_iter=7, **options)
    assert stopped.stopped_by == "max_iter"
    resumed = fit(cut(corpus, 3), checkpoint=file, resume=True, **options)
    assert_array_equal(resumed.w, never_stopped.w)
    with pytest.raises(InputError, match="expected a checkpoint with corpus"):
        fit(cut(corpus, 4), checkpoint=file, resume=True, **options)


def test_rho_max():
    corpus = corpus_of(n=60)
    assert rho_max(cut(corpus, 4), threads=1) == pytest.approx(rho_max(corpus, threads=1), rel=1e-12)


def test_without_l1_penalty():
    corpus = corpus_of(n=30)
    whole, several = (fit(data, rho1=0.0, rho2=1.0, tol=1e-6) for data in (corpus, cut(corpus, 4)))
    assert several.objective == pytest.approx(whole.objective, rel=1e-9)


@pytest.mark.parametrize("solver", ["sbcd", "cd", "sgd", "sgd-l1"])
def test_solvers_that_need_the_corpus_are_refused(solver):
    with pytest.raises(
        InputError, match=f"'{solver}' does not support data in shards; use auto, owlqn, lbfgs or fista"
    ):
        fit(cut(corpus_of(n=5), 2), solver=solver)


def test_shards_of_different_vocabularies_are_refused():
    corpora = [make_problem(seed=0, n_labels=3, lengths=[3], n_attributes=n).corpus() for n in (4, 5)]
    with pytest.raises(InputError, match=r"expected.*same numbers.*labels.*found .*5"):
        Shards.in_process([partial(corpus.subset, np.arange(1)) for corpus in corpora])
    with pytest.raises(InputError, match="expected at least one, found none"):
        Shards.in_process([])


@pytest.mark.parametrize("n", [1, 2, FAN_IN - 1, FAN_IN, FAN_IN + 1, FAN_IN**2, FAN_IN**2 + 1, 5 * FAN_IN**2 + 3])
def test_merging_keeps_the_order(n):
    """As levels of whole groups would: the tree depends on n alone."""
    found = merge_tree(tuple, iter(range(n)))
    level = list(range(n))
    while len(level) > 1:
        groups = [level[k : k + FAN_IN] for k in range(0, len(level), FAN_IN)]
        level = [tuple(group) if len(group) > 1 else group[0] for group in groups]
    assert found == level[0]


def test_what_travels_can_be_pickled():
    corpus = corpus_of(real_values=True, token_weights=True, missing=0.2)
    assert pickle.loads(pickle.dumps(corpus)).fingerprint == corpus.fingerprint
    shard = pickle.loads(pickle.dumps(Shard.of(corpus)))
    assert shard.corpus.fingerprint == corpus.fingerprint
    assert shard.__sizeof__() > 16 * corpus.n_tokens
    table = StringTable()
    for name in ("a", "", "é", "日本"):
        table.intern(name)
    again = pickle.loads(pickle.dumps(table))
    assert [again[k] for k in range(len(again))] == ["a", "", "é", "日本"]
    assert again.find("é") == 2


def test_tables_are_merged_in_order():
    first, second = StringTable(), StringTable()
    for table, names in ((first, "abc"), (second, "dbea")):
        for name in names:
            table.intern(name)
    first.intern_all(second)
    assert "".join(first[k] for k in range(len(first))) == "abcde"


def test_fingerprint_is_that_of_the_shards_in_order():
    corpus = corpus_of()
    assert cut(corpus, 1).fingerprint == corpus.fingerprint
    assert len({cut(corpus, n).fingerprint for n in (1, 2, 3)}) == 3
    assert cut(corpus, 2).fingerprint == cut(corpus, 2).fingerprint


def test_objective_asks_shards_as_often_as_a_corpus(monkeypatch):
    """The feature set and the counts are handed over once per working set, weights at every pass."""
    corpus = corpus_of(n=20)
    sent = []
    monkeypatch.setattr(InProcess, "share", lambda self, value: sent.append(value) or value)
    objective = Objective(cut(corpus, 2), ElasticNet(RHO1, RHO2))
    known = objective.hopeful()
    for _ in range(3):
        objective.loss_grad(known, np.zeros(known.size))
    assert len(sent) == 2 + 3


def test_the_compiled_oracle_is_what_shards_ask_for():
    assert isinstance(Oracle(corpus_of()), OracleProtocol)
    assert not isinstance(corpus_of(), OracleProtocol)


class CountingOracle:
    """Another implementation: it has what the protocol names and nothing else. Here it passes every question on."""

    asked: ClassVar[set[str]] = set()

    def __init__(self, corpus, threads, kernel):
        self._inner = Oracle(corpus, threads, kernel)

    def __getattr__(self, name):
        if name not in vars(OracleProtocol):
            raise AttributeError(f"{name} is not in the protocol")
        CountingOracle.asked.add(name)
        return getattr(self._inner, name)


def test_another_oracle_is_a_class():
    """Training uses the oracle that shards are given, and asks nothing that the protocol does not name."""
    corpus = corpus_of()
    halves = np.array_split(np.arange(corpus.n_sequences), 2)
    made = [Shard(partial(corpus.subset, half), threads=1, make_oracle=CountingOracle) for half in halves]
    found = fit(Shards(InProcess(made)), rho1=RHO1, rho2=RHO2, gap=1e-3)
    same = fit(cut(corpus, 2), rho1=RHO1, rho2=RHO2, gap=1e-3)
    assert_array_equal(found.w, same.w)
    assert CountingOracle.asked >= {"loss_grad", "shard_sums", "masses", "counts", "signs_agree"}


def odd(array):
    """The same numbers at an odd address."""
    return np.frombuffer(b"x" + array.tobytes(), dtype=array.dtype, offset=1)


def test_a_corpus_in_a_message():
    """Arrays of a pickle that came from another process may be at any address; those of a caller may not."""
    corpus, buffers = corpus_of(n=5, missing=True), []
    data = pickle.dumps(corpus, protocol=5, buffer_callback=buffers.append)
    assert buffers
    moved = [memoryview(b"x" + buffer.raw().tobytes())[1:] for buffer in buffers]
    found = pickle.loads(data, buffers=moved)
    assert found.fingerprint == corpus.fingerprint
    arrays = {name: value for name, value in corpus.to_arrays().items() if value is not None}
    with pytest.raises(InputError, match="expected aligned numbers"):
        Corpus.from_arrays(**arrays | {"lengths": odd(arrays["lengths"])})


def test_arrays_at_odd_addresses():
    """Those of a message from another process may be at any: a set takes them, the core says so."""
    corpus = corpus_of(n=5)
    features, w = point_of(corpus)
    numbers = odd(features.numbers)
    assert not numbers.flags.aligned
    assert_array_equal(feature_set(corpus.n_labels, corpus.n_attributes, numbers, None, None).numbers, features.numbers)
    with pytest.raises(InputError, match="expected aligned numbers"):
        Oracle(corpus).loss(features, odd(w))
