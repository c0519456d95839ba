"""Runs that were stopped, interrupted or killed go on to the same bits; no wrong file is continued."""

import errno
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from stopped_runs import OPTIONS, assert_same, small

from sparsecrf import InputError, fit
from sparsecrf.files import atomic
from sparsecrf.files.atomic import remove_leftovers, write_atomically
from sparsecrf.training import SOLVERS, checkpoint
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers import working_set
from sparsecrf.training.stopping import remaining

every_solver = pytest.mark.parametrize("solver", SOLVERS)


def options_of(solver):
    return {**OPTIONS, "solver": solver, "rho1": 0.0 if solver == "sgd" else OPTIONS["rho1"]}


@pytest.mark.slow
@every_solver
def test_stopped_by_limits_and_resumed(solver, tmp_path):
    """After any number of iterations, screenings forced by the limit included, and many times over."""
    corpus, last = small(), 24
    path = tmp_path / "run"
    whole = fit(corpus, max_iter=last, **options_of(solver))
    for n in range(last + 1):
        found = fit(corpus, max_iter=n, checkpoint=path, resume=True, **options_of(solver))
    assert_same(found, whole)
    assert len(whole.history) > (3 if solver == "lbfgs" else 12)
    times = [record.time_s for record in found.history]
    assert times == sorted(times)
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.slow
@every_solver
@pytest.mark.parametrize("at", [0, 3])
def test_interrupted_and_resumed(solver, at, tmp_path):
    corpus = small()

    def interrupt(record):
        if record["iter"] == at:
            raise KeyboardInterrupt

    options = {**options_of(solver), "max_iter": 24, "checkpoint": tmp_path / "run"}
    stopped = fit(corpus, callback=interrupt, **options)
    assert stopped.stopped_by == "interrupt"
    records = []
    found = fit(corpus, callback=records.append, resume=True, **options)
    assert records[0]["iter"] == at
    assert_same(found, fit(corpus, **options))


@pytest.mark.parametrize("solver", ["auto", "sbcd", "owlqn", "sgd-l1"])
def test_a_state_that_is_not_restored_is_noticed(solver, tmp_path, monkeypatch):
    """The comparison above can fail."""
    corpus, options = small(), options_of(solver)
    whole = fit(corpus, max_iter=20, **options)
    fit(corpus, max_iter=4, checkpoint=tmp_path / "run", **options)
    algorithm = type(SOLVERS[solver].make(Objective(corpus, ElasticNet(options["rho1"], 1.0))))
    monkeypatch.setattr(algorithm, "restore", lambda self, state: None)
    found = fit(corpus, max_iter=20, checkpoint=tmp_path / "run", resume=True, **options)
    with pytest.raises(AssertionError):
        assert_same(found, whole)


def test_resumed_when_done_it_is_done(tmp_path):
    corpus, options = small(), {**OPTIONS, "tol": 1e-3, "checkpoint": tmp_path / "run", "resume": True}
    first = fit(corpus, **options)
    assert first.stopped_by == "tol"
    assert_same(fit(corpus, **options), first)
    further = fit(corpus, **{**options, "tol": 1e-6})
    assert len(further.history) > len(first.history)
    assert further.remaining <= 1e-6 * further.objective


@pytest.mark.slow
def test_a_resumed_run_is_stopped_by_the_same_estimate(tmp_path, monkeypatch):
    """It looks at objectives before each screening, whose last bits are not those of the history."""
    corpus, seen = small(), []
    monkeypatch.setattr(working_set, "remaining", lambda values: seen.append(list(values)) or remaining(values))
    options = {**OPTIONS, "tol": 1e-9, "max_iter": 60}
    fit(corpus, **options)
    whole = seen[-1]
    fit(corpus, checkpoint=tmp_path / "run", **{**options, "max_iter": 50})
    fit(corpus, checkpoint=tmp_path / "run", resume=True, **options)
    assert seen[-1] == whole
    assert len(whole) > 51


def test_time_goes_on_counting(tmp_path):
    corpus, options = small(), {**OPTIONS, "tol": 0.0, "checkpoint": tmp_path / "run", "resume": True}
    options["callback"] = lambda record: time.sleep(0.05)
    first = fit(corpus, time_limit=0.3, **options)
    assert first.stopped_by == "time_limit"
    again = fit(corpus, time_limit=0.3, **options)
    assert again.history[-1].iter <= first.history[-1].iter + 1
    longer = fit(corpus, time_limit=0.6, **options)
    assert first.history[-1].iter + 1 < longer.history[-1].iter <= 12


def test_no_working_set_at_all(tmp_path):
    """Empty arrays are arrays too."""
    options = {**OPTIONS, "rho1": 1e6, "checkpoint": tmp_path / "run", "checkpoint_every": 0.0}
    first = fit(small(), **options)
    assert len(first.w) == 0
    assert_same(fit(small(), resume=True, **options), first)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("rho1", {"rho1": 0.31}),
        ("rho2", {"rho2": 0.02}),
        ("solver", {"solver": "owlqn"}),
        ("features", {"observed_only": True}),
        ("features", {"numbers": np.arange(9)}),
    ],
)
def test_another_run(name, changed, tmp_path):
    path = tmp_path / "run"
    fit(small(), max_iter=3, checkpoint=path, **OPTIONS)
    with pytest.raises(InputError, match=f"run: expected a checkpoint with {name} .*, found {name} "):
        fit(small(), checkpoint=path, resume=True, **{**OPTIONS, **changed})


def test_another_corpus_or_version(tmp_path, monkeypatch):
    path = tmp_path / "run"
    fit(small(), max_iter=3, checkpoint=path, **OPTIONS)
    with pytest.raises(InputError, match=r"run: expected.*checkpoint.*dev corpus.*found dev corpus None"):
        fit(small(), checkpoint=path, resume=True, dev=small(seed=5), **OPTIONS)
    for other in (small(seed=4), small(n_attributes=9)):
        with pytest.raises(InputError, match=r"run: expected a checkpoint with corpus \w+, found corpus \w+"):
            fit(other, checkpoint=path, resume=True, **OPTIONS)
    monkeypatch.setattr("sparsecrf.training.fitting.version", lambda name: "99")
    with pytest.raises(InputError, match=r"run: expected a checkpoint with version 99, found version \d"):
        fit(small(), checkpoint=path, resume=True, **OPTIONS)


@pytest.mark.slow
def test_every_damage_is_found(tmp_path):
    path = tmp_path / "run"
    fit(small(), max_iter=3, checkpoint=path, **OPTIONS)
    whole = path.read_bytes()
    rng = random.Random(0)
    damaged = [whole[:n] for n in (0, 4, 8, 100, len(whole) // 2, len(whole) - 1)] + [whole + b"\0"]
    for place in [*range(8), *(rng.randrange(len(whole)) for _ in range(300)), len(whole) - 1]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.randrange(8)
        damaged.append(bytes(flipped))
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"run: expected.*found"):
            fit(small(), checkpoint=path, resume=True, **OPTIONS)


def test_foreign_files(tmp_path):
    from safetensors.numpy import save

    path = tmp_path / "run"
    for data in (b"# a text\n" * 10, save({"w": np.zeros(3)}), save({"w": np.zeros(3)}, {"format": "model"})):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"run: expected.*found"):
            fit(small(), checkpoint=path, resume=True, **OPTIONS)


@pytest.mark.parametrize(
    "options",
    [
        {"resume": True},
        {"checkpoint": os.path.join("no", "such", "directory", "run")},
        {"checkpoint": "."},
        {"checkpoint": "run", "checkpoint_every": -1.0},
        {"checkpoint": "run", "checkpoint_every": float("nan")},
    ],
)
def test_wrong_options(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"expected.*found|resume=True needs checkpoint"):
        fit(small(), **options)


# ---- Killed while writing

RUN = textwrap.dedent(
    """
    import os, sys
    from stopped_runs import OPTIONS, small
    from sparsecrf import fit

    for _ in sys.stdin:  # a process for each line: importing once is enough
        pid = os.fork()
        if pid == 0:
            print(os.getpid(), flush=True)
            options = {**OPTIONS, "max_iter": 150, "tol": 0.0, "checkpoint": sys.argv[1], "checkpoint_every": 0.0}
            fit(small(), **options, resume=True)
            os._exit(0)
        os.waitpid(pid, 0)
        print("ended", flush=True)
    """
)

TESTS = Path(__file__).parents[1]
HELPERS = [str(TESTS / "support"), str(TESTS)]  #: the directory from which a separate process imports


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_killed_at_any_moment(tmp_path):
    """Every iteration writes; a reader never finds anything but a whole checkpoint, and at last the run is the same."""
    path, rng, longest = tmp_path / "run", random.Random(1), 0.15
    places = [*HELPERS, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    options = {**OPTIONS, "tol": 0.0, "checkpoint": path, "resume": True}
    seen = []
    command, pipe = [sys.executable, "-c", RUN, str(path)], subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        for _ in range(12):
            print(file=process.stdin, flush=True)
            pid = int(process.stdout.readline())
            time.sleep(rng.uniform(0.0, longest))
            with suppress(ProcessLookupError):  # it has ended
                os.kill(pid, signal.SIGKILL)
            assert process.stdout.readline() == "ended\n"
            if path.exists():
                seen.append(fit(small(), **{**options, "max_iter": 0}).history[-1].iter)
            else:
                longest *= 2  # a busy machine
    assert seen == sorted(seen)
    assert max(seen, default=0) > 0, "no process lived long enough to write"
    found = fit(small(), max_iter=150, **options)
    assert_same(found, fit(small(), max_iter=150, **{**OPTIONS, "tol": 0.0}))
    assert os.listdir(tmp_path) == ["run"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")
    for name in ("fsync", "replace"):
        for error in (OSError("no space"), KeyboardInterrupt()):

            def fail(*_, error=error):
                raise error

            with monkeypatch.context() as patch:
                patch.setattr(atomic.os, name, fail)
                with pytest.raises(type(error)):
                    write_atomically(path, b"new")
            assert path.read_bytes() == b"old"
            assert os.listdir(tmp_path) == ["file"]
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"


def test_leftovers_of_the_same_file_only(tmp_path):
    for name in (".run.0123abcd.tmp", ".run2.0123abcd.tmp", "run", ".run.tmp"):
        (tmp_path / name).write_bytes(b"")
    remove_leftovers(tmp_path / "run")
    assert sorted(os.listdir(tmp_path)) == [".run.tmp", ".run2.0123abcd.tmp", "run"]


@pytest.mark.skipif(os.name != "posix", reason="links and modes of files")
def test_a_link_stays_a_link_and_the_mode_follows_the_user(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    (tmp_path / "plain").touch()
    assert (tmp_path / "real").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.slow
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), MemoryError()])
def test_training_goes_on_without_room_for_a_checkpoint(error, tmp_path, monkeypatch):
    """The model is what counts. A checkpoint is tried again at the next turn."""
    path, tries = tmp_path / "run", []

    def full(target, data):
        tries.append(target)
        raise error

    monkeypatch.setattr(checkpoint, "write_atomically", full)
    reason = "No space left on device" if isinstance(error, OSError) else "too little memory"
    with pytest.warns(
        RuntimeWarning, match=f"run: the checkpoint could not be written .{reason}., and the file does not"
    ):
        found = fit(small(), **OPTIONS, checkpoint=path, checkpoint_every=0.0)
    assert_same(found, fit(small(), **OPTIONS))
    assert len(tries) > 2


def test_the_program_saves_the_model_though_the_disk_is_full(program, monkeypatch):
    program.write(a_txt="a A\nb B\n\n")

    def full(target, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint, "write_atomically", full)
    options = ["train", "a.txt", "-m", "m", "--rho1", "0.01", "--checkpoint", "run", "--checkpoint-every", "0"]
    done = program(*options)
    assert (done.status, program.files()) == (0, ["a.txt", "m"])
    assert "sparsecrf: warning: run: the checkpoint could not be written (No space left on device)" in done.err
