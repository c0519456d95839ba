"""Every instruction set gives what every other gives, and the environment variable chooses one."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import make_limits, make_problem

from sparsecrf import _core

KNOWN = ("baseline", "avx2", "avx512", "neon")


@pytest.fixture
def restore_instruction_set():
    before = _core.instruction_set()
    yield
    _core.set_instruction_set(before)


def everything(problem, kernel):
    """One list of arrays with all that the core computes of a problem."""
    corpus, features = problem.corpus(), problem.features()
    limited = replace(problem, limits=make_limits(0, problem, True, True, True)).constraints()
    oracle, chain = _core.Oracle(corpus, kernel=kernel), problem.chain(kernel)
    results = [*oracle.loss_grad_curvature(features, problem.w), chain.edge_marginals(corpus, 0)]
    for constraints in (None, limited):
        results += [
            chain.log_partition(corpus, constraints),
            chain.marginals(corpus, constraints),
            *chain.viterbi(corpus, constraints),
            *chain.nbest(corpus, 0, 5, constraints),
        ]
    return results


def on_each_set(problem, kernel):
    results = []
    for name in _core.instruction_sets():
        _core.set_instruction_set(name)
        assert _core.instruction_set() == name
        results.append(everything(problem, kernel))
    return results


@pytest.mark.usefixtures("restore_instruction_set")
@pytest.mark.parametrize("n_labels", [1, 3, 8, 13, 51, 70])
@pytest.mark.parametrize(("weights", "density"), [("moderate", 0.05), ("moderate", 1.0), ("thousand", 0.3)])
class TestEqual:
    """Label counts on both sides of every vector width; weights within and beyond the range of exp."""

    def problem(self, n_labels, weights, density):
        return make_problem(
            seed=n_labels,
            n_labels=n_labels,
            lengths=[12, 1, 5],
            n_attributes=6,
            density=density,
            weights=weights,
            real_values=True,
            sequence_weights=True,
        )

    @pytest.mark.parametrize("kernel", ["sparse", "dense", "log"])
    def test_bit_identical_for_one_kernel(self, n_labels, weights, density, kernel):
        first, *others = on_each_set(self.problem(n_labels, weights, density), kernel)
        for other in others:
            for one, same in zip(first, other, strict=True):
                assert_array_equal(one, same)

    def test_automatic_kernel(self, n_labels, weights, density):
        """The cost model may choose differently, so equal to rounding."""
        first, *others = on_each_set(self.problem(n_labels, weights, density), "auto")
        for other in others:
            for one, same in zip(first, other, strict=True):
                assert_allclose(one, same, rtol=1e-10, atol=1e-10)


def test_baseline_is_always_there():
    names = _core.instruction_sets()
    assert "baseline" in names
    assert set(names) <= set(KNOWN)
    assert _core.instruction_set() in names


def test_unknown_name():
    before = _core.instruction_set()
    with pytest.raises(_core.InputError, match=r"sse9.*baseline|baseline.*sse9"):
        _core.set_instruction_set("sse9")
    assert _core.instruction_set() == before


@pytest.mark.skipif(set(_core.instruction_sets()) == set(KNOWN), reason="all known instruction sets are here")
def test_known_but_not_available_here():
    for name in set(KNOWN) - set(_core.instruction_sets()):
        with pytest.raises(_core.InputError, match=name):
            _core.set_instruction_set(name)


def import_with(value):
    """Import the core in a new process with SPARSECRF_ISA set; its output is the instruction set in use."""
    return subprocess.run(
        [sys.executable, "-c", "from sparsecrf import _core; print(_core.instruction_set())"],
        env={**os.environ, "SPARSECRF_ISA": value},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", _core.instruction_sets())
def test_environment_variable_is_obeyed(name):
    assert import_with(name).stdout.strip() == name


def test_environment_variable_with_unknown_value():
    done = import_with("sse9")
    assert done.returncode != 0
    assert "SPARSECRF_ISA" in done.stderr
    assert "sse9" in done.stderr
    assert "baseline" in done.stderr  # the valid names
