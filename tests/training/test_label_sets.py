"""Labels that are one of a set: loss and gradient against all paths, equal bits where sets say nothing new."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from compare import assert_logs, assert_sums, magnitude, total_value
from ngram_problems import make_ngram_problem
from numpy.testing import assert_allclose, assert_array_equal
from problems import make_problem

from reference import enumeration
from sparsecrf import CRF, InputError, OptionError, Vocabulary, candidate_labels, fit
from sparsecrf._core import Corpus, FeatureSet, Oracle
from sparsecrf.contrib.simulate import paper_hmm
from sparsecrf.shards.shards import Shards


def problem_with_sets(**extras):
    return make_problem(3, 4, [5, 3, 1, 4], 4, 3, 0.5, real_values=True, missing=0.2, label_sets=0.5, **extras)


@pytest.mark.parametrize("extras", [{}, {"sequence_weights": True, "token_weights": True}])
def test_loss_and_gradient_against_all_paths(extras):
    problem = problem_with_sets(**extras)
    loss, g = Oracle(problem.corpus(), threads=1).loss_grad(problem.features(), problem.w)
    each = [enumeration.loss_gradient(s, problem.mu, problem.lam) for s in problem.sequences]
    size = sum(5.0 * magnitude(problem.psi(i)) for i in range(len(each)))
    assert_logs(loss, sum(one for one, _, _ in each), size)
    expected = np.concatenate([sum(one[k] for one in each).ravel() for k in (1, 2)])
    assert_sums(g, expected, total_value(problem.sequences))


def test_label_ngrams_against_all_paths():
    problem = make_ngram_problem(11, 3, [6, 4], missing=0.2, label_sets=0.5)
    loss, g = Oracle(problem.corpus, 1).loss_grad(problem.features(), problem.w)
    each = [problem.loss_gradient(i) for i in range(2)]
    assert_allclose(loss, sum(one for one, _ in each), rtol=1e-10)
    assert_allclose(g, sum(one for _, one in each), rtol=1e-8, atol=1e-10)


def test_probability_of_a_set_is_the_sum_over_its_labels():
    problem = problem_with_sets()
    found = problem.chain().log_prob(problem.corpus())
    for i, s in enumerate(problem.sequences):
        expected = enumeration.log_prob(problem.psi(i), problem.own_labels(i), s.label_sets)
        assert_logs(found[i], expected, magnitude(problem.psi(i)))


def bits(corpus, problem):
    loss, g, h = Oracle(corpus, threads=1).loss_grad_curvature(problem.features(), problem.w)
    return loss, g.tobytes(), h.tobytes()


def test_full_sets_are_missing_labels_and_sets_of_one_are_labels():
    """To the bit."""
    problem = make_problem(5, 4, [6, 3, 8], 4, 3, 0.5, missing=0.3)
    names = [f"y{k}" for k in range(4)]
    vocabulary = Vocabulary(bigrams="all")
    for name in names:
        vocabulary.labels.intern(name)
    X = [[[(f"x{x}", v) for x, v in token] for token in s.unigram] for s in problem.sequences]
    plain = [[None if y < 0 else names[y] for y in s.labels] for s in problem.sequences]
    sets = [[set(names) if y < 0 else {names[y]} for y in s.labels] for s in problem.sequences]
    first, second = (vocabulary.encode(X, y, grow=True) for y in (plain, sets))
    features = FeatureSet.all_virtual(first)
    w = np.random.default_rng(0).normal(size=len(features))
    a, b = (Oracle(c, threads=1).loss_grad_curvature(features, w) for c in (first, second))
    assert a[0] == b[0]
    assert [x.tobytes() for x in a[1:]] == [x.tobytes() for x in b[1:]]
    assert first.n_free == second.n_free == sum(y < 0 for s in problem.sequences for y in s.labels)


def test_copies_of_a_corpus_keep_the_sets(tmp_path):
    problem = problem_with_sets(token_weights=True)
    corpus = problem.corpus()
    corpus.save(tmp_path / "c")
    again = Corpus.open(tmp_path / "c")
    copies = [
        again,
        pickle.loads(pickle.dumps(corpus)),
        corpus.subset(np.arange(4)),
        Corpus.from_arrays(**corpus.to_arrays()),
    ]
    for copy in copies:
        assert bits(copy, problem) == bits(corpus, problem)
    assert again.fingerprint == corpus.fingerprint
    bare = replace(
        problem, sequences=tuple(replace(s, labels=tuple(max(y, -1) for y in s.labels)) for s in problem.sequences)
    )
    assert bits(bare.corpus(), problem) != bits(corpus, problem)
    assert_array_equal(corpus.labels, bare.labels)  # Python sees them as not known


def test_shards_and_the_order_of_names():
    """Labels get the ids of their names' order after sets were read; shards add up to the whole."""
    X, y = [["a", "b"], ["b", "a"], ["a"]], [[{"Z", "M"}, "Z"], ["A", {"Z", "A"}], [{"M", "A"}]]
    vocabulary = Vocabulary()
    corpus = vocabulary.encode(X, y, grow=True, sort_labels=True)
    arrays = corpus.to_arrays()
    ptr, ids = arrays["label_set_ptr"], arrays["label_set_id"]
    sets = [{vocabulary.labels[int(k)] for k in ids[ptr[s] : ptr[s + 1]]} for s in range(len(ptr) - 1)]
    named = [vocabulary.labels[int(k)] if k >= 0 else sets[-1 - k] for k in arrays["labels"]]
    assert named == [{"Z", "M"}, "Z", "A", {"Z", "A"}, {"M", "A"}]
    assert [vocabulary.labels[k] for k in range(3)] == ["A", "M", "Z"]
    parts = [corpus.subset(np.array([k])) for k in range(3)]
    shards = Shards.in_process([lambda part=part: part for part in parts])
    assert (shards.n_missing, shards.extent.n_free) == (3, 0)
    options = {"rho1": 0.1, "rho2": 0.1, "solver": "owlqn"}
    assert_allclose(fit(shards, **options).objective, fit(corpus, **options).objective, rtol=1e-6)


@pytest.fixture(scope="module")
def ambiguous():
    """Half of the labels are hidden: of every other token only that it is one of two is known."""
    X, y = paper_hmm().sample(200, np.random.default_rng(0))
    names = sorted({label for labels in y for label in labels})
    other = dict(zip(names, [*names[1:], names[0]], strict=True))
    sets = [[label if t % 2 else {label, other[label]} for t, label in enumerate(labels)] for labels in y]
    return X, y, sets


@pytest.mark.parametrize("solver", ["proximal", "owlqn", "fista", "sbcd", "cd", "sgd-l1"])
def test_every_solver_decreases_the_objective(ambiguous, solver):
    X, _, sets = ambiguous
    corpus = Vocabulary().encode(X, sets, grow=True)
    at_zero = Oracle(corpus).loss(FeatureSet.all_virtual(corpus), np.zeros(len(FeatureSet.all_virtual(corpus))))
    found = fit(corpus, solver=solver, rho1=1.0, rho2=0.1, max_iter=15)
    assert found.objective < 0.8 * at_zero
    assert found.gap == np.inf  # not convex: nothing bounds the optimum


def test_sets_say_more_than_missing_labels(ambiguous):
    X, y, sets = ambiguous
    missing = [[None if isinstance(label, set) else label for label in labels] for labels in sets]
    with_sets, without = (CRF(rho1=1.0).fit(X, labels) for labels in (sets, missing))
    assert with_sets.score(X, y) >= without.score(X, y) - 0.01
    assert with_sets.score(X, y) > 0.75
    assert with_sets.score(X, sets) == with_sets.score(X, missing)  # sets do not count


def test_a_dictionary_alone():
    """No label is known for certain."""
    X = [["the", "can", "rusts"], ["a", "can"], ["we", "can", "rusts"]]
    y = candidate_labels(X, [[None] * len(x) for x in X], {"the": "D", "a": "D", "can": ["N", "V"], "rusts": {"V"}})
    assert y[0] == [frozenset("D"), frozenset("NV"), frozenset("V")]
    assert y[2][0] is None
    crf = CRF(rho1=0.01, rho2=0.01).fit(X, y)
    assert list(crf.classes_) == ["D", "N", "V"]
    assert crf.predict(X)[0][0] == "D"


def test_integers_frames_of_labels_and_flat_labels():
    X, y = [["a", "b"], ["c"]], [[1, {1, 2}], [frozenset({2, 3})]]
    crf = CRF(class_weight="balanced").fit(X, y)
    assert crf.classes_.tolist() == [1, 2, 3]
    flat = CRF(class_weight="balanced").fit(["a", "b", "c"], [1, {1, 2}, frozenset({2, 3})], lengths=[2, 1])
    assert flat.objective_ == crf.objective_


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            [["A", set()]],
            r"y, sequence 0, position 1: expected a set of labels, found an empty set; if any label is possible, give "
            r"None",
        ),
        ([["A", {"B", None}]], r"y, sequence 0, position 1: expected a set of labels, found None in it"),
        ([["A", {"B", 1}]], r"y, sequence 0, position 1: expected labels that are all text"),
        ([["A", {"B", ("C",)}]], r"sequence 0, position 1: expected labels that are text in a set, found tuple"),
        ([{"A", "B"}], r"y, sequence 0: expected a list with an entry for each token"),
        ([[{"A", "B"}, {"B", "A"}]], r"training: the corpus has no labels"),
    ],
)
def test_wrong_sets(y, message):
    with pytest.raises(InputError, match=message):
        CRF().fit([["a", "b"]], y)


def test_unknown_labels_and_dictionaries():
    crf = CRF(rho1=0.01).fit([["a", "b"]], [["A", "B"]])
    with pytest.raises(InputError, match="sequence 0, position 0: expected a label of the model, found str 'C'"):
        crf.model_.log_prob(["a"], [{"A", "C"}])
    with pytest.raises(InputError, match="dictionary, 'a': expected labels, found"):
        candidate_labels([["a"]], [[None]], {"a": []})
    with pytest.raises(InputError, match="sequence 0: expected a label or None for each of 1 words, found 2"):
        candidate_labels([["a"]], [[None, None]], {})
    with pytest.raises(InputError, match="label_set_ptr: expected"):
        Corpus.from_arrays(**{**problem_with_sets().corpus().to_arrays(), "label_set_ptr": np.array([0, 0, 99])})


@pytest.mark.parametrize("options", [{"solver": "dual"}, {"gap": 0.1}, {"order": 3, "rho1": 0.5}])
def test_what_needs_a_convex_loss_is_refused(ambiguous, options):
    X, _, sets = ambiguous
    with pytest.raises(OptionError, match="missing labels or label sets"):
        fit(Vocabulary().encode(X[:5], sets[:5], grow=True), **options)
